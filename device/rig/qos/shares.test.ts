// SPDX-License-Identifier: Apache-2.0
/**
 * Tenants that flood get the adapter's time in proportion to the weight of their lanes, whatever
 * their message sizes and the budget of a pass (docs/ARCHITECTURE.md, Shares of time). The worked
 * example is that of US 8,484,392 par. 125-131.
 */
import t from 'tap';
import { partOf } from '../fixtures/seeds.ts';
import { checkEqual, describeFairness, GUARANTEE, measureFairness, PASSES, POSTINGS, pair, SIZES } from './fairness.ts';
import type { FloodRequest } from './flood.ts';
import { GUESTS, PHASES, WorkedExample } from './worked-example.ts';

for (const size of partOf(SIZES, 2))
  t.test(`a share is met while others flood: lanes that weigh 1, 2 and 4, ${size} bytes`, async (t) => {
    for (const posting of ['collect', 'doorbell'] as const) {
      const weights = [1, 2, 4];
      const shares = measureFairness(
        weights.map(() => ({ queuePairs: 4, size, posting })),
        { weights, passes: size > 1024 ? 1000 : 2000 },
      );
      for (const share of shares) t.ok(Math.abs(share - 1) < GUARANTEE, `${posting}: ${describeFairness(shares)}`);
    }
  });

const differentSizes = [
  [64, 65_536],
  [64, 4096],
  [1024, 16_384],
] as const;

for (const sizes of partOf(differentSizes, 1))
  t.test(
    `messages of different sizes, ${sizes.join(' and ')} bytes: the adapter's time is what is shared`,
    async (t) => {
      for (const posting of POSTINGS)
        checkEqual(t, posting, measureFairness(sizes.map((size) => ({ queuePairs: 4, size, posting }))));
    },
  );

t.test('what is read from a tenant counts as sent by it', async (t) => {
  for (const size of [4096, 65_536]) {
    const requests = (['read', 'write'] as const).map((traffic) => ({
      traffic,
      queuePairs: 4,
      size,
      posting: 'doorbell' as const,
    }));
    checkEqual(t, `${size} bytes`, measureFairness(requests));
  }
});

for (const budget of partOf([5, 256, 16, 1024], 2))
  t.test(`shares do not depend on how long the adapter is let work at a time: ${budget} units`, async (t) => {
    const passes = Math.ceil((PASSES * 64) / budget);
    for (const size of [256, 4096])
      checkEqual(t, `${size}`, measureFairness(pair({ queuePairs: 2, size, posting: 'mixed' }, 6), { budget, passes }));
  });

t.test('each of 16 tenants has its share', async (t) => {
  for (const size of [64, 4096]) {
    const requests = Array.from(
      { length: 16 },
      (_, at): FloodRequest => ({
        queuePairs: 1 + (at % 3),
        size,
        posting: POSTINGS[at % POSTINGS.length],
        depthLog2: 5,
      }),
    );
    // A tenant's head start is a fixed number of messages, which counts less in a longer run.
    const shares = measureFairness(requests, { passes: 4000 });
    for (const share of shares) t.ok(Math.abs(share - 1) < GUARANTEE, `${size} bytes: ${describeFairness(shares)}`);
  }
});

t.test('the worked example: guarantees hold while others flood, and what is free is used', async (t) => {
  const example = new WorkedExample();
  for (const { name, active } of PHASES) {
    const shares = example.run(active);
    for (const [index, { share, expected }] of shares.entries())
      t.ok(
        Math.abs(share - expected) < GUARANTEE,
        `${name}: ${GUESTS[index].name} ${share.toFixed(3)} of ${expected.toFixed(3)}`,
      );
    if (name === 'weather alone') t.ok(shares[1].sharedPeak > 0, 'weather uses PCBs that all share');
    for (const [index, { completionPeak }] of shares.entries()) t.equal(completionPeak > 0, active[index]);
  }
  example.weightByPayment();
  const pcbs = GUESTS.reduce((sum, guest) => sum + guest.pcbs, 0);
  for (const [index, { share, expected }] of example.run([true, true, true]).entries()) {
    const paid = GUESTS[index].pcbs / pcbs;
    t.ok(Math.abs(share - paid) < GUARANTEE, `by weights: ${GUESTS[index].name} ${share.toFixed(3)}`);
    t.ok(Math.abs(expected - paid) < 1e-9, 'the expectation follows weights');
  }
});
