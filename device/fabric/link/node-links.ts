// SPDX-License-Identifier: Apache-2.0
/**
 * The links of one node's ports (docs/ARCHITECTURE.md, "The way of a command"): lets them carry
 * packets, asks for an alarm when one has work later, and wakes the nodes at the other ends. `run`
 * of an adapter or of a switch calls it.
 */
import type { AdapterClock } from '../../host.ts';
import type { LinkEnd } from '../port/link.ts';

export class NodeLinks {
  readonly #ports: readonly LinkEnd[];
  readonly #clock: AdapterClock;

  constructor(ports: readonly LinkEnd[], clock: AdapterClock) {
    this.#ports = ports;
    this.#clock = clock;
  }

  /** Lets links move packets; returns how many moved. A plain cable costs nothing here. */
  carry(limit: number): number {
    let moved = 0;
    let previous: unknown;
    for (const { link } of this.#ports) {
      // A link between two ports of this node carries both ways at once.
      if (link === undefined || !link.active || link === previous) continue;
      moved += link.carry(this.#clock.now(), limit);
      previous = link;
    }
    return moved;
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
