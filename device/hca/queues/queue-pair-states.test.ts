// SPDX-License-Identifier: Apache-2.0
/**
 * Queue pair states: legal and illegal changes, flushing, draining, restart (IBTA 10.3.1;
 * docs/PROGRAMMING.md, queue pairs).
 */
import t from 'tap';
import {
  CompletionStatus,
  EventType,
  FaultKind,
  ManagementStatus,
  QpMask,
  QpState,
  qpStateName,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';

const GRH = 40;
const NOP = { header: { opcode: SendOpcode.NOP } };
const { FLUSHED, SUCCESS } = CompletionStatus;
const { RESET, INIT, RTR, RTS, SQD, SQE, ERR } = QpState;
const { STATE, PKEY_INDEX, PORT, QKEY, SEND_PSN } = QpMask;

/**
 * Attributes that each legal change of a datagram QP requires. Every other change is illegal,
 * except to RESET and ERR (IBTA table 92 and the following ones).
 */
const legal = new Map<number, Map<number, number>>([
  [RESET, new Map([[INIT, PKEY_INDEX | PORT | QKEY]])],
  [
    INIT,
    new Map([
      [INIT, 0],
      [RTR, 0],
    ]),
  ],
  [RTR, new Map([[RTS, SEND_PSN]])],
  [
    RTS,
    new Map([
      [RTS, 0],
      [SQD, 0],
    ]),
  ],
  [
    SQD,
    new Map([
      [SQD, 0],
      [RTS, 0],
    ]),
  ],
  [SQE, new Map([[RTS, 0]])],
  [ERR, new Map()],
]);
const ALL_STATES = [RESET, INIT, RTR, RTS, SQD, SQE, ERR];

/** A new queue pair in a given state. */
function queuePairIn(fixture: AdapterFixture, state: number): DriverQueuePair {
  const qp = fixture.createQueuePair({ state: 'reset' });
  if (state === RESET) return qp;
  if (state === ERR) {
    qp.toError();
    return qp;
  }
  qp.toInit();
  if (state === INIT) return qp;
  qp.toReadyToReceive();
  if (state === RTR) return qp;
  qp.toReadyToSend();
  if (state === SQD) qp.change({ attributeMask: STATE, state: SQD });
  if (state === SQE) {
    qp.post({ header: { opcode: 0x77 } });
    qp.parts.sendCq.take();
  }
  return qp;
}

t.test('every change of state is allowed or refused as the specification says', async (t) => {
  const fixture = new AdapterFixture({ memoryBytes: 32 * 1024 * 1024 });
  for (const from of ALL_STATES) {
    for (const to of ALL_STATES) {
      const qp = queuePairIn(fixture, from);
      const change = `${qpStateName(from)} to ${qpStateName(to)}`;
      t.equal(qp.query().state, from, `${change}: it is in the first`);
      const required = to === RESET || to === ERR ? 0 : legal.get(from)?.get(to);
      const attributes = { attributeMask: STATE | (required ?? 0), state: to, port: 1, qkey: 7, sendPsn: 9 };
      const { status } = qp.modify(attributes);
      t.equal(status, required === undefined ? ManagementStatus.BAD_STATE : ManagementStatus.OK, change);
      t.equal(qp.query().state, required === undefined ? from : to, change);
    }
  }
  fixture.finish();
});

t.test('a required attribute that is missing is a bad field, and the state stays', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair({ state: 'reset' });
  const required = [PKEY_INDEX, PORT, QKEY];
  for (const missing of required) {
    const attributeMask = required.filter((bit) => bit !== missing).reduce((mask, bit) => mask | bit, STATE as number);
    t.equal(
      qp.modify({ attributeMask, state: INIT, port: 1 }).status,
      ManagementStatus.BAD_FIELD,
      `without 0x${missing.toString(16)}`,
    );
    t.equal(qp.query().state, RESET);
  }
  qp.toInit();
  qp.toReadyToReceive();
  t.equal(qp.modify({ attributeMask: STATE, state: RTS }).status, ManagementStatus.BAD_FIELD, 'without SEND_PSN');
  t.equal(qp.query().state, RTR);
  fixture.finish();
});

t.test('attributes are kept as they were set', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair({ state: 'reset' });
  qp.start({ port: 2, qkey: 0x89abcdef, sendPsn: 0x123456 });
  t.match(qp.query(), { state: RTS, port: 2, qkey: 0x89abcdef, sendPsn: 0x123456, pkeyIndex: 0 });
  qp.change({ attributeMask: QKEY, qkey: 0x11 });
  t.equal(qp.query().qkey, 0x11);
  fixture.finish();
});

t.test('a change to ERR flushes all outstanding work, in order, once', async (t) => {
  let partlySent = 0;
  for (let steps = 0; steps < 8; steps++) {
    const fixture = new AdapterFixture({ budget: 10 });
    const { sender, to } = fixture.createPair({ sender: { sendEntriesLog2: 5, receiveEntriesLog2: 5 } });
    for (let count = 0; count < 20; count++) sender.post(to({ signaled: false }), 'slot');
    for (let count = 0; count < 12; count++) fixture.postReceive(sender, GRH);
    sender.ring();
    for (let step = 0; step < steps; step++) fixture.machine.step();
    sender.toError();
    fixture.settle();
    const entries = sender.parts.sendCq.drain();
    const numbers = (receive: number) =>
      entries.filter((entry) => entry.receive === receive).map(({ queueSequence }) => queueSequence);
    const first = numbers(0)[0] ?? 20;
    if (first > 0 && first < 20) partlySent++;
    t.ok(entries.every(({ status }) => status === FLUSHED));
    t.same(
      numbers(0),
      Array.from({ length: 20 - first }, (_, index) => first + index),
      `sends, after ${steps} steps`,
    );
    t.same(
      numbers(1),
      Array.from({ length: 12 }, (_, index) => index),
      `receives, after ${steps} steps`,
    );
    sender.toError();
    fixture.settle();
    t.notOk(sender.parts.sendCq.ready, 'ERR again flushes nothing again');
    fixture.finish();
  }
  t.ok(partlySent > 0, 'sometimes some were sent before');
});

t.test('work posted in ERR is flushed at the next doorbell', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  qp.toError();
  qp.post(NOP, 'collect');
  t.equal(qp.parts.sendCq.take().status, FLUSHED);
  qp.post(NOP, 'doorbell');
  t.equal(qp.parts.sendCq.take().status, FLUSHED);
  fixture.postReceive(qp, GRH);
  fixture.postReceive(qp, GRH);
  fixture.settle();
  t.notOk(qp.parts.sendCq.ready, 'receives wait for a doorbell');
  qp.ring(0x4321);
  fixture.settle();
  t.same(
    qp.parts.sendCq.drain().map(({ status, receive, queueSequence }) => [status, receive, queueSequence]),
    [
      [FLUSHED, 1, 0],
      [FLUSHED, 1, 1],
    ],
  );
  fixture.finish();
});

t.test('RESET empties both queues without completions and starts numbers at zero', async (t) => {
  const fixture = new AdapterFixture({ budget: 1 });
  const { sender, receiver, to } = fixture.createPair();
  for (let round = 0; round < 5; round++) {
    for (let count = 0; count < 10; count++) sender.post(to(), 'slot');
    for (let count = 0; count < 5; count++) fixture.postReceive(sender, GRH);
    sender.ring();
    for (let step = 0; step < round; step++) fixture.machine.step();
    sender.toReset();
    fixture.settle();
    sender.parts.sendCq.drain();
    t.equal(sender.query().state, RESET);
    sender.start({ port: 1, qkey: 0x1234 });
    fixture.postReceive(receiver, GRH);
    sender.post(to());
    fixture.settle();
    const entries = sender.parts.sendCq.drain();
    t.same(
      entries.map(({ status, queueSequence }) => [status, queueSequence]),
      [[SUCCESS, 0]],
      `round ${round}`,
    );
  }
  fixture.finish();
});

t.test('commands and doorbells that arrive for a queue pair in RESET or INIT do nothing', async (t) => {
  const fixture = new AdapterFixture();
  for (const state of ['reset', 'init', 'rtr'] as const) {
    const qp = fixture.createQueuePair({ state });
    const before = fixture.faults(FaultKind.COMMAND_BAD_QP);
    qp.post(NOP, 'collect');
    qp.ring();
    fixture.settle();
    t.notOk(qp.parts.sendCq.ready, state);
    t.equal(fixture.faults(FaultKind.COMMAND_BAD_QP), before + 2, `${state}: counted`);
  }
  fixture.finish();
});

t.test('sends wait in SQD and go on back in RTS; the drained queue posts an event on request', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  for (let count = 0; count < 3; count++) fixture.postReceive(receiver, GRH);
  sender.post(to());
  sender.change({ attributeMask: STATE | QpMask.SQD_NOTIFY, state: SQD, enableSqdNotify: 1 });
  fixture.settle();
  const drained = fixture.asynchronous.walk();
  t.same(
    drained.map(({ eventType, objectNumber }) => [eventType, objectNumber]),
    [[EventType.SEND_QUEUE_DRAINED, sender.qpn]],
  );
  t.equal(sender.parts.sendCq.drain().length, 1, 'the command posted before is executed');
  sender.post(to(), 'collect');
  sender.post(to(), 'doorbell');
  fixture.settle();
  t.notOk(sender.parts.sendCq.ready, 'what comes in SQD waits');
  sender.change({ attributeMask: STATE, state: RTS });
  fixture.settle();
  t.same(
    sender.parts.sendCq.drain().map(({ status }) => status),
    [SUCCESS, SUCCESS],
  );
  t.equal(receiver.parts.receiveCq.drain().length, 3);
  fixture.finish();
});

t.test('receiving goes on in SQE and SQD', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, to } = fixture.createPair();
  for (const state of [SQE, SQD]) {
    const receiver = queuePairIn(fixture, state);
    fixture.postReceive(receiver, GRH);
    sender.post(to({ remoteQpn: receiver.qpn, qkey: 0x1000, addressHandle: fixture.handleTo(1, 1) }));
    fixture.settle();
    t.ok(
      receiver.parts.receiveCq.drain().some(({ receive, status }) => receive === 1 && status === SUCCESS),
      qpStateName(state),
    );
  }
  fixture.finish();
});

t.test('a queue pair can be destroyed at any time and leaves nothing behind', async (t) => {
  for (let steps = 0; steps < 6; steps++) {
    const fixture = new AdapterFixture({ budget: 1 });
    const { sender, receiver, to } = fixture.createPair({ sender: { sendEntriesLog2: 6 } });
    for (let count = 0; count < 40; count++) sender.post(to(), count % 2 === 0 ? 'slot' : 'collect');
    sender.ring();
    for (let step = 0; step < steps; step++) fixture.machine.step();
    sender.destroy();
    const mark = fixture.host.log.count;
    const { base, lengthBytes } = fixture.host.memory;
    fixture.settle();
    const cqAddress = sender.parts.sendCq.buffer.address;
    const late = fixture.host.log
      .effectsSince(mark)
      .filter(({ address }) => address >= cqAddress && address < cqAddress + 4096);
    t.same(late, [], `no completion after its destruction (${steps} steps before)`);
    t.ok(base + lengthBytes > 0);
    receiver.destroy();
    fixture.proveItWorks();
    fixture.finish();
  }
});
