// SPDX-License-Identifier: Apache-2.0
/**
 * Small parts of collecting alone: layout of the BAR, runs of VCBs at their borders, what the
 * allocator reports of borrowed and lent PCBs, and the options of write combining (US 8,484,392
 * par. 53-60).
 */
import t from 'tap';
import {
  CANCEL_OFFSET,
  COMMAND_HEADER_BYTES,
  COMMAND_MAX_BYTES,
  DATA_BYTES,
  KICK_OFFSET,
  PAGE_BYTES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { setSendCommandCollectLength } from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import type { FaultLog } from '../function/fault-log.ts';
import { isCommandLength } from './collected-command.ts';
import { DedicatedCollectBuffer } from './dedicated-collect-buffer.ts';
import { getCollectBarBytes, getDedicatedOffset } from './geometry.ts';
import { PcbAllocator } from './pcb-allocator.ts';
import { PcbState, PhysicalCollectBuffer } from './physical-collect-buffer.ts';
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

t.test('PCBs in use are counted for each level of each function', async (t) => {
  const common = new PcbAllocator(8, 3);
  const inUse = () => [0, 1, 2].map((at) => [common.getInUse(at, 0), common.getInUse(at, 1)]);
  const levels = [
    [0, 1],
    [1, 0],
    [1, 1],
    [1, 1],
    [2, 1],
  ].map(([at, level]) => common.bind(at, level, 0) as PhysicalCollectBuffer);
  t.same(inUse(), [
    [0, 1],
    [1, 2],
    [0, 1],
  ]);
  for (const buffer of levels.slice(0, 3)) common.release(buffer);
  t.same(inUse(), [
    [0, 0],
    [0, 1],
    [0, 1],
  ]);
  for (const buffer of levels) common.release(buffer);
  t.equal(common.findError(), undefined);
});

t.test('a command has its header and at most the bytes of a PCB, in whole words', async (t) => {
  for (const [length, isPossible] of [
    [COMMAND_HEADER_BYTES - 8, false],
    [COMMAND_HEADER_BYTES, true],
    [COMMAND_HEADER_BYTES + 4, false],
    [COMMAND_MAX_BYTES, true],
    [COMMAND_MAX_BYTES + 8, false],
  ] as const)
    t.equal(isCommandLength(length), isPossible, `${length} bytes`);
});

t.test('a buffer of no pool has no VCB, and its release does nothing', async (t) => {
  const buffer = new PhysicalCollectBuffer(0);
  t.equal(buffer.vcb, -1);
  buffer.open();
  buffer.release();
  t.equal(buffer.state, PcbState.COLLECTING);
});

/** A dedicated buffer that keeps its command until `release`. */
function makeDedicated() {
  const faults: FaultKind[] = [];
  const kicked: DedicatedCollectBuffer[] = [];
  const log = { reportPage: (kind: FaultKind) => faults.push(kind) } as unknown as FaultLog;
  const dedicated = new DedicatedCollectBuffer(log, (buffer) => kicked.push(buffer));
  const write = (inPage: number, sizeBytes = 8, low = 0, high = 0): void =>
    dedicated.write(0, inPage, inPage, sizeBytes, low, high);
  /** The first 8 bytes of a command with this length field. */
  const begin = (length: number): void => {
    const view = new DataView(new ArrayBuffer(8));
    setSendCommandCollectLength(view, 0, length);
    write(0, 8, view.getInt32(0, true), view.getInt32(4, true));
  };
  return { dedicated, faults, kicked, write, begin };
}

t.test('the dedicated buffer keeps a command that executes, whatever software stores', async (t) => {
  const { dedicated, faults, kicked, write, begin } = makeDedicated();
  begin(COMMAND_HEADER_BYTES);
  write(KICK_OFFSET, 4);
  t.same([kicked.length, dedicated.state], [0, PcbState.COLLECTING], 'a kick has 8 bytes');
  t.same(faults.splice(0), [FaultKind.COLLECT_RESERVED]);
  write(KICK_OFFSET);
  t.same([kicked.length, dedicated.state], [1, PcbState.KICKED]);
  write(CANCEL_OFFSET, 8, 0, -1);
  t.equal(dedicated.state, PcbState.KICKED, 'a cancel comes too late');
  write(8, 8, 0x55, 0x55);
  t.same(faults.splice(0), [FaultKind.COLLECT_RESERVED]);
  t.equal(kicked[0].view.getUint8(8), 0);
  dedicated.release();
  begin(COMMAND_HEADER_BYTES + 4);
  t.same(faults, [FaultKind.COLLECT_BAD_LENGTH]);
  t.equal(dedicated.state, PcbState.FREE, 'an impossible length frees it');
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
