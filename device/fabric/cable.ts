// SPDX-License-Identifier: Apache-2.0
/**
 * A plain cable between two ports of one process: no delay, no loss, no copy. The receiver takes packets straight out of the sender's lanes, so there is no
 * receive buffer that could run full and no credit to count: a packet waits in the sender's lane until the receiver takes it.
 */
import type { Link } from '../port/link.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';

export class Cable implements Link {
  readonly trusted = true;
  readonly active = false;
  readonly nextNs = Number.POSITIVE_INFINITY;
  /** Packets that went from the first port to the second, and back. */
  readonly packets: [number, number] = [0, 0];
  readonly #first: Port;
  readonly #second: Port;
  /** The receiver took packets since the sender was told last. */
  #tookFromFirst = false;
  #tookFromSecond = false;

  /** Plugs the cable into both ports, in place of what was there. */
  constructor(first: Port, second: Port) {
    this.#first = first;
    this.#second = second;
    first.plug(this);
    second.plug(this);
    first.setLinkUp(true);
    second.setLinkUp(true);
  }

  carry(): number {
    return 0;
  }

  arrival(port: Port): PacketRing | undefined {
    if (port === this.#first) {
      const ring = this.#second.transmitQueues.next(undefined);
      if (ring !== undefined) {
        this.packets[1]++;
        this.#tookFromSecond = true;
      }
      return ring;
    }
    const ring = this.#first.transmitQueues.next(undefined);
    if (ring !== undefined) {
      this.packets[0]++;
      this.#tookFromFirst = true;
    }
    return ring;
  }

  settle(port: Port): void {
    const isFirst = port === this.#first;
    const peer = isFirst ? this.#second : this.#first;
    const took = isFirst ? this.#tookFromSecond : this.#tookFromFirst;
    if (isFirst) this.#tookFromSecond = false;
    else this.#tookFromFirst = false;
    if (peer.onWork !== undefined && (took || port.transmitQueues.count > 0)) peer.onWork();
  }

  detach(port: Port): void {
    const other = port === this.#first ? this.#second : this.#first;
    // The port that leaves may have its next link already.
    if (other.link === this) other.plug(undefined);
  }
}
