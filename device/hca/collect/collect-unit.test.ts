// SPDX-License-Identifier: Apache-2.0
/**
 * The collect unit alone, with a pool and a VCB space (US 8,484,392 par. 87-90, 95-101, 108-114):
 * what each store does, which VCBs have level 1, and what a refused command leaves.
 */
import t from 'tap';
import {
  CANCEL_OFFSET,
  COMMAND_HEADER_BYTES,
  DATA_BYTES,
  DOORBELL_OFFSET,
  KICK_OFFSET,
  NOTIFY_OFFSET,
  PAGE_BYTES,
  STOP_OFFSET,
} from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getSendCommandQpn,
  getSendCommandSequence,
  setSendCommandCollectLength,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import { NO_VCB } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { CollectContext } from '../queues/collect-context.ts';
import { CollectUnit } from './collect-unit.ts';
import { PcbAllocator } from './pcb-allocator.ts';
import type { PhysicalCollectBuffer } from './physical-collect-buffer.ts';
import { VcbSpace } from './vcb-space.ts';

const VCBS = 4;
const PCBS = 2;

class Fixture {
  readonly space = new VcbSpace(1, VCBS, 16);
  readonly pool: PcbAllocator;
  readonly unit: CollectUnit;
  /** What the sink received, and the faults, in order. */
  readonly calls: unknown[][] = [];
  readonly kicked: PhysicalCollectBuffer[] = [];

  constructor(pcbs = PCBS, timeline?: Timeline) {
    this.pool = new PcbAllocator(pcbs, 1);
    const faults = {
      reportPage: (kind: FaultKind, page: number) => this.calls.push([`fault ${kind}`, page]),
      duringWrite: () => faults,
      endAccess: () => {},
    };
    this.unit = new CollectUnit({
      owner: { number: 0, faults, timeline } as unknown as UnderlyingFunction,
      pageCount: VCBS,
      dedicatedCount: 1,
      space: this.space,
      allocator: this.pool,
      sink: {
        kickSend: (buffer) => this.kicked.push(buffer),
        ringImplicit: (low, high) => this.calls.push(['implicit', low, high]),
        ringExplicit: (low, high) => this.calls.push(['explicit', low, high]),
        stop: (low) => this.calls.push(['stop', low]),
        notify: (low, high) => this.calls.push(['notify', low, high]),
        kickManagement: () => this.calls.push(['management']),
      },
    });
  }

  /** Stores a command of a header with this length field; its other bytes are `fill`. */
  store(page: number, fill = 1, lengthField = COMMAND_HEADER_BYTES, lengthBytes = COMMAND_HEADER_BYTES): void {
    const view = new DataView(new ArrayBuffer(COMMAND_HEADER_BYTES));
    new Uint8Array(view.buffer).fill(fill);
    setSendCommandCollectLength(view, 0, lengthField);
    for (let at = 0; at < lengthBytes; at += 8)
      this.unit.write(page * PAGE_BYTES + at, 8, view.getInt32(at, true), view.getInt32(at + 4, true));
  }

  /** Stores one word of 8 bytes of such a command. */
  storeWord(page: number, word: number): void {
    const view = new DataView(new ArrayBuffer(8));
    if (word === 0) setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES);
    this.unit.write(page * PAGE_BYTES + 8 * word, 8, view.getInt32(0, true), view.getInt32(4, true));
  }

  control(page: number, offset: number, low = 0, high = 0): void {
    this.unit.write(page * PAGE_BYTES + offset, 8, low, high);
  }
}

t.test('a whole command is kicked in its PCB, and its VCB is free again', async (t) => {
  const fixture = new Fixture();
  fixture.store(1, 7);
  t.equal(fixture.kicked.length, 1);
  t.match(fixture.kicked[0], { vcb: 1, qosLevel: 0, functionNumber: 0 });
  t.equal(fixture.kicked[0].bytes[COMMAND_HEADER_BYTES - 1], 7);
  t.same([fixture.unit.kicks, fixture.unit.inUseCount, fixture.pool.freeCount], [1, 0, PCBS - 1]);
  t.notOk(fixture.unit.isInUse(1));
  fixture.store(1, 8);
  t.equal(fixture.kicked.length, 2);
});

t.test('the VCBs from the sub-BAR on have level 1 (par. 58, 108)', async (t) => {
  for (const [count, levels] of [
    [0, [0, 0, 0, 0]],
    [1, [0, 0, 0, 1]],
    [3, [0, 1, 1, 1]],
    [4, [1, 1, 1, 1]],
  ] as const) {
    const fixture = new Fixture(VCBS);
    fixture.unit.levelOneCount = count;
    t.equal(fixture.unit.levelOneCount, count);
    for (let page = 0; page < VCBS; page++) fixture.store(page);
    t.same(
      fixture.kicked.map(({ qosLevel }) => qosLevel),
      levels,
    );
    fixture.unit.reset();
    t.equal(fixture.unit.levelOneCount, 0, 'a reset moves it to the end');
  }
});

t.test('without a PCB the identification is kept, and rings in place of the command (par. 99)', async (t) => {
  const fixture = new Fixture(1);
  fixture.unit.levelOneCount = 1;
  fixture.store(0, 1, COMMAND_HEADER_BYTES, 8);
  fixture.store(1, 2);
  fixture.store(3, 3);
  t.equal(fixture.kicked.length, 0);
  const head = new DataView(new ArrayBuffer(8));
  const calls = [2, 3].map((fill) => {
    new Uint8Array(head.buffer).fill(fill);
    setSendCommandCollectLength(head, 0, COMMAND_HEADER_BYTES);
    return ['implicit', head.getInt32(0, true), head.getInt32(4, true)];
  });
  t.same(fixture.calls, calls);
  t.same([[...fixture.unit.levelRefusals], fixture.unit.refusals, fixture.unit.kicks], [[1, 1], 2, 2]);
  t.equal(fixture.unit.inUseCount, 1, 'the first one still collects');
  fixture.unit.write(COMMAND_HEADER_BYTES - 8, 8, 0, 0);
  for (let at = 8; at < COMMAND_HEADER_BYTES - 8; at += 8) fixture.unit.write(at, 8, 0, 0);
  t.equal(fixture.kicked.length, 1);
});

t.test('a VCB number that another command holds refuses a command, and takes no PCB', async (t) => {
  const fixture = new Fixture();
  fixture.store(0, 1, COMMAND_HEADER_BYTES, 8);
  fixture.space.place(0, 8, VCBS);
  fixture.space.place(0, 0, VCBS);
  fixture.store(0, 1);
  t.equal(fixture.kicked.length, 1);
  const moved = new Fixture();
  moved.store(1, 1, COMMAND_HEADER_BYTES, 8);
  t.equal(moved.space.take(0, 1), -1, 'the number of a command under way');
  moved.space.place(0, 1, VCBS);
  moved.store(0, 2);
  t.same([moved.kicked.length, moved.pool.freeCount], [0, PCBS - 1], 'page 0 has the number of page 1 now');
  t.same(
    moved.calls.map(([name]) => name),
    ['implicit'],
  );
  t.equal(moved.space.getReserved(0), 0, 'a refused command holds no number');
  t.same([moved.unit.refusals, ...moved.unit.levelRefusals], [1, 0, 0], 'no lack of PCBs refused it');
  const full = new Fixture(1);
  full.store(0, 1, COMMAND_HEADER_BYTES, 8);
  full.store(1, 1, COMMAND_HEADER_BYTES, 8);
  t.equal(full.pool.freeCount, 0);
  full.control(0, CANCEL_OFFSET, 0, -1);
  t.equal(full.pool.freeCount, 1);
  full.control(1, CANCEL_OFFSET, 0, -1);
  full.store(1);
  t.equal(full.kicked.length, 1, 'the number of the refused command is free');
});

t.test('an impossible length frees the VCB and its PCB, and is reported', async (t) => {
  for (const lengthField of [COMMAND_HEADER_BYTES - 8, COMMAND_HEADER_BYTES + 4, 1000]) {
    const fixture = new Fixture(1);
    fixture.store(2, 1, lengthField, 8);
    t.same(fixture.calls, [[`fault ${FaultKind.COLLECT_BAD_LENGTH}`, 2]]);
    t.same([fixture.unit.isInUse(2), fixture.pool.freeCount, fixture.unit.kicks], [false, 1, 0]);
  }
});

t.test('the length of an earlier command in the PCB is not that of the next one', async (t) => {
  const fixture = new Fixture(1);
  fixture.store(0, 9);
  fixture.kicked[0].release();
  for (let at = 8; at < COMMAND_HEADER_BYTES; at += 8) fixture.unit.write(at, 8, 1, 1);
  t.equal(fixture.kicked.length, 1, 'its first 8 bytes are missing');
  const [buffer] = fixture.pool.buffers;
  t.equal(buffer.collectLength, 0);
  fixture.control(0, KICK_OFFSET);
  t.same([fixture.kicked.length, fixture.unit.kicks, fixture.pool.freeCount], [1, 2, 1], 'it names no queue pair');
});

t.test('control words: doorbell, stop, notification, kick, cancel', async (t) => {
  const fixture = new Fixture();
  fixture.control(0, DOORBELL_OFFSET, 1, 2);
  fixture.control(0, STOP_OFFSET, 3, 4);
  fixture.control(0, NOTIFY_OFFSET, 5, 6);
  fixture.control(0, KICK_OFFSET);
  fixture.control(0, CANCEL_OFFSET, 0, -1);
  t.same(fixture.calls, [
    ['explicit', 1, 2],
    ['stop', 3],
    ['notify', 5, 6],
  ]);
  t.same([fixture.unit.kicks, fixture.unit.cancels], [0, 0], 'nothing was there to kick or cancel');
  fixture.store(0, 4, COMMAND_HEADER_BYTES, 16);
  fixture.control(0, KICK_OFFSET);
  t.equal(fixture.kicked.length, 1);
  t.same([...fixture.kicked[0].bytes.subarray(14, 18)], [4, 4, 0, 0], 'what did not arrive is 0');
  fixture.store(1, 4, COMMAND_HEADER_BYTES, 16);
  fixture.control(1, CANCEL_OFFSET, 0, -1);
  t.same([fixture.unit.cancels, fixture.unit.isInUse(1), fixture.pool.freeCount], [1, false, PCBS - 1]);
  fixture.calls.length = 0;
  fixture.control(1, CANCEL_OFFSET, 0, 0);
  fixture.unit.write(DOORBELL_OFFSET, 4, 1, 0);
  fixture.control(3, DATA_BYTES);
  t.same(
    fixture.calls,
    [1, 0, 3].map((page) => [`fault ${FaultKind.COLLECT_RESERVED}`, page]),
  );
});

t.test('stores beyond the VCBs or across a boundary are reported; a command under way may end', async (t) => {
  const fixture = new Fixture();
  fixture.store(3, 1, COMMAND_HEADER_BYTES, 8);
  fixture.space.place(0, 0, 3);
  for (let at = 8; at < COMMAND_HEADER_BYTES; at += 8) fixture.unit.write(3 * PAGE_BYTES + at, 8, 1, 1);
  t.equal(fixture.kicked.length, 1, 'it began before the share shrank');
  fixture.store(3, 1, COMMAND_HEADER_BYTES, 8);
  fixture.unit.write(4, 8, 0, 0);
  fixture.unit.write(fixture.unit.dedicatedOffset + 16 * PAGE_BYTES, 8, 0, 0);
  const { COLLECT_OUT_OF_RANGE, COLLECT_RESERVED } = FaultKind;
  t.same(
    fixture.calls.map(([name]) => name),
    [COLLECT_OUT_OF_RANGE, COLLECT_RESERVED, COLLECT_OUT_OF_RANGE].map((kind) => `fault ${kind}`),
  );
});

t.test('choke refuses new commands only; a reset drops what is being collected', async (t) => {
  const fixture = new Fixture();
  fixture.store(0, 1, COMMAND_HEADER_BYTES, 8);
  fixture.unit.choke.active = true;
  fixture.store(1);
  for (let at = 8; at < COMMAND_HEADER_BYTES; at += 8) fixture.unit.write(at, 8, 1, 1);
  t.same([fixture.kicked.length, fixture.unit.choke.commands], [1, 1]);
  fixture.unit.choke.active = false;
  fixture.store(2, 1, COMMAND_HEADER_BYTES, 8);
  fixture.unit.reset();
  t.same(
    [fixture.unit.inUseCount, fixture.pool.freeCount, fixture.unit.kicks, fixture.unit.choke.commands],
    [0, PCBS - 1, 0, 0],
  );
  t.equal(fixture.unit.getCollecting(2), undefined);
});

t.test('choke counts each command once, whatever its stores are and however it ends', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    const fixture = new Fixture();
    const { choke } = fixture.unit;
    choke.active = true;
    let commands = 0;
    for (let round = 0; round < 30; round++) {
      const page = random.below(VCBS);
      const words = Array.from({ length: COMMAND_HEADER_BYTES / 8 }, (_, index) => index);
      random.shuffle(words);
      const isWhole = random.oneIn(2);
      commands++;
      for (const word of isWhole ? words : words.slice(0, random.between(1, words.length - 1)))
        for (let times = random.below(3); times >= 0; times--) {
          // The last word ends the command: a repetition of it would begin another one.
          if (times > 0 && word === words.at(-1)) continue;
          fixture.storeWord(page, word);
        }
      if (!isWhole) fixture.control(page, random.pick([KICK_OFFSET, CANCEL_OFFSET]), 0, -1);
      t.equal(choke.commands, commands, `seed ${seed}, round ${round}`);
    }
    fixture.storeWord(0, 1);
    choke.active = false;
    t.same([fixture.unit.inUseCount, fixture.calls, fixture.unit.cancels], [0, [], 0], `seed ${seed}`);
    fixture.store(0);
    t.equal(fixture.kicked.length, 1, `seed ${seed}: nothing of the choked command is left`);
    fixture.unit.reset();
    choke.active = true;
    fixture.store(0);
    t.equal(choke.commands, 1, `seed ${seed}: after a reset`);
  }
});

t.test('a timeline shows what was cancelled: queue pair, sequence, VCB (par. 90)', async (t) => {
  const cancelled: unknown[][] = [];
  const note: Timeline['note'] = (step, _function, ...numbers) => {
    if (step === Step.CANCEL) cancelled.push(numbers);
  };
  const fixture = new Fixture(2, { note });
  const head = new DataView(new ArrayBuffer(8));
  new Uint8Array(head.buffer).fill(7);
  setSendCommandCollectLength(head, 0, COMMAND_HEADER_BYTES);
  const names = [getSendCommandQpn(head, 0), getSendCommandSequence(head, 0)];
  for (const page of [0, 1, 2]) fixture.store(page, 7, COMMAND_HEADER_BYTES, 8);
  fixture.unit.write(3 * PAGE_BYTES, 4, -1, 0);
  for (const page of [0, 1, 2, 3]) fixture.control(page, CANCEL_OFFSET, 0, -1);
  t.same(
    cancelled,
    [
      [...names, 0],
      [...names, 1],
      [...names, NO_VCB],
      [0, 0, NO_VCB],
    ],
    'the third one found no PCB, and the last one has not said what it is',
  );
});

t.test('a page that its context gets again keeps the command that it collects', async (t) => {
  const fixture = new Fixture();
  const [one, other] = [1, 2].map((number) => new CollectContext(number, {} as UnderlyingFunction));
  fixture.unit.assign(1, one);
  fixture.store(1, 1, COMMAND_HEADER_BYTES, 8);
  fixture.unit.assign(1, one);
  t.same([fixture.unit.isInUse(1), one.pages, fixture.unit.getContext(1)], [true, 1, one]);
  fixture.unit.assign(1, other);
  t.same([fixture.unit.isInUse(1), one.pages, other.pages, fixture.unit.getContext(1)], [false, 0, 1, other]);
  fixture.store(2, 1, COMMAND_HEADER_BYTES, 8);
  fixture.unit.assign(2, undefined);
  t.ok(fixture.unit.isInUse(2), 'as does a page of the kernel');
});
