// SPDX-License-Identifier: Apache-2.0
/**
 * Hazard 15 of docs/HAZARDS.md under a flood: however much other functions post, a stop request is
 * carried out within a bounded number of passes, so software that waits for it waits for the
 * processor of a busy machine only (US 9,069,485 par. 70-73; docs/DOCUMENTS.md decision 3).
 */
import t from 'tap';
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getSendQueueDescriptorDestroyed,
  getSendQueueDescriptorNextState,
} from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import { NOP } from '../fixtures/command-poster.ts';
import { InProcessMachine } from '../machine/machine.ts';
import { Flood, type Posting } from './flood.ts';
import { Tenant } from './tenant.ts';

const FUNCTIONS = 3;
/** Units of work per pass: few, so that reads are outstanding between passes. */
const BUDGET = 16;
/**
 * Each of six stages may use up the budget of a pass. The reads of a queue take a few turns of the
 * doorbell units.
 */
const PASSES_MAX = 32;
const WARM_UP = 40;
const QUEUES = 24;
const COMMANDS = 16;
const NOT_QUEUED = 0xff;

/** Queues with commands waiting, and doorbells for all of them. */
function fill(tenant: Tenant): DriverQueuePair[] {
  const sendCq = tenant.driver.createCompletionQueue({ entriesLog2: 10 });
  const qps = Array.from({ length: QUEUES }, (_, number) => {
    const qp = tenant.driver.createQueuePair({ pd: tenant.pd, sendCq, qosLevel: number % QOS_LEVELS });
    qp.start({ port: 1, qkey: 1 });
    return qp;
  });
  for (const [number, qp] of qps.entries())
    for (let count = 0; count < COMMANDS; count++) qp.post(NOP, number % 2 === 0 ? 'slot' : 'collect');
  for (const qp of qps) qp.ring(0, 'register');
  return qps;
}

for (const posting of ['collect', 'doorbell', 'mixed'] as const satisfies readonly Posting[]) {
  for (const size of [64, 65_536]) {
    t.test(`hazard 15: a stop beside floods by ${posting} of ${size} bytes takes few passes`, async (t) => {
      const options = { functionCount: FUNCTIONS, memoryBytes: 1 << 23, budget: BUDGET };
      const machine = new InProcessMachine(options);
      const tenant = new Tenant(machine, 0);
      const floods = [1, 2].map((number) => new Flood(new Tenant(machine, number), { queuePairs: 8, size, posting }));
      /** A pass of the adapter with every queue of the others full. */
      const pass = (): void => {
        for (const flood of floods) flood.turn();
        machine.step();
      };
      for (let count = 0; count < WARM_UP; count++) pass();
      const before = floods.map(({ completed }) => completed);
      let most = 0;
      // Each round stops the queues at another moment of their turns.
      for (let moment = 0; moment < 6; moment++) {
        const qps = fill(tenant);
        for (let count = 0; count < moment; count++) pass();
        for (const qp of qps) qp.stop();
        let passes = 0;
        const descriptors = qps.map(({ parts }) => tenant.access.view(parts.descriptorAddress, 32));
        t.ok(
          descriptors.every((descriptor) => getSendQueueDescriptorDestroyed(descriptor, 0) === 1),
          'destroyed is there at once',
        );
        while (descriptors.some((descriptor) => getSendQueueDescriptorNextState(descriptor, 0) !== NOT_QUEUED)) {
          pass();
          if (++passes > PASSES_MAX) break;
        }
        most = Math.max(most, passes);
        for (const qp of qps) qp.destroy();
      }
      t.ok(most <= PASSES_MAX, `${most} passes`);
      t.ok(
        floods.every(({ completed }, at) => completed > before[at]),
        'the others were served meanwhile',
      );
    });
  }
}
