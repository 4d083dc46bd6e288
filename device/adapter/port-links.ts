// SPDX-License-Identifier: Apache-2.0
/**
 * The links of one adapter's ports, and the loopbacks of the ports: takes arrived packets, besides
 * what the links of any node need. Called by `Adapter.run`.
 */
import type { ManagementInterface } from '../agents/management-interface.ts';
import { Cable } from '../fabric/cable.ts';
import { FaultyLink } from '../fabric/faulty-link.ts';
import type { PortLinkOptions } from '../fabric/link-options.ts';
import { NodeLinks } from '../fabric/node-links.ts';
import type { AdapterClock } from '../host.ts';
import type { LinkEnd } from '../port/link.ts';
import { Port, portGuid } from '../port/port.ts';
import { Random } from '../random.ts';
import type { PacketReceiver } from '../transport/packet-receiver.ts';
import type { AdapterOptions } from './options.ts';

const PORT_NUMBERS = [1, 2] as const;

export class PortLinks extends NodeLinks {
  readonly #ports: readonly Port[];
  readonly #receiver: PacketReceiver;
  readonly #management: ManagementInterface;
  readonly #clock: AdapterClock;

  constructor(ports: readonly Port[], receiver: PacketReceiver, management: ManagementInterface, clock: AdapterClock) {
    super(ports, clock);
    this.#ports = ports;
    this.#receiver = receiver;
    this.#management = management;
    this.#clock = clock;
  }

  /** Also lets the management interface work. */
  override carry(limit: number): number {
    const management = this.#management;
    if (management.isIdle || management.nextNs > this.#clock.now()) return super.carry(limit);
    management.run();
    return 1 + super.carry(limit);
  }

  override settle(): void {
    super.settle();
    // V8 allocates for a time that a call returns: it is asked only when there is one.
    if (!this.#management.isIdle) this.#clock.setAlarm(this.#management.nextNs);
  }

  /** Takes up to `limit` arrived packets; returns how many. */
  receive(limit: number): number {
    const receiver = this.#receiver;
    let received = 0;
    for (const port of this.#ports) {
      while (received < limit && receiver.receive(port, port.loopback, true)) received++;
      const { link } = port;
      if (link === undefined) continue;
      while (received < limit) {
        const ring = link.arrival(port);
        if (ring === undefined) break;
        receiver.receive(port, ring, link.trusted);
        received++;
      }
    }
    return received;
  }
}

/** The ports of an adapter, joined as the options say. */
export function createPorts(nodeGuid: Uint8Array, options: AdapterOptions): readonly Port[] {
  const { portLids, portQueuePackets, virtualLanes, portLink } = options;
  const [first, second] = PORT_NUMBERS.map(
    (number) => new Port(number, portGuid(nodeGuid, number), portLids[number - 1], portQueuePackets, virtualLanes),
  ) as [Port, Port];
  joinPorts(first, second, portLink);
  return [first, second];
}

/** Joins two ports as the options say; they stay apart when the options name no link. */
export function joinPorts(first: LinkEnd, second: LinkEnd, options: PortLinkOptions): void {
  if (options.kind === 'cable') new Cable(first, second);
  else if (options.kind === 'faulty') new FaultyLink(first, second, options, new Random(options.seed));
}
