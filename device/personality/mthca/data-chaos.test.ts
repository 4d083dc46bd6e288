// SPDX-License-Identifier: Apache-2.0
/** Seeds of chaos over the data path, over good and bad links (test-support/data-chaos.ts). */
import t from 'tap';
import { DataChaos } from './test-support/data-chaos.ts';

const SEEDS = 12;
const ACTS = 1500;

for (let seed = 1; seed <= SEEDS; seed++) {
  t.test(`seed ${seed}`, (t) => {
    const chaos = new DataChaos(seed);
    chaos.run(ACTS);
    t.ok(chaos.messages > 100, `${chaos.messages} messages`);
    t.ok(chaos.failures > 0, `${chaos.failures} failures`);
    const { sends, lanes } = chaos.bench.driver.device;
    t.equal(sends.busyBuffers, 0, 'collect buffers');
    t.same([lanes.execution.functionUsed[0], lanes.completion.functionUsed[0]], [0, 0], 'credits');
    t.end();
  });
}
