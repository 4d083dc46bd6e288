// SPDX-License-Identifier: Apache-2.0
/**
 * The stage of a scripted situation for `vuhca trace show`: two connected QPs on one adapter, one
 * of which sends to the other. situations.ts and share-situations.ts use it.
 */

import type { ScheduledFault } from '../../../device/fabric/link/link-options.ts';
import type { AdapterOptions } from '../../../device/hca/adapter/options.ts';
import type { BringUpRequest } from '../../../device/rig/driver/requests.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { type Connected, connect } from '../../../device/rig/fixtures/connected-fixture.ts';
import { StoryStage } from './story-stage.ts';

/** ACK timeout of 8 us, path MTU of 256 bytes, RNR timer of 10 us. */
export const CONNECTION = { pathMtu: 1, timeout: 1, retryCount: 3, minRnrTimer: 1 };

/** Two connected QPs on one adapter. */
export class Play {
  readonly fixture: AdapterFixture;
  readonly stage: StoryStage;
  readonly connected: Connected;

  constructor(
    schedule: readonly ScheduledFault[] = [],
    options: Partial<AdapterOptions> = {},
    bringUp: BringUpRequest = {},
  ) {
    const portLink = { kind: 'faulty', seed: 1, schedule } as const;
    const adapter = { ...options, ...(schedule.length > 0 && { portLink }) };
    this.fixture = new AdapterFixture({ seed: 1, adapter, bringUp });
    this.stage = new StoryStage(this.fixture.machine);
    this.connected = connect(this.fixture, CONNECTION);
  }

  /** `a` sends `length` bytes to `b`. */
  send(length = 8, by: 'collect' | 'doorbell' = 'collect', signaled = true): void {
    const { a } = this.connected;
    a.post({ sges: [this.fixture.sge(this.fixture.createBuffer(length))], signaled }, by);
  }

  receive(): void {
    const { b } = this.connected;
    b.postReceive([this.fixture.sge(this.fixture.createBuffer(1024))]);
  }

  /** Runs, through all waits, until `a` has a completion. */
  finish(count = 1): void {
    const { a } = this.connected;
    for (let taken = 0; taken < count; taken++) a.parts.sendCq.take();
    this.fixture.settle();
  }

  tell(index = 0): string {
    return this.stage.tell(this.connected.a.qpn, index);
  }
}
