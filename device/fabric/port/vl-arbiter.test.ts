// SPDX-License-Identifier: Apache-2.0
/**
 * VL arbitration (IBTA 7.6.9): turns and weights within a table, the high-priority limit, and VLs
 * that are in no table.
 */
import t from 'tap';
import { VlArbiter } from './vl-arbiter.ts';

/**
 * Blocks that each VL sent in `rounds` picks of packets of `blocks` blocks, while all VLs of
 * `ready` wait.
 */
function share(arbiter: VlArbiter, ready: number, rounds: number, blocks: number[]): number[] {
  const blocksOf = Uint16Array.from(blocks);
  const sent = blocks.map(() => 0);
  for (let round = 0; round < rounds; round++) {
    const lane = arbiter.pick(ready, blocksOf);
    sent[lane] += blocks[lane];
  }
  return sent;
}

t.test('VLs take turns by default', async (t) => {
  t.same(share(new VlArbiter(4), 0b1011, 300, [1, 1, 1, 1]), [100, 100, 0, 100]);
  t.equal(new VlArbiter(4).pick(0, new Uint16Array(4)), -1);
});

t.test('VLs send in proportion to their weights', async (t) => {
  const arbiter = new VlArbiter(2);
  arbiter.setLow([
    { virtualLane: 0, weight: 30 },
    { virtualLane: 1, weight: 10 },
  ]);
  t.same(share(arbiter, 0b11, 4000, [1, 1]), [3000, 1000]);
  const [large, small] = share(arbiter, 0b11, 4000, [5, 2]);
  t.ok(Math.abs(large / small - 3) < 0.1, `${large} to ${small}`);
});

t.test('the high-priority table goes first, and lets low-priority packets through after its limit', async (t) => {
  const arbiter = new VlArbiter(3);
  arbiter.setLow([0, 1].map((virtualLane) => ({ virtualLane, weight: 1 })));
  arbiter.setHigh([{ virtualLane: 2, weight: 1 }]);
  t.same(share(arbiter, 0b111, 100, [1, 1, 1]), [0, 0, 100], 'no limit: nothing else');
  arbiter.setHigh([{ virtualLane: 2, weight: 1 }], 1);
  t.same(share(arbiter, 0b111, 650, [1, 1, 1]), [5, 5, 640], '64 blocks, then one packet');
  arbiter.setHigh([{ virtualLane: 2, weight: 1 }], 0);
  t.same(share(arbiter, 0b101, 100, [1, 1, 1]), [50, 0, 50], 'one packet, then one packet');
});

t.test('a VL that is in no table sends when no other can', async (t) => {
  const arbiter = new VlArbiter(2);
  arbiter.setLow([{ virtualLane: 0, weight: 1 }]);
  t.equal(arbiter.pick(0b10, Uint16Array.of(1, 1)), 1);
  t.equal(arbiter.pick(0b11, Uint16Array.of(1, 1)), 0);
});
