// SPDX-License-Identifier: Apache-2.0
/** Equal tenants that flood get the same, whatever way they post and over however many queue pairs; the worked example's guests get what their lanes weigh. DESIGN.md 4.4. */
import t from 'tap';
import { InProcessMachine } from '../../hosts/in-process/machine.ts';
import { Flood, measureShares, type Posting } from './flood.ts';
import { Tenant } from './tenant.ts';
import { GUESTS, PHASES, WorkedExample } from './worked-example.ts';

const MEMORY_BYTES = 1 << 23;
const EQUAL = 0.05;
const GUARANTEE = 0.02;

for (const [size, passes] of [
  [64, 3000],
  [16_384, 1500],
] as const)
  for (const posting of ['collect', 'doorbell', 'mixed'] as const)
    for (const queuePairs of [
      [4, 4],
      [2, 8],
    ] as const)
      t.test(`${queuePairs.join(' and ')} queue pairs, ${size} bytes, by ${posting}`, async (t) => {
        const [one, two] = measureShares(floodTwo(size, posting, queuePairs), passes);
        t.ok(Math.abs(one / two - 1) < EQUAL, `${one} and ${two} messages`);
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

function floodTwo(size: number, posting: Posting, queuePairs: readonly [number, number]): Flood[] {
  const machine = new InProcessMachine({ functionCount: 3, memoryBytes: MEMORY_BYTES });
  return queuePairs.map((count, at) => new Flood(new Tenant(machine, at + 1), { queuePairs: count, size, posting }));
}
