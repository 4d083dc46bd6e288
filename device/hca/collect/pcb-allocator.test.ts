// SPDX-License-Identifier: Apache-2.0
/**
 * The three levels of PCB allocation (QoS level, function, adapter): a promised PCB is never given
 * away, and shares converge (US 8,484,392 par. 50, 53-56, 96).
 */
import t from 'tap';
import { isOverused } from '../../rig/qos/watch.ts';
import { PcbAllocator } from './pcb-allocator.ts';
import type { PhysicalCollectBuffer } from './physical-collect-buffer.ts';

/** Binds as many PCBs as the level gets, at most `limit`. */
function fill(pool: PcbAllocator, functionNumber: number, level: number, limit = 1000): PhysicalCollectBuffer[] {
  const bound: PhysicalCollectBuffer[] = [];
  while (bound.length < limit) {
    const buffer = pool.bind(functionNumber, level, bound.length);
    if (buffer === undefined) break;
    bound.push(buffer);
  }
  return bound;
}

t.test('a level binds its own PCBs, then those of its function, then those of all functions', async (t) => {
  const pool = new PcbAllocator(10, 2);
  pool.setShare(0, 5, 2, 1);
  pool.setShare(1, 2, 1, 1);
  t.same([pool.getTotal(0), pool.getShared(0), pool.deviceShared], [5, 2, 3]);
  t.same(
    [0, 1].map((level) => pool.getAvailable(0, level)),
    [7, 6],
  );
  const bound = fill(pool, 0, 0);
  t.equal(bound.length, 7);
  t.same([pool.getInUse(0, 0), pool.getInUseFunctionShared(0), pool.getInUseDevice(0), pool.deviceUsed], [7, 2, 3, 3]);
  t.equal(fill(pool, 0, 1).length, 1, 'the other level still has its own');
  t.same(
    [0, 1].map((level) => fill(pool, 1, level).length),
    [1, 1],
    'and so have those of the other function',
  );
  t.equal(pool.freeCount, 0);
  t.equal(pool.findError(), undefined);
  for (const buffer of [...bound, ...bound]) pool.release(buffer);
  t.equal(pool.freeCount, 7, 'releasing twice is releasing once');
  t.equal(pool.findError(), undefined);
});

t.test('a callback for a freed PCB finds it free', async (t) => {
  const pool = new PcbAllocator(1, 1);
  const [buffer] = fill(pool, 0, 0);
  let found = false;
  pool.onFree = () => {
    found = pool.canBind(0, 1);
  };
  t.notOk(pool.canBind(0, 1));
  pool.release(buffer as PhysicalCollectBuffer);
  t.ok(found);
});

t.test('a share that shrinks below its use converges, and no PCB of it is given away twice', async (t) => {
  const pool = new PcbAllocator(8, 2);
  pool.setShare(0, 6, 0, 0);
  const bound = fill(pool, 0, 0, 6);
  pool.setShare(0, 2, 0, 0);
  pool.setShare(1, 6, 3, 3);
  t.equal(pool.deviceShared, 0);
  t.notOk(pool.canBind(0, 0), 'above its limit');
  t.equal(fill(pool, 1, 0).length, 2, 'as many as are free yet');
  for (const [index, buffer] of bound.entries()) {
    t.equal(pool.canBind(0, 0), index > 4, `function 0 after ${index} came back`);
    pool.release(buffer);
    if (index === 1) t.equal(fill(pool, 1, 1).length, 2, 'what came back goes to the level that was promised it');
    t.equal(pool.findError(), undefined);
  }
  t.equal(fill(pool, 1, 0).length, 1);
  t.equal(fill(pool, 1, 1).length, 1);
  t.equal(fill(pool, 0, 0).length, 2);
  t.equal(pool.freeCount, 0);
});

t.test('PCBs that are still bound do not enlarge the common pool', async (t) => {
  const pool = new PcbAllocator(6, 3);
  pool.setShare(0, 4, 0, 0);
  pool.setShare(1, 2, 0, 0);
  fill(pool, 0, 0, 4);
  pool.setShare(0, 0, 0, 0);
  t.equal(pool.deviceShared, 4);
  t.equal(fill(pool, 2, 0).length, 0, 'all that is free is promised to function 1');
  t.equal(fill(pool, 1, 0).length, 2);
});

t.test('lent PCBs are used by other functions, recalled by their own, and returned when released', async (t) => {
  const pool = new PcbAllocator(4, 2);
  pool.setShare(0, 4, 2, 2);
  t.notOk(pool.canBind(1, 0));
  pool.lend(0);
  const bound = fill(pool, 1, 0, 3);
  t.equal(bound.length, 3);
  t.equal(pool.getAvailable(0, 0), 1, 'a free PCB is available at once');
  t.equal(fill(pool, 0, 1).length, 1);
  t.notOk(pool.canBind(0, 1), 'the rest is still out');
  pool.release(bound[0] as PhysicalCollectBuffer);
  t.notOk(pool.canBind(1, 0), 'nothing is lent any more');
  t.equal(fill(pool, 0, 0).length, 1);
  t.equal(pool.findError(), undefined);
});

t.test('a level above its limit is not offset by another level below its own', async (t) => {
  const pool = new PcbAllocator(3, 2);
  pool.setShare(0, 1, 1, 0);
  const [out] = fill(pool, 0, 0, 1);
  pool.setShare(0, 1, 0, 1);
  t.ok(isOverused(pool, 2));
  t.equal(
    fill(pool, 1, 0).length,
    1,
    'one of the two that all share is still out, the other free one is promised to level 1',
  );
  t.equal(fill(pool, 0, 1).length, 1);
  pool.release(out);
  t.notOk(isOverused(pool, 2));
  t.equal(fill(pool, 1, 0).length, 1);
  t.same([pool.deviceUsed, pool.findError()], [2, undefined]);
});

t.test('what a level could bind is what it binds, also while its function lends', async (t) => {
  for (const isLent of [false, true]) {
    const pool = new PcbAllocator(6, 2);
    pool.setShare(0, 4, 1, 1);
    if (isLent) pool.lend(0);
    t.equal(pool.getAvailable(0, 0), 5, 'all but the one of the other level');
    t.equal(pool.getAvailable(1, 0), isLent ? 6 : 2);
    t.equal(fill(pool, 0, 0).length, 5);
    t.same([pool.getTotal(0), pool.getGuaranteed(0, 1), pool.findError()], [4, 1, undefined]);
  }
});

t.test('a PCB released while its share is lent is lent, too', async (t) => {
  const pool = new PcbAllocator(2, 2);
  pool.setShare(0, 2, 1, 1);
  const [buffer] = fill(pool, 0, 0, 1);
  pool.lend(0);
  t.ok(pool.lending);
  pool.release(buffer);
  t.equal(pool.findError(), undefined);
  t.equal(fill(pool, 1, 0).length, 2);
  pool.askBack(0);
  t.notOk(pool.lending);
  t.same([pool.borrowed, pool.findError()], [2, undefined]);
});
