// SPDX-License-Identifier: Apache-2.0
/**
 * One end of a connection between two adapters of a fabric: a driver with a reliable queue pair.
 * The scenes of links and switches use it.
 */

import type { Connection, DriverQueuePair } from '../../device/rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../device/rig/fixtures/adapter-fixture.ts';
import { InProcessAccess } from '../../device/rig/machine/access.ts';
import type { InProcessMachine } from '../../device/rig/machine/machine.ts';
import { CompletionStatus, ServiceType } from '../../protocol/layout/gen/values.gen.ts';

export class DriverEnd {
  readonly fixture: AdapterFixture;
  readonly qp: DriverQueuePair;
  #pending = 0;
  #awaited = 0;

  constructor(machine: InProcessMachine, index: number) {
    this.fixture = new AdapterFixture({ machine, access: () => new InProcessAccess(machine, index) });
    const create = () => this.fixture.createCompletionQueue({ entriesLog2: 8 });
    this.qp = this.fixture.driver.createQueuePair({
      pd: this.fixture.pd,
      sendCq: create(),
      receiveCq: create(),
      creation: { serviceType: ServiceType.RC },
    });
  }

  send(payload: Uint8Array): void {
    this.qp.post({ sges: [this.fixture.sge(this.fixture.createBuffer(payload))] });
    this.#pending++;
  }

  listen(lengthBytes: number): void {
    this.fixture.postReceive(this.qp, lengthBytes);
    this.#awaited++;
  }

  /** True when every message is complete. Throws when one failed. */
  hasSent(): boolean {
    this.#pending -= countGood(this.qp.parts.sendCq.drain());
    return this.#pending === 0;
  }

  /** True when every expected message has arrived. Throws when one failed. */
  hasReceived(): boolean {
    this.#awaited -= countGood(this.qp.parts.receiveCq.drain());
    return this.#awaited === 0;
  }
}

/** Connects two ends by their first ports. */
export function connectEnds(one: DriverEnd, other: DriverEnd, options: Partial<Connection> = {}): void {
  const connect = (from: DriverEnd, to: DriverEnd): void => {
    from.qp.connect({ port: 1, dlid: to.fixture.lidOf(1), remoteQpn: to.qp.qpn, reliable: true, ...options });
  };
  connect(one, other);
  connect(other, one);
}

function countGood(entries: readonly { readonly status: number }[]): number {
  for (const { status } of entries)
    if (status !== CompletionStatus.SUCCESS) throw new Error(`a message failed with status ${status}`);
  return entries.length;
}
