// SPDX-License-Identifier: Apache-2.0
/**
 * DoorbellBuffer and InboundQueue alone (US 9,069,485 par. 21, 67, 74, 90): both are rings, walked
 * here through several turns against a plain array.
 */
import t from 'tap';
import type { AdapterClock } from '../../host.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { DmaTiming } from '../function/dma-timing.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { DoorbellBuffer } from './doorbell-buffer.ts';
import { Inbound, InboundQueue } from './inbound-queue.ts';
import type { OverflowBuffer } from './overflow-buffer.ts';

const ENTRIES = 3;

function makeQueuePair(number: number): QueuePair {
  return { number, busReads: 0 } as QueuePair;
}

t.test('entries of the scheduler buffer stay in order around its end', async (t) => {
  const buffer = new DoorbellBuffer(ENTRIES);
  t.same([buffer.entries, buffer.free, buffer.used], [ENTRIES, ENTRIES, 0]);
  const model: { qp: QueuePair; sequence: number }[] = [];
  let next = 0;
  for (let round = 0; round < 4 * ENTRIES; round++) {
    while (buffer.free > 0) {
      const entry = { qp: makeQueuePair(next), sequence: 100 + next++ };
      model.push(entry);
      buffer.push(entry.qp, entry.sequence);
    }
    model.forEach(({ qp, sequence }, position) => {
      t.equal(buffer.queuePairAt(position), qp, `round ${round}, position ${position}`);
      t.equal(buffer.sequenceAt(position), sequence);
    });
    const serials: number[] = [];
    for (let count = 0; count <= round % ENTRIES; count++) {
      t.equal(buffer.nextToCheck, model[buffer.checking].qp);
      serials.push(buffer.serialToCheck);
      buffer.checking++;
    }
    for (const serial of serials) t.equal(buffer.take(serial), model.shift()?.qp);
    t.equal(buffer.take(serials[0]), undefined, 'none is outstanding');
    t.same([buffer.used, buffer.free], [model.length, ENTRIES - model.length]);
  }
});

t.test('an entry is replaced in its place, and a cleared buffer is empty', async (t) => {
  const buffer = new DoorbellBuffer(ENTRIES);
  for (let number = 0; number < ENTRIES; number++) buffer.push(makeQueuePair(number), number);
  const serial = buffer.serialToCheck;
  buffer.checking = 1;
  buffer.take(serial);
  buffer.push(makeQueuePair(ENTRIES), ENTRIES);
  const other = makeQueuePair(77);
  buffer.replace(2, other, 78);
  t.same([buffer.queuePairAt(2), buffer.sequenceAt(2)], [other, 78]);
  t.same(
    [0, 1].map((position) => buffer.sequenceAt(position)),
    [1, 2],
  );
  buffer.checking = 2;
  buffer.clear();
  t.same([buffer.used, buffer.checking, buffer.free], [0, 0, ENTRIES]);
  t.equal(buffer.queuePairAt(0), undefined);
});

t.test('an entry is removed at any place; its link check then completes for no other one', async (t) => {
  for (const place of [0, 1, 2, 3]) {
    const buffer = new DoorbellBuffer(4);
    const gone = makeQueuePair(9);
    for (let turn = 0; turn < 3; turn++) {
      buffer.push(gone, turn);
      const serial = buffer.serialToCheck;
      buffer.checking = 1;
      buffer.take(serial);
    }
    const serials: number[] = [];
    for (let number = 0; number < 4; number++) {
      buffer.push(makeQueuePair(number), 10 + number);
      if (number > 2) continue;
      serials.push(buffer.serialToCheck);
      buffer.checking++;
    }
    buffer.remove(place);
    const left = [0, 1, 2, 3].filter((number) => number !== place);
    t.same([buffer.used, buffer.checking, buffer.free], [3, place < 3 ? 2 : 3, 1]);
    t.same(
      left.map((_, position) => [buffer.queuePairAt(position).number, buffer.sequenceAt(position)]),
      left.map((number) => [number, 10 + number]),
    );
    for (const [number, serial] of serials.entries())
      t.equal(buffer.take(serial)?.number, number === place ? undefined : number, `${number} without ${place}`);
  }
});

t.test('the most spilled queue pair is sought from a position on, the first of equals', async (t) => {
  const buffer = new DoorbellBuffer(4);
  const spilled = [9, 2, 5, 5];
  for (let number = 0; number < 4; number++) buffer.push(makeQueuePair(number), number);
  const overflow = { spilledOf: (qp: QueuePair) => spilled[qp.number] } as OverflowBuffer;
  t.equal(buffer.findMostSpilled(0, 0, overflow), 0);
  t.equal(buffer.findMostSpilled(1, 0, overflow), 2);
  t.equal(buffer.findMostSpilled(1, 4, overflow), 2);
  t.equal(buffer.findMostSpilled(1, 5, overflow), -1, 'none has more');
});

t.test('arrivals keep their order around the end of the queue, and reads are counted', async (t) => {
  const inbound = new InboundQueue(2, 2, new DmaTiming({} as AdapterClock, {}));
  const qp = makeQueuePair(1);
  const buffer = { index: 7 } as PhysicalCollectBuffer;
  t.same([inbound.kind, inbound.length], [Inbound.NONE, 0]);
  for (let turn = 0; turn < 5; turn++) {
    inbound.post(qp, turn);
    inbound.read(Inbound.COMMAND, qp, turn + 50, buffer);
    t.ok(inbound.takesPosted, 'one of two');
    inbound.post(qp, turn + 100);
    t.notOk(inbound.takesPosted);
    t.ok(inbound.takesReads);
    inbound.read(Inbound.OVERFLOW_ENTRY, undefined, 0, undefined);
    t.notOk(inbound.takesReads);
    t.same([inbound.length, inbound.posted, inbound.reads, qp.busReads], [4, 2, 2, 1]);
    const shown: unknown[] = [];
    inbound.forEach((...entry) => {
      shown.push(entry);
    });
    t.same(shown, [
      [Inbound.POSTED, qp, turn, undefined],
      [Inbound.COMMAND, qp, turn + 50, 7],
      [Inbound.POSTED, qp, turn + 100, undefined],
      [Inbound.OVERFLOW_ENTRY, undefined, 0, undefined],
    ]);
    const found: unknown[] = [];
    for (; inbound.kind !== Inbound.NONE; inbound.pop())
      found.push([inbound.kind, inbound.queuePair, inbound.sequence, inbound.buffer]);
    t.same(found, [
      [Inbound.POSTED, qp, turn, undefined],
      [Inbound.COMMAND, qp, turn + 50, buffer],
      [Inbound.POSTED, qp, turn + 100, undefined],
      [Inbound.OVERFLOW_ENTRY, undefined, 0, undefined],
    ]);
    t.same([inbound.length, inbound.posted, inbound.reads, qp.busReads], [0, 0, 0, 0]);
    // Shifts the head, so that each turn wraps at another entry.
    inbound.post(qp, 0);
    inbound.pop();
  }
});
