// SPDX-License-Identifier: Apache-2.0
/**
 * A plain cable between two ports of one process (docs/TOPOLOGY.md): no delay, no loss, no copy.
 * The receiver takes packets directly from the sender's transmit queues. No receive buffer can
 * overflow and no credits are counted: a packet waits in its queue until the receiver takes it.
 */
import type { Link, LinkEnd } from '../port/link.ts';
import { trainLink } from '../port/link-training.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import type { VirtualLaneCredits } from '../port/transmit-queues.ts';

/** A cable; the link of both its ports. */
export class Cable implements Link {
  readonly trusted = true;
  readonly lends: boolean;
  readonly active = false;
  readonly nextNs = Number.POSITIVE_INFINITY;
  /** Packets from the first port to the second, and from the second to the first. */
  readonly packets: [number, number] = [0, 0];
  readonly #first: LinkEnd;
  readonly #second: LinkEnd;
  /** The receiver has taken packets since the sender was last woken. */
  #tookFromFirst = false;
  #tookFromSecond = false;
  /** Packets that the receiver had no room for: it runs again when it has room. 0: none. */
  #refusedOfFirst = 0;
  #refusedOfSecond = 0;

  /** Plugs the cable into both ports, in place of their links. */
  constructor(first: LinkEnd, second: LinkEnd) {
    this.#first = first;
    this.#second = second;
    this.lends = first.takesLoans && second.takesLoans;
    first.plug(this);
    second.plug(this);
    trainLink(first, second);
  }

  carry(): number {
    return 0;
  }

  arrival(port: LinkEnd, room?: VirtualLaneCredits): PacketRing | undefined {
    if (port === this.#first) {
      const ring = this.#second.transmitQueues.next(room);
      if (ring !== undefined) {
        this.packets[1]++;
        this.#tookFromSecond = true;
      } else if (room !== undefined) this.#refusedOfSecond = this.#second.transmitQueues.count;
      return ring;
    }
    const ring = this.#first.transmitQueues.next(room);
    if (ring !== undefined) {
      this.packets[0]++;
      this.#tookFromFirst = true;
    } else if (room !== undefined) this.#refusedOfFirst = this.#first.transmitQueues.count;
    return ring;
  }

  settle(port: LinkEnd): void {
    const isFirst = port === this.#first;
    const peer = isFirst ? this.#second : this.#first;
    const took = isFirst ? this.#tookFromSecond : this.#tookFromFirst;
    if (isFirst) this.#tookFromSecond = false;
    else this.#tookFromFirst = false;
    if (peer.onWork === undefined) return;
    const { count } = port.transmitQueues;
    const refused = isFirst ? this.#refusedOfFirst : this.#refusedOfSecond;
    if (took || (count > 0 && count !== refused)) peer.onWork();
  }

  retrain(): void {
    const ends = [this.#first, this.#second];
    for (const end of ends) end.setLinkUp(false);
    trainLink(this.#first, this.#second);
    for (const end of ends) end.onWork?.();
  }

  detach(port: LinkEnd): void {
    const other = port === this.#first ? this.#second : this.#first;
    // The leaving port may have its next link already.
    if (other.link === this) other.plug(undefined);
  }
}
