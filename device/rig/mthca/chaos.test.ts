// SPDX-License-Identifier: Apache-2.0
/**
 * Seeds of chaos over the data path of an mthca device, over good and bad links. `npm run simulate
 * -- chaos --personality mthca` runs thousands.
 */
import t from 'tap';
import { QpService } from '../../../protocol/mthca/gen/values.gen.ts';
import { seedsOf } from '../fixtures/seeds.ts';
import { MthcaChaos } from './chaos.ts';

const SEEDS = seedsOf(3, 12);
const ACTS = 1500;

let limits = 0;

for (const seed of SEEDS) {
  t.test(`seed ${seed}`, (t) => {
    const chaos = new MthcaChaos(seed);
    chaos.run(ACTS);
    for (const service of [QpService.RC, QpService.UC, QpService.UD])
      t.ok(chaos.messages[service] > 30, `${chaos.messages[service]} messages of service ${service}`);
    t.ok(chaos.failures > 0, `${chaos.failures} failures`);
    limits += chaos.limits;
    const { sends, lanes } = chaos.fixture.driver.device;
    t.equal(sends.busyBuffers, 0, 'collect buffers');
    t.same([lanes.execution.functions[0].used, lanes.completion.functions[0].used], [0, 0], 'credits');
    t.end();
  });
}

t.test('the seeds together', (t) => {
  t.ok(limits > SEEDS.length, `${limits} times an SRQ has told of its limit`);
  t.end();
});
