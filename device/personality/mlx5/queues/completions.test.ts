// SPDX-License-Identifier: Apache-2.0
/**
 * Completion queues at work: entries of both sizes, turns of the ring, overrun, arming by doorbell,
 * completion events, and doorbells of other pages. The entries are posted as the data path posts
 * them.
 */
import t from 'tap';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { ARM_CQ_OFFSET, UAR_PAGE_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { getCqErrorEqeCqn, getCqErrorEqeSyndrome } from '../../../../protocol/mlx5/gen/cq-error-eqe.gen.ts';
import { getCqcConsumerCounter, getCqcProducerCounter, getCqcStatus } from '../../../../protocol/mlx5/gen/cqc.gen.ts';
import {
  CommandOpcode,
  CqErrorSyndrome,
  CqeSize,
  EventType,
  QueueStatus,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Random } from '../../../random.ts';
import { PageAccess } from '../../../rig/machine/guest-memory-model.ts';
import { COMPLETION_VECTOR, CompletionFixture } from '../../../rig/mlx5/driver/completion-fixture.ts';
import type { CompletionQueueShape, Mlx5DriverCompletionQueue } from '../../../rig/mlx5/driver/completion-queue.ts';

const DATA_OFFSET = 0x20;
const CONTEXT_OFFSET = 0x10;
const TIMESTAMP_OFFSET = 0x30;
/** Unit of the offset in pages of 4096 bytes: a 64th. */
const OFFSET_UNIT_BYTES = 64;

const shapes: readonly (readonly [string, CompletionQueueShape])[] = [
  ['64 bytes', { logCqSize: 3 }],
  ['128 bytes', { logCqSize: 3, cqeSz: 1 }],
  ['128 bytes, padded', { logCqSize: 3, cqeSz: 2 }],
  ['one entry', { logCqSize: 0 }],
  ['several pages', { logCqSize: 7, pageOffset: 63 }],
  ['128 bytes, several pages', { logCqSize: 6, cqeSz: 1, pageOffset: 62 }],
  ['large pages', { logCqSize: 8, logPageSize: 1, pageOffset: 33 }],
];

/** CQN and syndrome of the errors that software has not seen. */
function takeErrors({ driver, errors }: CompletionFixture): number[][] {
  return driver
    .takeEvents(errors)
    .map(({ type, data }) => [type, getCqErrorEqeCqn(data, -DATA_OFFSET), getCqErrorEqeSyndrome(data, -DATA_OFFSET)]);
}

function query({ driver }: CompletionFixture, cq: Mlx5DriverCompletionQueue): DataView {
  return driver.expect(CommandOpcode.QUERY_CQ, { outputBytes: 0x110, fill: (view) => view.setUint32(8, cq.number) });
}

for (const [what, shape] of shapes)
  t.test(`entries go around the ring as far as software has taken them: ${what}`, async (t) => {
    const fixture = new CompletionFixture();
    const cq = fixture.create(shape);
    const random = new Random(11);
    const wanted: number[] = [];
    const found: number[] = [];
    for (let value = 1; value <= 9 * cq.entries; value++) {
      wanted.push(value);
      if (!fixture.post(cq, value)) t.fail(`entry ${value} is lost`);
      if (value % cq.entries !== 0 && random.below(4) !== 0) continue;
      found.push(...cq.take().map(({ byteCount }) => byteCount));
      cq.tell();
    }
    found.push(...cq.take().map(({ byteCount }) => byteCount));
    t.same(found, wanted, 'seed 11');
  });

t.test('an entry of 128 bytes is written in its last 64 bytes, or with zeros before them', async (t) => {
  for (const [cqeSz, left] of [
    [CqeSize.BYTES_128, 0xaa],
    [CqeSize.BYTES_128_PADDED, 0],
  ]) {
    const fixture = new CompletionFixture();
    const cq = fixture.create({ logCqSize: 2, cqeSz });
    const view = fixture.driver.memory.view(cq.pages[0], 3 * 128);
    for (let at = 0; at < view.byteLength; at++) if (at % 128 < 64) view.setUint8(at, 0xaa);
    fixture.post(cq, 7);
    fixture.post(cq, 8);
    for (let at = 0; at < 64; at++) {
      t.equal(view.getUint8(at), left);
      t.equal(view.getUint8(128 + at), left);
      t.equal(view.getUint8(256 + at), 0xaa, 'the next entry');
    }
    t.same(
      cq.take().map(({ byteCount }) => byteCount),
      [7, 8],
    );
  }
});

t.test('a full queue fails with an event, and nothing is overwritten', async (t) => {
  for (const [what, shape] of shapes) {
    const fixture = new CompletionFixture();
    const cq = fixture.create(shape);
    const values = Array.from({ length: cq.entries }, (_, index) => index + 1);
    t.ok(values.every((value) => fixture.post(cq, value)));
    cq.tell(cq.entries + 5);
    t.notOk(fixture.post(cq, 999), `${what}: a consumer index beyond the entries does not count`);
    t.notOk(fixture.post(cq, 1000));
    t.same(takeErrors(fixture), [[EventType.CQ_ERROR, cq.number, CqErrorSyndrome.OVERRUN]], `${what}: one event`);
    cq.tell(3);
    t.notOk(fixture.post(cq, 1001), 'it stays in error');
    t.same(
      cq.take().map(({ byteCount }) => byteCount),
      values,
    );
    const context = query(fixture, cq);
    t.equal(getCqcStatus(context, CONTEXT_OFFSET), QueueStatus.OVERFLOW);
    t.equal(getCqcConsumerCounter(context, CONTEXT_OFFSET), 0, `${what}: it counts what is taken no more`);
    const { faults } = fixture.driver.device.underlying;
    const start = (shape.pageOffset ?? 0) * 2 ** (shape.logPageSize ?? 0) * OFFSET_UNIT_BYTES;
    t.same([faults.counts[FaultKind.CQ_OVERRUN], faults.firstObject], [1, cq.number], `${what}: one fault`);
    t.equal(faults.firstAddressLow, (cq.pages[0] + start) % 2 ** 32, `${what}: of this ring`);
  }
});

t.test('the record of the index is read only when the queue looks full', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create({ logCqSize: 2 });
  const { dma } = fixture.driver.device.underlying;
  const readsOf = (value: number): number => {
    const before = dma.bytesRead;
    t.ok(fixture.post(cq, value));
    return dma.bytesRead - before;
  };
  t.same([1, 2, 3, 4].map(readsOf), [0, 0, 0, 0]);
  cq.take(3);
  cq.tell();
  t.same([5, 6, 7].map(readsOf), [4, 0, 0]);
  cq.take(1);
  cq.tell();
  t.same([8].map(readsOf), [4]);
});

t.test('an index goes neither back nor beyond the entries', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create({ logCqSize: 2 });
  const counters = (): number[] => {
    const view = query(fixture, cq);
    return [getCqcProducerCounter(view, CONTEXT_OFFSET), getCqcConsumerCounter(view, CONTEXT_OFFSET)];
  };
  for (let value = 0; value < 3; value++) fixture.post(cq, value);
  for (const [told, known] of [
    [0, 0],
    [4, 0],
    [0xffffff, 0],
    [2, 2],
    [1, 2],
    [3, 3],
  ]) {
    cq.tell(told);
    t.same(counters(), [3, known], `${told}`);
  }
});

t.test('a queue that software allows to overrun goes on, and fails no more', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create({ logCqSize: 2, oi: 1 });
  for (let value = 0; value < 10; value++) t.ok(fixture.post(cq, value));
  t.same(takeErrors(fixture), []);
  t.equal(cq.slot(8).getUint32(0x2c), 8);
  t.equal(cq.slot(7).getUint32(0x2c), 7);
});

t.test('an entry that cannot be written fails the queue', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  fixture.driver.memory.protect(cq.pages[0], 0x1000, PageAccess.READ_ONLY);
  t.notOk(fixture.post(cq, 1));
  t.same(takeErrors(fixture), [[EventType.CQ_ERROR, cq.number, CqErrorSyndrome.ACCESS]]);
  t.equal(getCqcStatus(query(fixture, cq), CONTEXT_OFFSET), QueueStatus.WRITE_FAILURE);
  const { counts } = fixture.driver.device.underlying.faults;
  t.same([counts[FaultKind.DMA_WRITE], counts[FaultKind.CQ_OVERRUN]], [1, 0], 'a fault of the bus');
});

t.test('an entry tells the time of the timer, when it is asked to', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  const queue = fixture.deviceQueue(cq);
  const { clock } = fixture.driver.machine;
  clock.advance(2 ** 33 + 5);
  const now = clock.now();
  for (const stamps of [true, false]) {
    queue.begin();
    if (stamps) queue.stamp();
    t.ok(queue.post(false));
  }
  t.same(
    [0, 1].map((index) => cq.slot(index).getBigUint64(TIMESTAMP_OFFSET)),
    [BigInt(now), 0n],
  );
});

t.test('counts of entries go beyond 24 bits', async (t) => {
  for (const start of [2 ** 24 - 4, 2 ** 32 - 4]) {
    const fixture = new CompletionFixture();
    const cq = fixture.create({ logCqSize: 3 });
    const queue = fixture.deviceQueue(cq);
    queue.producerCount = start;
    queue.consumed = start;
    cq.consumed = start;
    cq.tell();
    for (let value = 0; value < 24; value++) {
      cq.noteEvent();
      cq.arm();
      t.same(fixture.takeEvents(), [], 'nothing is there');
      t.ok(fixture.post(cq, value));
      t.same(fixture.takeEvents(), [cq.number], `${start} and ${value}`);
      cq.noteEvent();
      cq.arm();
      t.same(fixture.takeEvents(), [cq.number], 'the entry was not taken');
      t.equal(cq.take()[0]?.byteCount, value);
      cq.tell();
      // Software counts in 32 bits.
      cq.consumed %= 2 ** 32;
    }
  }
});

t.test('an armed queue raises one event, on the vector of its EQ', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  fixture.takeEvents();
  fixture.post(cq, 1);
  t.same(fixture.takeEvents(), [], 'not armed');
  cq.take();
  cq.arm();
  fixture.post(cq, 2);
  fixture.post(cq, 3);
  t.equal(fixture.interrupts(), 1);
  t.equal(fixture.interrupts(0), 0, `only vector ${COMPLETION_VECTOR}`);
  cq.arm();
  t.same(fixture.takeEvents(), [cq.number], 'the number of a request that was served is old');
  cq.arm();
  t.same(fixture.takeEvents(), [cq.number], 'an entry that was not taken raises the event at once');
  cq.take();
  cq.arm();
  t.same(fixture.takeEvents(), []);
  fixture.post(cq, 4);
  t.same(fixture.takeEvents(), [cq.number]);
});

t.test('a request for solicited entries', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  cq.arm({ solicited: true });
  fixture.post(cq, 1);
  t.same(fixture.takeEvents(), []);
  fixture.post(cq, 2, true);
  t.same(fixture.takeEvents(), [cq.number]);
  cq.take(1);
  cq.arm({ solicited: true });
  t.same(fixture.takeEvents(), [cq.number], 'a solicited entry is beyond the index');
  cq.take();
  cq.arm({ solicited: true });
  fixture.post(cq, 3);
  t.same(fixture.takeEvents(), [], 'the one before it was taken');
  cq.take();
  cq.arm();
  cq.arm({ solicited: true });
  fixture.post(cq, 4);
  t.same(fixture.takeEvents(), [cq.number], 'the stronger request stays');
});

t.test('a doorbell by two dwords; those of two pages do not mix', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  const other = fixture.driver.allocateUar();
  const at = (uar: number): number => uar * UAR_PAGE_BYTES + ARM_CQ_OFFSET;
  cq.arm({ asDwords: true });
  fixture.post(cq, 1);
  t.same(fixture.takeEvents(), [cq.number]);
  cq.take();
  // Another page stores between the two dwords: an index that would call for an event at once.
  fixture.driver.writeRegister(at(cq.uar), 1 * 2 ** 28 + cq.consumed);
  fixture.driver.writeRegister(at(other), 2 * 2 ** 28);
  fixture.driver.writeRegister(at(cq.uar) + 4, cq.number);
  fixture.driver.writeRegister(at(other) + 4, cq.number);
  t.same(fixture.takeEvents(), []);
  fixture.post(cq, 2);
  t.same(fixture.takeEvents(), [cq.number]);
});

t.test('doorbells of another page, of no queue and of other commands do nothing', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  const [device] = fixture.driver.device.functions;
  const other = fixture.driver.allocateUar();
  cq.arm({ uar: other });
  cq.arm({ number: cq.number + 1 });
  cq.arm({ number: 0xffffff });
  cq.arm({ command: 2 });
  t.equal(device.strayDoorbells, 4);
  fixture.post(cq, 1);
  t.same(fixture.takeEvents(), []);
  const random = new Random(7);
  for (let round = 0; round < 2000; round++) {
    const offset = other * UAR_PAGE_BYTES + random.pick([ARM_CQ_OFFSET, ARM_CQ_OFFSET + 4, random.below(4096)]);
    const size = random.pick([1, 2, 4, 8]);
    fixture.driver.port.writeRegister(offset, size, random.next() | 0, random.next() | 0);
    const number = random.pick([cq.number, random.below(16)]);
    cq.arm({ uar: other, number, asDwords: random.below(2) === 0 });
  }
  fixture.driver.machine.runUntilIdle();
  t.same(fixture.takeEvents(), [], 'seed 7: a hostile page does not reach the queue of another');
});

t.test('completions that a host wants lost are never written', async (t) => {
  const fixture = new CompletionFixture();
  const cq = fixture.create();
  const { planted } = fixture.driver.device.hca;
  planted.loseCompletions(2, 0);
  cq.arm();
  for (let value = 1; value <= 3; value++) t.ok(fixture.post(cq, value), 'the QP does not notice');
  t.same(
    cq.take().map(({ byteCount }) => byteCount),
    [3],
  );
  t.same(fixture.takeEvents(), [cq.number], 'one event, of the entry that was written');
});
