// SPDX-License-Identifier: Apache-2.0
/** The shares of all shards are the whole, with each part once, and about equal. */
import t from 'tap';
import { describeShare, readShard, takeRange, takeShare } from './shard.ts';

const COUNTS = [1, 2, 3, 7, 16];
const SIZES = [0, 1, 5, 16, 1000];

t.test('words', async (t) => {
  t.same(readShard('2/4'), { number: 2, count: 4 });
  t.same(readShard('1/1'), { number: 1, count: 1 });
  for (const text of ['', '2', '0/4', '5/4', '1/0', '-1/4', '1.5/4', '1/4/2', 'a/b', ' 1/4', '1/10001', '1/99999'])
    t.equal(readShard(text), undefined, `"${text}"`);
});

t.test('items', async (t) => {
  for (const count of COUNTS)
    for (const size of SIZES) {
      const items = Array.from({ length: size }, (_, index) => index);
      const shares = Array.from({ length: count }, (_, index) => takeShare(items, { number: index + 1, count }));
      const joined = shares.flat().sort((a, b) => a - b);
      t.same(joined, items, `${size} items in ${count} shards: each once`);
      const lengths = shares.map(({ length }) => length);
      t.ok(Math.max(...lengths) - Math.min(...lengths) <= 1, 'no share is much longer');
    }
  t.same(takeShare(['a', 'b', 'c', 'd', 'e'], { number: 2, count: 2 }), ['b', 'c'], 'to and fro');
});

t.test('ranges', async (t) => {
  for (const count of COUNTS)
    for (const size of SIZES) {
      let next = 100;
      for (let number = 1; number <= count; number++) {
        const part = takeRange(100, size, { number, count });
        t.equal(part.first, next, `${size} numbers, shard ${number} of ${count} begins where the one before ends`);
        next += part.size;
      }
      t.equal(next, 100 + size, 'the last one ends at the end');
    }
});

t.test('a sentence', async (t) => {
  t.equal(describeShare({ number: 2, count: 4 }, 25, 100, 'seeds'), 'shard 2/4: 25 of 100 seeds, the others have 75');
});
