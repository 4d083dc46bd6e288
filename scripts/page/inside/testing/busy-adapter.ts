// SPDX-License-Identifier: Apache-2.0
/**
 * An adapter whose functions all have messages in flight, with all scarce resources: PCBs,
 * scheduler buffers, credits. Each step of it gives another state. Called by tests of the page.
 */

import type { AdapterOptions } from '../../../../device/hca/adapter/options.ts';
import { Random } from '../../../../device/random.ts';
import type { DriverCompletionQueue } from '../../../../device/rig/driver/completion-queue.ts';
import type { DriverQueuePair } from '../../../../device/rig/driver/queue-pair.ts';
import { NOP } from '../../../../device/rig/fixtures/command-poster.ts';
import { InProcessMachine } from '../../../../device/rig/machine/machine.ts';
import { Flow } from '../../../../device/rig/qos/flow.ts';
import { Tenant } from '../../../../device/rig/qos/tenant.ts';
import { SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { ViewState } from '../../../cli/view/view-protocol.ts';
import { stateOf } from './view-state.ts';

const SIZES = [8, 64, 200, 1500];
const STEP_NS = 100e6;
const DELAY_NS = 250e6;
const WATCHED_MAX = 8;

export interface BusyOptions {
  readonly seed: number;
  readonly functions: number;
  readonly flowsOfEach: number;
  readonly adapter?: Partial<AdapterOptions>;
}

/** A queue pair whose completions are events. */
interface WatchedQueue {
  readonly qp: DriverQueuePair;
  readonly cq: DriverCompletionQueue;
  outstanding: number;
}

export class BusyAdapter {
  readonly machine: InProcessMachine;
  readonly flows: Flow[] = [];
  readonly #watched: WatchedQueue[];
  readonly #random: Random;

  constructor({ seed, functions, flowsOfEach, adapter }: BusyOptions) {
    this.#random = new Random(seed);
    this.machine = new InProcessMachine({
      seed,
      functionCount: functions,
      memoryBytes: 1 << 22,
      budget: 8,
      adapter: { vcbCount: 16, ...adapter },
    });
    const tenants = this.machine.hosts.map(
      (_, index) => new Tenant(this.machine, index, { levelOnePages: 4, overflowEntriesLog2: 6 }),
    );
    this.#watched = tenants.map(watch);
    for (const from of tenants)
      for (let count = 0; count < flowsOfEach; count++) {
        const isReliable = count % 2 === 0;
        const serviceType = isReliable ? ServiceType.RC : ServiceType.UD;
        const options = { serviceType, opcode: SendOpcode.SEND_IMMEDIATE, qosLevel: count % 4 < 2 ? 0 : 1 };
        this.flows.push(new Flow(from, this.#random.pick(tenants), options));
      }
  }

  /** Serves what was posted, lets time pass, posts more, and tells the state at that moment. */
  next(): ViewState {
    for (let steps = this.#random.between(1, 6); steps > 0; steps--) this.machine.step();
    this.machine.clock.advance(STEP_NS);
    for (const flow of this.flows) {
      flow.reap();
      for (let room = Math.min(flow.room, this.#random.below(6)); room > 0; room--)
        flow.post(this.#random.pick(SIZES), this.#random.oneIn(3) ? 'doorbell' : 'collect');
    }
    for (const watched of this.#watched) {
      watched.outstanding -= watched.cq.drain().length;
      watched.cq.notify();
      if (watched.outstanding === WATCHED_MAX) continue;
      watched.qp.post(NOP);
      watched.outstanding++;
    }
    return stateOf(this.machine);
  }
}

function watch({ driver, pd }: Tenant): WatchedQueue {
  const attributes = { nextInterruptDelayNsLow: DELAY_NS };
  const cq = driver.createCompletionQueue({ eventQueue: driver.createEventQueue({ vector: 1, attributes }) });
  const qp = driver.createQueuePair({ pd, sendCq: cq });
  qp.start({ port: 1, qkey: 1 });
  return { qp, cq, outstanding: 0 };
}
