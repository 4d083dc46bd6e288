// SPDX-License-Identifier: Apache-2.0
/** Copies of announced memory: what is compared, looked at again, forgotten, and their bounds. */
import t from 'tap';
import { FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { AnnouncedMemory, COPIES_MAX, REPORTS_MAX } from './announced-memory.ts';

const QP = { number: 5, faultObject: FaultObject.QP };
const OTHER = { number: 5, faultObject: FaultObject.QP };
const BYTES = 16;

function begin() {
  const machine = new InProcessMachine({ memoryBytes: 1 << 16 });
  const { underlying } = machine.device.functions[0];
  const { memory } = machine.hostAt(0);
  const announced = new AnnouncedMemory(underlying.dma, underlying.localTime);
  const at = (index: number): Uint8Array => {
    underlying.dma.at(memory.base + index * BYTES);
    const { buffer, byteOffset } = memory.view(memory.base + index * BYTES, BYTES);
    return new Uint8Array(buffer, byteOffset, BYTES);
  };
  const note = (index: number, subject = QP): void => {
    at(index % 100);
    announced.look(BYTES);
    announced.note('command', subject, index, BYTES);
  };
  return { announced, at, note };
}

t.test('differing bytes are reported once, with the first of them and their number', async (t) => {
  const { announced, at, note } = begin();
  note(3);
  const bytes = at(3);
  for (const offset of [4, 5, 11]) bytes[offset] = 0xff;
  t.equal(announced.take('command', QP, 3, bytes, BYTES), true);
  t.match(announced.reports, [{ kind: 'command', object: 5, index: 3, offset: 4, differing: 3, seen: 'fetch' }]);
  t.equal(announced.take('command', QP, 3, bytes, BYTES), false, 'the copy is gone');
  t.equal(announced.count, 1);
});

t.test('bytes that are not read, or in front of the first, do not count', async (t) => {
  const { announced, at, note } = begin();
  const bytes = at(1);
  note(1);
  bytes[BYTES - 1] = 1;
  t.equal(announced.take('command', QP, 1, bytes, BYTES - 1), false);
  note(1);
  bytes[0] = 1;
  t.equal(announced.take('command', QP, 1, bytes, BYTES, 1), false);
});

t.test('copies are told apart by object, kind and index', async (t) => {
  const { announced, at, note } = begin();
  note(1);
  const bytes = at(1);
  bytes[0] = 9;
  t.equal(announced.take('command', OTHER, 1, bytes, BYTES), false, 'an object of the same number');
  t.equal(announced.take('work request', QP, 1, bytes, BYTES), false);
  t.equal(announced.take('command', QP, 2, bytes, BYTES), false);
  t.equal(announced.has('command', QP, 1), true);
});

t.test('doubtful memory is looked at again until what was announced is there', async (t) => {
  const { announced, at } = begin();
  const bytes = at(2);
  announced.look(BYTES);
  announced.doubt('command', QP, 2, BYTES, (now) => now.getUint8(0) === 2);
  announced.lookAgain();
  bytes[1] = 1;
  announced.lookAgain();
  t.equal(announced.count, 0, 'something else is there');
  bytes[0] = 2;
  announced.lookAgain();
  announced.lookAgain();
  t.match(announced.reports, [{ index: 2, offset: 0, differing: 2, seen: 'later' }]);
});

t.test('an object that is reset, and a function that is, have announced nothing', async (t) => {
  for (const end of ['forget', 'reset'] as const) {
    const { announced, at, note } = begin();
    note(1);
    const bytes = at(1);
    announced.doubt('tail', QP, 1, BYTES, () => true);
    if (end === 'forget') announced.forget(QP);
    else announced.reset();
    bytes[0] = 1;
    announced.lookAgain();
    t.equal(announced.take('command', QP, 1, bytes, BYTES), false);
    t.equal(announced.count, 0, end);
  }
});

t.test('a function keeps so many copies and reports', async (t) => {
  const { announced, at, note } = begin();
  for (let index = 0; index < COPIES_MAX + 5; index++) note(index);
  t.equal(announced.has('command', QP, COPIES_MAX - 1), true);
  t.equal(announced.has('command', QP, COPIES_MAX), false);
  const changed = at(0).slice().fill(1);
  for (let index = 0; index < COPIES_MAX; index++) announced.take('command', QP, index, changed, BYTES);
  t.equal(announced.count, COPIES_MAX);
  t.equal(announced.reports.length, REPORTS_MAX);
  note(COPIES_MAX);
  t.equal(announced.has('command', QP, COPIES_MAX), true, 'there is room again');
});
