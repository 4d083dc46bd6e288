// SPDX-License-Identifier: Apache-2.0
/**
 * The links of one adapter's ports, and the loopbacks of the ports: takes arrived packets, besides
 * what the links of any node need, and runs the MAD interfaces and the embedded switches.
 * Called by `Adapter.run`.
 */
import type { MadInterface } from '../../fabric/agents/mad-interface.ts';
import { NodeLinks } from '../../fabric/link/node-links.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { Switch } from '../../fabric/switch/switch.ts';
import type { AdapterClock } from '../../host.ts';
import type { PacketReceiver } from '../transport/engine/packet-receiver.ts';

/** Datagrams that software of an embedded switch takes in a pass. */
const SOFTWARE_BUDGET = 64;

/** The ports of an adapter. */
export interface LinkedPorts {
  readonly ports: readonly Port[];
  /** Embedded switches. */
  readonly switches: readonly Switch[];
}

export class PortLinks extends NodeLinks {
  /** An embedded switch needs another pass. */
  unsettled = false;
  readonly #ports: readonly Port[];
  readonly #receiver: PacketReceiver;
  readonly #mads: readonly MadInterface[];
  readonly #switches: readonly Switch[];
  readonly #clock: AdapterClock;

  constructor(
    { ports, switches }: LinkedPorts,
    receiver: PacketReceiver,
    mads: readonly MadInterface[],
    clock: AdapterClock,
  ) {
    super(ports, clock);
    this.#ports = ports;
    this.#receiver = receiver;
    this.#mads = mads;
    this.#switches = switches;
    this.#clock = clock;
  }

  /** Also lets the MAD interfaces and the embedded switches work. */
  override carry(limit: number): number {
    let done = 0;
    for (const mads of this.#mads) {
      if (mads.isIdle || mads.nextNs > this.#clock.now()) continue;
      mads.run();
      done++;
    }
    for (const relay of this.#switches) done += relay.work(limit);
    return done + super.carry(limit);
  }

  override settle(): void {
    super.settle();
    // V8 allocates for a time that a call returns: it is asked only when there is one.
    for (const mads of this.#mads) if (!mads.isIdle) this.#clock.setAlarm(mads.nextNs);
    this.unsettled = false;
    for (const relay of this.#switches) if (relay.settle(SOFTWARE_BUDGET)) this.unsettled = true;
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
        if (ring === undefined || !receiver.receive(port, ring, link.trusted)) break;
        received++;
      }
    }
    return received;
  }
}
