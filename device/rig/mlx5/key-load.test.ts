// SPDX-License-Identifier: Apache-2.0
/** Seeds of random load on memory keys, against a model. */
import t from 'tap';
import { seedsOf } from '../fixtures/seeds.ts';
import { KeyLoad } from './key-load.ts';

const ACTS = 400;
const done: Record<string, number> = {};

for (const seed of seedsOf(4, 200)) {
  t.test(`seed ${seed}`, async () => {
    const load = new KeyLoad(seed);
    load.run(ACTS);
    for (const [kind, count] of Object.entries(load.done)) done[kind] = (done[kind] ?? 0) + count;
  });
}

t.test('the seeds together have granted and refused each kind of act', async (t) => {
  t.ok((done['read of pieces, granted'] ?? 0) > 0, 'pieces of keys');
  const kinds = [
    'create',
    'change',
    'invalidate',
    'destroy',
    'read',
    ...['lr', 'lw', 'rr', 'rw', 'a'].map((right) => `access ${right}`),
  ];
  for (const kind of kinds)
    for (const end of ['granted', 'refused'])
      t.ok((done[`${kind}, ${end}`] ?? 0) > 0, `${kind}, ${end}: ${done[`${kind}, ${end}`]}`);
});
