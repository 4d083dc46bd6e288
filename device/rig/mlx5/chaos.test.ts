// SPDX-License-Identifier: Apache-2.0
/**
 * Seeds of chaos over the data path of two mlx5 devices, over good and bad links. `npm run simulate
 * -- chaos --personality mlx5` runs thousands.
 */
import t from 'tap';
import { QpService } from '../../../protocol/mlx5/gen/values.gen.ts';
import { seedsOf } from '../fixtures/seeds.ts';
import { Mlx5Chaos } from './chaos.ts';

const SEEDS = seedsOf(3, 12);
const ACTS = 1500;
const SERVICES = [QpService.RC, QpService.UC, QpService.UD, QpService.XRC] as const;
/** A mean over all seeds, because queue pairs that fail early complete few messages. */
const MESSAGES_MEAN = 12;

const messages: Record<number, number> = {};
let limits = 0;

for (const seed of SEEDS) {
  t.test(`seed ${seed}`, (t) => {
    const chaos = new Mlx5Chaos(seed);
    chaos.run(ACTS);
    for (const service of SERVICES) {
      t.ok(chaos.messages[service] > 0, `${chaos.messages[service]} messages of service ${service}`);
      messages[service] = (messages[service] ?? 0) + chaos.messages[service];
    }
    t.ok(chaos.failures > 0, `${chaos.failures} failures`);
    limits += chaos.limits;
    for (const { sends, lanes } of chaos.devices) {
      t.equal(sends.busyBuffers, 0, 'collect buffers');
      t.same([lanes.execution.functions[0].used, lanes.completion.functions[0].used], [0, 0], 'credits');
    }
    t.end();
  });
}

t.test('the seeds together', (t) => {
  for (const service of SERVICES)
    t.ok(messages[service] > MESSAGES_MEAN * SEEDS.length, `${messages[service]} messages of service ${service}`);
  t.ok(limits > SEEDS.length, `${limits} times an SRQ has told of its limit`);
  t.end();
});
