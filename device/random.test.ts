// SPDX-License-Identifier: Apache-2.0
/** Random numbers of tests and simulations: a seed determines the sequence. */
import t from 'tap';
import { Random } from './random.ts';

t.test('the same seed gives the same numbers, another seed others', async (t) => {
  const draw = (seed: number): number[] => {
    const random = new Random(seed);
    return Array.from({ length: 100 }, () => random.next());
  };
  t.same(draw(7), draw(7));
  t.notSame(draw(7), draw(8));
  t.ok(draw(0).some((word) => word !== 0));
});

t.test('numbers stay in range and reach both ends', async (t) => {
  const random = new Random(1);
  const seen = new Set<number>();
  for (let draw = 0; draw < 2000; draw++) seen.add(random.between(-3, 4));
  t.same(
    [...seen].sort((left, right) => left - right),
    [-3, -2, -1, 0, 1, 2, 3, 4],
  );
});

t.test('every bit is set about half of the time', async (t) => {
  const random = new Random(42);
  const ones = new Array<number>(32).fill(0);
  const draws = 10_000;
  for (let draw = 0; draw < draws; draw++) {
    const word = random.next();
    for (let bit = 0; bit < 32; bit++) ones[bit] = (ones[bit] ?? 0) + ((word >>> bit) & 1);
  }
  for (const count of ones) t.ok(Math.abs(count - draws / 2) < 300, `${count} of ${draws}`);
});

t.test('shuffling keeps the items', async (t) => {
  const list = Array.from({ length: 50 }, (_, index) => index);
  const shuffled = new Random(3).shuffle([...list]);
  t.notSame(shuffled, list);
  t.same(
    shuffled.sort((left, right) => left - right),
    list,
  );
});
