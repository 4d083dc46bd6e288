// SPDX-License-Identifier: Apache-2.0
/**
 * VCB numbers: the runs of functions move while commands are being collected (US 8,484,392
 * par. 57-60, 70-71).
 */
import t from 'tap';
import { VcbSpace } from './vcb-space.ts';

t.test('the runs of functions start one behind the other, and the remaining numbers have no owner', async (t) => {
  const space = new VcbSpace(3, 8, 32);
  t.same(
    [0, 1, 2].map((functionNumber) => space.getBase(functionNumber)),
    [0, 8, 16],
  );
  t.equal(space.getCount(2), 8);
  t.equal(space.unallocated, 8);
  t.equal(new VcbSpace(34, 64).unallocated, 16384 - 34 * 64);
});

t.test('addresses follow the run: first VCB of level 1, and the bound', async (t) => {
  const space = new VcbSpace(2, 8, 32);
  const at = (divider: number) => [space.getLevelAddress(1, divider) / 4096, space.getEndAddress(1) / 4096];
  t.same(at(3 * 4096), [11, 16]);
  t.same(at(3 * 4096 - 1), [11, 16], 'a VCB has one level');
  t.same(at(2 * 4096 + 1), [11, 16]);
  t.same(at(0), [8, 16]);
  t.same(at(64 * 4096), [16, 16], 'no VCB of level 1');
  space.place(1, 20, 4);
  t.same(at(3 * 4096), [23, 24], 'the sub-BAR moves with the base');
  t.same(at(5 * 4096), [24, 24]);
});

t.test('a number in use stays with its page through a move', async (t) => {
  const space = new VcbSpace(2, 8, 32);
  t.equal(space.take(0, 7), 7);
  t.equal(space.take(0, 7), -1, 'once');
  space.place(0, 0, 4);
  t.equal(space.getReserved(0), 1);
  t.ok(space.isHeldByOther(1, 4, 4));
  t.notOk(space.isHeldByOther(1, 0, 7));
  t.notOk(space.isHeldByOther(0, 0, 8), 'its own are no hindrance');
  space.place(1, 4, 8);
  t.equal(space.take(1, 3), -1, 'even if it was given away');
  t.equal(space.take(1, 2), 6);
  space.free(0, 7);
  t.equal(space.getReserved(0), 0);
  t.equal(space.take(1, 3), 7);
  space.place(1, 12, 8);
  t.equal(space.getReserved(1), 2);
  space.place(1, 4, 8);
  t.equal(space.getReserved(1), 0, 'moved back');
});
