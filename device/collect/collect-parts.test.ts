// SPDX-License-Identifier: Apache-2.0
/**
 * Small parts of collecting alone: layout of the BAR, runs of VCBs at their borders, what the
 * allocator reports of borrowed and lent PCBs, and the options of write combining (US 8,484,392
 * par. 53-60).
 */
import t from 'tap';
import { CANCEL_OFFSET, DATA_BYTES, PAGE_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import { FaultKind, ManagementOpcode } from '../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../test-support/adapter-fixture.ts';
import { getCollectBarBytes, getDedicatedOffset } from './geometry.ts';
import { PcbAllocator } from './pcb-allocator.ts';
import { VcbSpace } from './vcb-space.ts';
import { findCombiningError } from './write-combining.ts';

t.test('dedicated buffers lie at the smallest power of two behind the VCBs, in the upper half', async (t) => {
  for (const [vcbs, pages] of [
    [1, 1],
    [2, 2],
    [3, 4],
    [4, 4],
    [5, 8],
    [64, 64],
    [65, 128],
  ] as const) {
    t.equal(getDedicatedOffset(vcbs), pages * PAGE_BYTES, `${vcbs} VCBs`);
    t.equal(getCollectBarBytes(vcbs), 2 * pages * PAGE_BYTES);
  }
});

t.test('a number outside the moved run is reserved until it is free, to the last one', async (t) => {
  const space = new VcbSpace(2, 4, 16);
  for (let page = 0; page < 4; page++) t.equal(space.take(1, page), 4 + page);
  space.place(1, 5, 2);
  t.equal(space.getReserved(1), 2, 'the numbers 4 and 7 lie outside of 5 and 6');
  for (const [vcb, reserved] of [
    [5, 2],
    [6, 2],
    [4, 1],
    [7, 0],
  ] as const) {
    space.free(1, vcb);
    t.equal(space.getReserved(1), reserved, `after ${vcb} is free`);
  }
  t.equal(space.take(0, 3), 3);
  t.ok(space.isHeldByOther(1, 3, 1));
  t.notOk(space.isHeldByOther(0, 3, 1));
  t.notOk(space.isHeldByOther(1, 4, 12));
  t.equal(space.unallocated, 10);
});

t.test('each function has its own accounts, and what is borrowed or lent is reported', async (t) => {
  const pool = new PcbAllocator(8, 3);
  pool.setShare(1, 3, 1, 1);
  pool.setShare(2, 4, 1, 2);
  t.same(
    [0, 1, 2].map((at) => [pool.getGuaranteed(at, 0), pool.getGuaranteed(at, 1), pool.getShared(at)]),
    [
      [0, 0, 0],
      [1, 1, 1],
      [1, 2, 1],
    ],
  );
  const bound = [0, 1, 2].map((vcb) => pool.bind(1, 0, vcb));
  t.same([pool.getInUse(1, 0), pool.getInUseFunctionShared(1), pool.getInUseDevice(1)], [3, 1, 1]);
  t.same([pool.getInUse(2, 0), pool.getInUseFunctionShared(2), pool.getInUseDevice(2)], [0, 0, 0]);
  t.same([pool.deviceUsed, pool.borrowed, pool.lending], [1, 0, false]);
  pool.setShare(0, 1, 1, 0);
  t.equal(pool.borrowed, 1, 'the only common PCB was given away while bound');
  for (const buffer of bound) if (buffer !== undefined) pool.release(buffer);
  t.same([pool.deviceUsed, pool.borrowed, pool.freeCount], [0, 0, 8]);
  t.equal(pool.getInUse(1, 0), 0);
  t.equal(pool.findError(), undefined);
});

t.test('options of write combining are within their ranges, and the message names the wrong one', async (t) => {
  for (const good of [
    { seed: 0 },
    { seed: 0xffffffff, lines: 1, holdPasses: 1 },
    { seed: 1, lines: 64, holdPasses: 1000 },
  ])
    t.equal(findCombiningError(good), undefined);
  for (const [bad, message] of [
    [{ seed: -1 }, 'option writeCombining.seed is -1; it must be 0 to 4294967295'],
    [{ seed: 2 ** 32 }, 'option writeCombining.seed is 4294967296; it must be 0 to 4294967295'],
    [{ seed: 0, lines: 0 }, 'option writeCombining.lines is 0; it must be 1 to 64'],
    [{ seed: 0, lines: 65 }, 'option writeCombining.lines is 65; it must be 1 to 64'],
    [{ seed: 0, lines: 1.5 }, 'option writeCombining.lines is 1.5; it must be 1 to 64'],
    [{ seed: 0, holdPasses: 0 }, 'option writeCombining.holdPasses is 0; it must be 1 to 1000'],
    [{ seed: 0, holdPasses: 1001 }, 'option writeCombining.holdPasses is 1001; it must be 1 to 1000'],
  ] as const)
    t.equal(findCombiningError(bad), message);
});

t.test('the dedicated buffer takes a cancel of 8 bytes with all ones, and nothing else behind its data', async (t) => {
  const fixture = new AdapterFixture({ adapter: { vcbCount: 8 } });
  const { access, driver } = fixture;
  const base = getDedicatedOffset(8);
  const works = () => driver.management.perform({ opcode: ManagementOpcode.QUERY_ADAPTER });
  access.writeCollect(base + 8, 8, 0x12345678, -1);
  access.writeCollect(base + CANCEL_OFFSET, 8, 0, 0xff000000);
  fixture.settle();
  t.same(fixture.allFaults(), {}, 'a half-written command is cancelled');
  t.doesNotThrow(works);
  access.writeCollect(base + CANCEL_OFFSET, 8, 0, 0xff000000);
  t.same(fixture.allFaults(), {}, 'a cancel of nothing has no effect');
  for (const [inPage, size, high] of [
    [CANCEL_OFFSET, 8, 0],
    [CANCEL_OFFSET, 4, 0xff000000],
    [DATA_BYTES, 8, 0xff000000],
  ] as const) {
    const before = fixture.faults(FaultKind.COLLECT_RESERVED);
    access.writeCollect(base + inPage, size, 0, high);
    fixture.settle();
    t.equal(fixture.faults(FaultKind.COLLECT_RESERVED), before + 1, `offset ${inPage}, ${size} bytes`);
  }
  t.doesNotThrow(works);
});
