// SPDX-License-Identifier: Apache-2.0
/**
 * Completion queues: validity of CQEs, full queues, overrun (docs/PROGRAMMING.md, completion
 * queues; docs/HAZARDS.md, hazards 33 and 34).
 */
import t from 'tap';
import {
  COMPLETION_ENTRY_SEQUENCE_OFFSET,
  getCompletionEntryQpn,
  getCompletionEntrySequence,
} from '../../../protocol/layout/gen/completion-entry.gen.ts';
import {
  COMPLETION_QUEUE_RECORD_SIZE,
  setCompletionQueueRecordConsumed,
} from '../../../protocol/layout/gen/completion-queue-record.gen.ts';
import { decodeCqAttributes, newCqAttributes } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CompletionStatus,
  EventType,
  FaultKind,
  ManagementOpcode,
  QpState,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../../rig/driver/completion-queue.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { AccessKind } from '../../rig/machine/access-log.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };

function queryCq(fixture: AdapterFixture, cq: DriverCompletionQueue) {
  const { payload } = fixture.driver.management.perform({ opcode: ManagementOpcode.QUERY_CQ, objectNumber: cq.cqn });
  return decodeCqAttributes(payload, 0, newCqAttributes());
}

t.test('hazard 34: the body of a CQE is visible before its sequence word', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  const { sendCq } = qp.parts;
  let seen = 0;
  fixture.host.onBody = (address, lengthBytes) => {
    if (address !== sendCq.buffer.slotAddress(seen)) return;
    t.equal(lengthBytes, COMPLETION_ENTRY_SEQUENCE_OFFSET);
    t.equal(getCompletionEntrySequence(sendCq.buffer.slot(seen), 0), 0, 'not valid yet');
    t.equal(getCompletionEntryQpn(sendCq.buffer.slot(seen), 0), qp.qpn, 'the body is');
    seen++;
  };
  for (let count = 0; count < 5; count++) qp.post(NOP);
  fixture.settle();
  t.equal(seen, 5);
  t.equal(sendCq.drain().length, 5);
  fixture.finish();
});

t.test('hazard 34: a queue of any size wraps many times, and each CQE is valid', async (t) => {
  for (const entriesLog2 of [0, 1, 3]) {
    const fixture = new AdapterFixture();
    const sendCq = fixture.createCompletionQueue({ entriesLog2 });
    const qp = fixture.createQueuePair({ sendCq });
    for (let count = 0; count < 100; count++) {
      qp.post(NOP);
      const entry = sendCq.take();
      if (entry.queueSequence !== count) t.fail(`${entry.queueSequence} instead of ${count}, 2^${entriesLog2} entries`);
      t.notOk(sendCq.ready, 'entries of the last lap are not valid');
    }
    const attributes = queryCq(fixture, sendCq);
    t.equal(attributes.producerCount, 100);
    t.equal(attributes.error, 0);
    fixture.finish();
  }
});

t.test(
  'hazard 33: a full queue accepts no CQE: one error event, no overwriting, the queue pair in error',
  async (t) => {
    ledger(t, '10.8.2.2', 'A CQ that overflows goes into error with one event and nothing is overwritten');
    const fixture = new AdapterFixture();
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 2 });
    const qp = fixture.createQueuePair({ sendCq });
    for (let count = 0; count < 4; count++) qp.post(NOP);
    fixture.settle();
    t.same(fixture.asynchronous.walk(), [], 'just full is no error');
    const before = fixture.access.view(sendCq.buffer.address, 256);
    const entries = new Uint8Array(before.buffer.slice(before.byteOffset, before.byteOffset + 256));
    for (let count = 0; count < 3; count++) qp.post(NOP);
    fixture.settle();
    const events = fixture.asynchronous.walk();
    t.same(
      events.filter(({ eventType }) => eventType === EventType.CQ_ERROR).map(({ objectNumber }) => objectNumber),
      [sendCq.cqn],
      'one CQ error event',
    );
    t.same(
      events.filter(({ eventType }) => eventType === EventType.QP_FATAL).map(({ objectNumber }) => objectNumber),
      [qp.qpn],
    );
    t.equal(fixture.faults(FaultKind.CQ_OVERRUN), 1);
    t.equal(qp.query().state, QpState.ERR);
    t.equal(queryCq(fixture, sendCq).error, 1);
    t.same(new Uint8Array(before.buffer, before.byteOffset, 256), entries, 'nothing was overwritten');
    sendCq.drain();
    qp.post(NOP, 'doorbell');
    fixture.settle();
    t.notOk(sendCq.ready, 'it stays in error');
    t.equal(fixture.asynchronous.walk().length, 0, 'and says so once');
    fixture.proveItWorks();
    fixture.finish();
  },
);

t.test('hazard 33: an error of a shared queue reaches its other queue pairs when they next complete', async (t) => {
  const fixture = new AdapterFixture();
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 1 });
  const [first, second] = [fixture.createQueuePair({ sendCq }), fixture.createQueuePair({ sendCq })];
  for (let count = 0; count < 3; count++) first.post(NOP);
  fixture.settle();
  t.equal(first.query().state, QpState.ERR);
  t.equal(second.query().state, QpState.RTS);
  second.post(NOP);
  fixture.settle();
  t.equal(second.query().state, QpState.ERR);
  fixture.finish();
});

t.test('an impossible consumer count is ignored', async (t) => {
  const fixture = new AdapterFixture();
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 2 });
  const qp = fixture.createQueuePair({ sendCq });
  for (let count = 0; count < 4; count++) qp.post(NOP);
  fixture.settle();
  setCompletionQueueRecordConsumed(fixture.access.view(sendCq.recordAddress, COMPLETION_QUEUE_RECORD_SIZE), 0, 77);
  qp.post(NOP);
  fixture.settle();
  t.equal(queryCq(fixture, sendCq).error, 1, 'the queue counts as full');
  fixture.finish();
});

for (const [looks, error] of [
  [1, 0],
  [2, 1],
]) {
  t.test(`an impossible consumer count is read ${looks} times`, async (t) => {
    const fixture = new AdapterFixture();
    const sendCq = fixture.createCompletionQueue({ entriesLog2: 1 });
    const qp = fixture.createQueuePair({ sendCq });
    const { host } = fixture;
    const read = host.readMemory.bind(host);
    let torn = looks;
    host.readMemory = (at, lengthBytes, target, offset) => {
      const done = read(at, lengthBytes, target, offset);
      if (at.value === sendCq.recordAddress && torn > 0) {
        torn--;
        target[offset + 2] = 0xff;
      }
      return done;
    };
    for (let count = 0; count < 2; count++) qp.post(NOP);
    sendCq.take();
    qp.post(NOP);
    fixture.settle();
    t.equal(torn, 0, 'it was looked at');
    t.equal(queryCq(fixture, sendCq).error, error);
    fixture.finish();
  });
}

t.test('the record is read only when the queue looks full', async (t) => {
  const fixture = new AdapterFixture();
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 4 });
  const qp = fixture.createQueuePair({ sendCq });
  const mark = fixture.host.log.count;
  for (let count = 0; count < 16; count++) {
    qp.post(NOP);
    sendCq.take();
  }
  const reads = fixture.host.log
    .since(mark)
    .filter(({ kind, address }) => kind === AccessKind.READ && address === sendCq.recordAddress);
  t.equal(reads.length, 0);
  fixture.finish();
});

t.test('a queue whose memory cannot be written fails like a full one', async (t) => {
  const fixture = new AdapterFixture();
  const sendCq = fixture.createCompletionQueue();
  const qp = fixture.createQueuePair({ sendCq });
  fixture.host.memory.protect(sendCq.buffer.address, 64, 1);
  qp.post(NOP);
  fixture.settle();
  const events = fixture.asynchronous.walk();
  t.ok(events.some(({ eventType, objectNumber }) => eventType === EventType.CQ_ERROR && objectNumber === sendCq.cqn));
  t.equal(fixture.faults(FaultKind.DMA_WRITE), 1);
  t.equal(qp.query().state, QpState.ERR);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('send and receive completions of one queue pair can share a queue', async (t) => {
  const fixture = new AdapterFixture();
  const cq = fixture.createCompletionQueue({ entriesLog2: 6 });
  const { sender, to } = fixture.createPair();
  const self = fixture.createQueuePair({ sendCq: cq, port: 1 });
  const handle = fixture.handleTo(1, 1);
  fixture.postReceive(self, 40);
  self.post({ remoteQpn: self.qpn, qkey: self.qkey, addressHandle: handle });
  fixture.settle();
  t.same(
    cq.drain().map(({ receive, status }) => [receive, status]),
    [
      [0, CompletionStatus.SUCCESS],
      [1, CompletionStatus.SUCCESS],
    ],
    'a datagram to oneself: sent, then received',
  );
  sender.post(to());
  fixture.finish();
});

t.test('CQEs carry the local time of their posting', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  fixture.machine.clock.advance(5_000_000_000);
  qp.post(NOP);
  t.equal(qp.parts.sendCq.take().timestamp, 5_000_000_000);
  fixture.access.writeRegister(CSR.LOCAL_TIME, 8, 77, 3);
  fixture.machine.clock.advance(23);
  qp.post(NOP);
  t.equal(qp.parts.sendCq.take().timestamp, 3 * 2 ** 32 + 100);
  fixture.finish();
});
