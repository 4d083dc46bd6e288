// SPDX-License-Identifier: Apache-2.0
/**
 * Shares of tenants that flood (DESIGN.md 4.4; docs/ARCHITECTURE.md, Shares): equal ones get the same, whatever they send, whatever way they post and over however many queue pairs; weighted ones get what they weigh; what
 * counts where messages differ is the adapter's tariff. And the worked example's guests get what their lanes weigh.
 */
import t from 'tap';
import type { Adapter } from '../../adapter.ts';
import { InProcessMachine } from '../../hosts/in-process/machine.ts';
import { Flood, type FloodRequest, measureShares, type Posting, type Traffic } from './flood.ts';
import { Tenant } from './tenant.ts';
import { GUESTS, PHASES, WorkedExample } from './worked-example.ts';

const MEMORY_BYTES = 1 << 23;
const EQUAL = 0.05;
const GUARANTEE = 0.02;
const SIZES = [64, 256, 1024, 2048, 4096, 8192, 16_384, 65_536];
const POSTINGS: readonly Posting[] = ['collect', 'doorbell', 'mixed'];
const PASSES = 300;
const DATAGRAM_LONGEST = 4096;

interface Surroundings {
  /** Units of work in a pass of the adapter. */
  readonly budget?: number;
  readonly passes?: number;
  /** By tenant: weight of each of its lanes. */
  readonly weights?: readonly number[];
}

/** Floods with one virtual function for each request; returns what each of them cost, divided by the mean of all: 1 is a fair share. */
function measureFairness(requests: readonly FloodRequest[], around: Surroundings = {}): number[] {
  const { budget = 64, passes = passesFor(requests), weights = requests.map(() => 1) } = around;
  const machine = new InProcessMachine({ functionCount: requests.length + 1, memoryBytes: MEMORY_BYTES, budget });
  const { lanes } = machine.core as Adapter;
  for (const { number } of lanes.lanes) {
    const owner = lanes.map.getOwner(number);
    if (owner > 0) lanes.setLane(number, { weight: weights[owner - 1] });
  }
  const floods = requests.map((request, at) => new Flood(new Tenant(machine, at + 1), request));
  const messages = measureShares(floods, passes);
  const costs = messages.map((count, at) => (count * floods[at].messageCost) / weights[at]);
  const mean = costs.reduce((sum, cost) => sum + cost, 0) / costs.length;
  return costs.map((cost) => cost / mean);
}

/** Enough messages of the longest kind that one more or less does not count. */
function passesFor(requests: readonly FloodRequest[]): number {
  const longest = Math.max(...requests.map(({ size }) => size));
  return PASSES * (longest > 16_384 ? 5 : longest > 4096 ? 3 : 1);
}

const describe = (shares: readonly number[]): string => shares.map((share) => share.toFixed(3)).join(' ');
const pair = (one: FloodRequest, queuePairs: number): FloodRequest[] => [one, { ...one, queuePairs }];

function checkEqual(
  t: { ok(value: boolean, what: string): unknown },
  what: string,
  [one, two]: readonly number[],
): void {
  t.ok(Math.abs(one / two - 1) < EQUAL, `${what}: ${describe([one, two])}`);
}

for (const size of SIZES)
  t.test(`equal tenants that flood with WRITEs of ${size} bytes`, async (t) => {
    for (const posting of POSTINGS)
      for (const [few, many] of [
        [4, 4],
        [1, 8],
      ])
        checkEqual(
          t,
          `${posting}, ${few} and ${many}`,
          measureFairness(pair({ queuePairs: few, size, posting }, many)),
        );
  });

for (const traffic of ['send', 'read', 'datagram'] as const satisfies Traffic[])
  t.test(`equal tenants that flood with other messages: ${traffic}`, async (t) => {
    for (const size of [64, 1024, traffic === 'datagram' ? DATAGRAM_LONGEST : 16_384])
      for (const posting of ['collect', 'doorbell'] as const)
        checkEqual(t, `${size} bytes, ${posting}`, measureFairness(pair({ traffic, queuePairs: 2, size, posting }, 6)));
  });

for (const size of SIZES)
  t.test(`a share is met while others flood: lanes that weigh 1, 2 and 4, ${size} bytes`, async (t) => {
    for (const posting of ['collect', 'doorbell'] as const) {
      const weights = [1, 2, 4];
      const shares = measureFairness(
        weights.map(() => ({ queuePairs: 4, size, posting })),
        { weights, passes: size > 1024 ? 1000 : 2000 },
      );
      for (const share of shares) t.ok(Math.abs(share - 1) < GUARANTEE, `${posting}: ${describe(shares)}`);
    }
  });

for (const sizes of [
  [64, 65_536],
  [64, 4096],
  [1024, 16_384],
])
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

for (const budget of [5, 16, 256, 1024])
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
    const shares = measureFairness(requests, { passes: 2000 });
    for (const share of shares) t.ok(Math.abs(share - 1) < GUARANTEE, `${size} bytes: ${describe(shares)}`);
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
  }
});
