// SPDX-License-Identifier: Apache-2.0
/**
 * Drives the links of one adapter's ports: lets them carry packets, takes arrived packets, asks for
 * an alarm when a link has work later, and wakes the adapters at the other ends. Called by
 * `Adapter.run`.
 */
import { Cable } from '../fabric/cable.ts';
import { FaultyLink } from '../fabric/faulty-link.ts';
import type { PortLinkOptions } from '../fabric/link-options.ts';
import type { AdapterClock } from '../host.ts';
import type { LinkEnd } from '../port/link.ts';
import type { Port } from '../port/port.ts';
import { Random } from '../random.ts';
import type { PacketReceiver } from '../transport/packet-receiver.ts';

export class PortLinks {
  readonly #ports: readonly Port[];
  readonly #receiver: PacketReceiver;
  readonly #clock: AdapterClock;

  constructor(ports: readonly Port[], receiver: PacketReceiver, clock: AdapterClock) {
    this.#ports = ports;
    this.#receiver = receiver;
    this.#clock = clock;
  }

  /** Lets links move packets; returns how many moved. A plain cable costs nothing here. */
  carry(limit: number): number {
    let moved = 0;
    let previous: unknown;
    for (const { link } of this.#ports) {
      // A link between two ports of this adapter carries both ways at once.
      if (link === undefined || !link.active || link === previous) continue;
      moved += link.carry(this.#clock.now(), limit);
      previous = link;
    }
    return moved;
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

  /** Ends a pass: wakes the other ends, and sets the alarm of the next link event. */
  settle(): void {
    let nextNs = Number.POSITIVE_INFINITY;
    for (const port of this.#ports) {
      const { link } = port;
      if (link === undefined) continue;
      link.settle(port);
      if (link.nextNs < nextNs) nextNs = link.nextNs;
    }
    // Asked again each time: a clock keeps the earliest alarm only.
    if (nextNs !== Number.POSITIVE_INFINITY) this.#clock.setAlarm(nextNs);
  }
}

/** Joins two ports as the options say; they stay apart when the options name no link. */
export function joinPorts(first: LinkEnd, second: LinkEnd, options: PortLinkOptions): void {
  if (options.kind === 'cable') new Cable(first, second);
  else if (options.kind === 'faulty') new FaultyLink(first, second, options, new Random(options.seed));
}
