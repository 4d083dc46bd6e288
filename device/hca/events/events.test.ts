// SPDX-License-Identifier: Apache-2.0
/**
 * Event queues, requests for notification, and interrupts (docs/PROGRAMMING.md; docs/HAZARDS.md,
 * hazards 27, 31 and 32; IBTA 11.4.2.2).
 */
import t from 'tap';
import { MSIX_PBA_OFFSET } from '../../../protocol/layout/gen/constants.gen.ts';
import { decodeEqAttributes, newEqAttributes } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import { getEventEntrySequence } from '../../../protocol/layout/gen/event-entry.gen.ts';
import { CSR, CSR_ADAPTER_CONTROL_SEPARATE_INTERRUPTS_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  EqControl,
  EqMask,
  EventType,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverEventQueue } from '../../rig/driver/event-queue.ts';
import { eqPayload } from '../../rig/driver/payloads.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, COMPLETION_VECTOR } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { AccessKind } from '../../rig/machine/access-log.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };

function raised(fixture: AdapterFixture, vector = COMPLETION_VECTOR): number {
  return fixture.host.raised[vector] ?? 0;
}

function complete(fixture: AdapterFixture, qp: DriverQueuePair): void {
  qp.post(NOP);
  fixture.settle();
}

function queryEq(fixture: AdapterFixture, eq: DriverEventQueue) {
  const { payload } = fixture.driver.management.perform({ opcode: ManagementOpcode.QUERY_EQ, objectNumber: eq.eqn });
  return decodeEqAttributes(payload, 0, newEqAttributes());
}

t.test('without a request there is no event; with one there is one', async (t) => {
  ledger(t, '11.4.2.2', 'One request for notification gives one event');
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  const { sendCq } = qp.parts;
  complete(fixture, qp);
  t.equal(raised(fixture), 0);
  sendCq.drain();
  sendCq.notify();
  fixture.settle();
  t.equal(raised(fixture), 0, 'arming alone is no event');
  for (let count = 0; count < 3; count++) complete(fixture, qp);
  t.equal(raised(fixture), 1);
  const [event, ...others] = fixture.events.walk();
  t.same(others, []);
  t.equal(event?.eventType, EventType.COMPLETION);
  t.equal(event?.objectNumber, sendCq.cqn);
  t.equal(event?.completionSequence, 2, 'the sequence word of the entry that caused it');
  fixture.finish();
});

t.test('hazard 31: entry, then event, then interrupt: each is visible before the next', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  const { sendCq } = qp.parts;
  sendCq.notify();
  let atBody = -1;
  fixture.host.onBody = (address) => {
    if (address === fixture.events.buffer.slotAddress(0))
      atBody = getEventEntrySequence(fixture.events.buffer.slot(0), 0);
  };
  let complete = false;
  fixture.host.onVector = () => {
    complete = sendCq.ready && fixture.events.ready;
  };
  const mark = fixture.host.log.count;
  qp.post(NOP);
  fixture.settle();
  t.equal(atBody, 0);
  t.ok(complete, 'at the interrupt both entries are valid');
  const order = fixture.host.log.effectsSince(mark).map(({ kind }) => kind);
  const { BODY, VALIDITY, VECTOR } = AccessKind;
  t.same(order, [BODY, VALIDITY, BODY, VALIDITY, VECTOR]);
  t.equal(fixture.faults(FaultKind.DMA_WRITE), 0, 'an EQ without a summary byte writes none');
  fixture.finish();
});

t.test('hazard 27: a completion between poll and request is not lost', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  const { sendCq } = qp.parts;
  for (const page of [undefined, qp.parts.page]) {
    const before = raised(fixture);
    complete(fixture, qp);
    sendCq.notify(page === undefined ? {} : { page });
    fixture.settle();
    t.equal(raised(fixture), before + 1, 'an entry beyond `consumed` is an event at once');
    sendCq.drain();
    fixture.events.walk();
    sendCq.notify(page === undefined ? {} : { page });
    fixture.settle();
    t.equal(raised(fixture), before + 1, 'nothing beyond it is none');
    complete(fixture, qp);
    t.equal(raised(fixture), before + 2);
    sendCq.drain();
    fixture.events.walk();
  }
  fixture.finish();
});

t.test('hazard 27: while an event is pending there is no other, however often software arms', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  const { sendCq } = qp.parts;
  sendCq.notify();
  complete(fixture, qp);
  for (let count = 0; count < 3; count++) {
    sendCq.notify({ clearPending: false });
    complete(fixture, qp);
  }
  t.equal(fixture.events.walk().length, 1);
  sendCq.notify({ clearPending: true });
  fixture.settle();
  t.equal(fixture.events.walk().length, 1, 'cleared: what came meanwhile is an event now');
  fixture.finish();
});

t.test('hazard 27: a request for solicited completions waits for one, or for a failed one', async (t) => {
  ledger(t, '11.4.2.2', 'A request for solicited completions is answered by a solicited or failed one only');
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  const { receiveCq } = receiver.parts;
  const deliver = (solicited: boolean, lengthBytes = 40): void => {
    fixture.postReceive(receiver, lengthBytes);
    sender.post(to({ solicited, inline: new Uint8Array(8) }));
    fixture.settle();
    sender.parts.sendCq.drain();
  };
  receiveCq.notify({ solicitedOnly: true });
  deliver(false, 48);
  t.equal(raised(fixture), 0);
  deliver(true, 48);
  t.equal(raised(fixture), 1);
  receiveCq.drain();
  fixture.events.walk();
  receiveCq.notify({ solicitedOnly: true });
  deliver(false, 48);
  t.equal(raised(fixture), 1);
  receiveCq.notify({ solicitedOnly: true, consumed: 0 });
  fixture.settle();
  t.equal(raised(fixture), 2, 'a solicited one beyond `consumed` is an event at once');
  fixture.events.walk();
  receiveCq.drain();
  receiveCq.notify({ solicitedOnly: true });
  deliver(false, 47);
  t.equal(raised(fixture), 3, 'a failed one counts');
  fixture.finish();
});

t.test('a request for solicited completions does not weaken one for all', async (t) => {
  ledger(t, '11.4.2.2', 'A request for the next completion is not weakened by one for solicited completions');
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  qp.parts.sendCq.notify();
  qp.parts.sendCq.notify({ solicitedOnly: true });
  complete(fixture, qp);
  t.equal(raised(fixture), 1);
  fixture.finish();
});

t.test('hazard 27: poll, arm, poll under load: software that follows the rules misses nothing', async (t) => {
  const seed = 51;
  const fixture = new AdapterFixture({ seed, budget: 2 });
  const sendCq = fixture.createCompletionQueue({ entriesLog2: 4 });
  const qp = fixture.createQueuePair({ sendCq, sendEntriesLog2: 4 });
  let [posted, taken, idle] = [0, 0, 0];
  sendCq.notify();
  while (taken < 3000) {
    if (posted - taken < 16 && posted < 3000 && fixture.random.oneIn(2)) {
      qp.post(NOP, fixture.random.pick(['collect', 'doorbell'] as const));
      posted++;
    }
    const before = raised(fixture);
    fixture.machine.step();
    if (raised(fixture) === before) {
      if (++idle > 200_000) throw new Error(`stranded after ${taken} of ${posted}; seed ${seed}`);
      continue;
    }
    taken += sendCq.drain().length;
    fixture.events.walk();
    sendCq.notify();
  }
  t.equal(taken, 3000);
  t.equal(queryEq(fixture, fixture.events).error, 0);
  fixture.finish();
});

t.test('hazard 32: an event queue without a reader fills up, overflows once, and overwrites nothing', async (t) => {
  const fixture = new AdapterFixture();
  const eventQueue = fixture.driver.createEventQueue({ entriesLog2: 2, vector: 20 });
  const qps = Array.from({ length: 4 }, () =>
    fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ eventQueue }) }),
  );
  for (const { parts } of qps) parts.sendCq.notify();
  for (const qp of qps) complete(fixture, qp);
  // Their software asks for more events before it has read the entries.
  for (const qp of qps.slice(0, 2)) {
    qp.parts.sendCq.notify();
    complete(fixture, qp);
  }
  t.same(
    eventQueue.walk(false).map(({ objectNumber }) => objectNumber),
    qps.map(({ parts }) => parts.sendCq.cqn),
  );
  t.equal(fixture.faults(FaultKind.EQ_OVERRUN), 1);
  const events = fixture.asynchronous.walk().filter(({ eventType }) => eventType === EventType.EQ_ERROR);
  t.same(
    events.map(({ objectNumber }) => objectNumber),
    [eventQueue.eqn],
    'the asynchronous queue gets an event',
  );
  t.equal(queryEq(fixture, eventQueue).error, 1);
  t.equal(raised(fixture, 20), 4, 'one interrupt per pass with an event');
  t.ok(
    qps.every(({ parts }) => parts.sendCq.ready),
    'completions go on',
  );
  fixture.finish();
});

t.test('an event queue in error takes events again after a modification that ends the error', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  const eventQueue = fixture.driver.createEventQueue({ entriesLog2: 1, vector: 20 });
  const modify = (attributes: object): number =>
    management.execute({
      opcode: ManagementOpcode.MODIFY_EQ,
      objectNumber: eventQueue.eqn,
      payload: eqPayload(attributes),
    }).status;
  const qps = Array.from({ length: 2 }, () =>
    fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ eventQueue }) }),
  );
  for (let round = 0; round < 2; round++)
    for (const qp of qps) {
      qp.parts.sendCq.drain();
      qp.parts.sendCq.notify();
      complete(fixture, qp);
    }
  t.equal(queryEq(fixture, eventQueue).error, 1);
  t.equal(modify({ attributeMask: EqMask.VECTOR, vector: 21 }), ManagementStatus.OK);
  t.equal(queryEq(fixture, eventQueue).error, 1, 'another attribute leaves the error');
  t.equal(modify({ attributeMask: EqMask.ERROR, error: 1 }), ManagementStatus.BAD_FIELD, 'software causes no error');
  t.equal(modify({ attributeMask: EqMask.ERROR }), ManagementStatus.OK);
  complete(fixture, qps[1]);
  t.equal(queryEq(fixture, eventQueue).error, 1, 'without room it overruns again');
  t.equal(fixture.faults(FaultKind.EQ_OVERRUN), 2);
  t.equal(eventQueue.walk().length, 2, 'no entry was overwritten');
  t.equal(modify({ attributeMask: EqMask.ERROR }), ManagementStatus.OK);
  t.equal(queryEq(fixture, eventQueue).error, 0);
  t.equal(queryEq(fixture, eventQueue).completionEventCounter, 0, 'events that were lost do not count');
  const before = raised(fixture, 21);
  // The two CQs whose event was lost are still armed.
  for (const qp of qps) complete(fixture, qp);
  t.same(
    eventQueue.walk().map(({ objectNumber }) => objectNumber),
    qps.map(({ parts }) => parts.sendCq.cqn),
  );
  t.equal(raised(fixture, 21), before + 2);
  fixture.finish();
});

t.test('a reset returns local time to the time of the adapter', async (t) => {
  const fixture = new AdapterFixture();
  const { clock } = fixture.machine;
  clock.advance(5000);
  fixture.access.writeRegister(CSR.LOCAL_TIME, 8, 77, 0x1234);
  t.equal(fixture.access.readRegister(CSR.LOCAL_TIME + 4, 4), 0x1234);
  fixture.driver.reset();
  t.equal(fixture.access.readRegister(CSR.LOCAL_TIME, 4), clock.now() % 2 ** 32);
  t.equal(fixture.access.readRegister(CSR.LOCAL_TIME + 4, 4), Math.floor(clock.now() / 2 ** 32));
});

t.test('hazard 32: entries returned make room; a false count is ignored and counted as a fault', async (t) => {
  const fixture = new AdapterFixture();
  const eventQueue = fixture.driver.createEventQueue({ entriesLog2: 1, vector: 20 });
  const qp = fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ eventQueue }) });
  for (let count = 0; count < 50; count++) {
    qp.parts.sendCq.notify();
    complete(fixture, qp);
    t.equal(eventQueue.walk().length, 1);
    qp.parts.sendCq.drain();
  }
  for (const count of [51, 60, 0xffffffff, 0, 48]) eventQueue.giveBack(count);
  t.ok(fixture.faults(FaultKind.DOORBELL_BEYOND_TAIL) >= 3, 'counts ahead of the device');
  qp.parts.sendCq.notify();
  complete(fixture, qp);
  t.equal(eventQueue.walk().length, 1);
  t.equal(queryEq(fixture, eventQueue).error, 0);
  fixture.finish();
});

t.test('an event queue with controls NOTHING does not interrupt', async (t) => {
  const fixture = new AdapterFixture();
  const eventQueue = fixture.driver.createEventQueue({ vector: 20, attributes: { controls: EqControl.NOTHING } });
  const qp = fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ eventQueue }) });
  qp.parts.sendCq.notify();
  complete(fixture, qp);
  t.equal(raised(fixture, 20), 0);
  t.equal(eventQueue.walk().length, 1);
  fixture.finish();
});

t.test('a completion queue without an event queue takes requests and stays silent', async (t) => {
  const fixture = new AdapterFixture();
  const sendCq = fixture.driver.createCompletionQueue();
  const qp = fixture.createQueuePair({ sendCq });
  sendCq.notify();
  complete(fixture, qp);
  sendCq.notify();
  fixture.settle();
  t.equal(
    fixture.host.raised.reduce((sum, count) => sum + count, 0),
    0,
  );
  t.ok(sendCq.ready);
  fixture.finish();
});

t.test('doorbells for queues that do not exist are counted', async (t) => {
  const fixture = new AdapterFixture();
  const before = fixture.allFaults();
  fixture.access.writeRegister(CSR.CQ_NOTIFY, 8, 0x00fffff0, 0);
  fixture.access.writeRegister(CSR.EQ_CONSUMER, 8, 0x00fffff0, 0);
  t.notSame(fixture.allFaults(), before);
  fixture.proveItWorks();
  fixture.finish();
});

t.test('hazard 31: masked: the event is in memory, the vector pending; unmasked: one interrupt', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  fixture.host.masked[COMPLETION_VECTOR] = 1;
  qp.parts.sendCq.notify();
  complete(fixture, qp);
  t.equal(raised(fixture), 0);
  t.ok(fixture.events.ready);
  t.equal(fixture.read(MSIX_PBA_OFFSET) & (1 << COMPLETION_VECTOR), 1 << COMPLETION_VECTOR);
  fixture.host.masked[COMPLETION_VECTOR] = 0;
  fixture.settle();
  t.equal(raised(fixture), 1);
  t.equal(fixture.read(MSIX_PBA_OFFSET), 0);
  fixture.finish();
});

t.test('requests of a pass share a message, unless each is a message of its own', async (t) => {
  for (const separate of [false, true]) {
    const fixture = new AdapterFixture();
    const control = separate ? CSR_ADAPTER_CONTROL_SEPARATE_INTERRUPTS_MASK : 0;
    fixture.access.writeRegister(CSR.ADAPTER_CONTROL, 4, control, 0);
    const qps = [0, 1, 2].map(() => fixture.createQueuePair());
    for (const { parts } of qps) parts.sendCq.notify();
    const before = raised(fixture);
    for (const qp of qps) qp.post(NOP);
    fixture.settle();
    t.equal(fixture.events.walk().length, 3);
    t.equal(raised(fixture) - before, separate ? 3 : 1, `separate ${separate}`);
    fixture.machine.functionAt(0).reset('function');
    t.equal(fixture.machine.device.functions[0].underlying.msix.separate, false, 'a reset ends it');
  }
});

t.test('a vector stays pending while MSI-X is off', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  fixture.host.msixEnabled = false;
  qp.parts.sendCq.notify();
  complete(fixture, qp);
  fixture.host.msixEnabled = true;
  fixture.settle();
  t.equal(raised(fixture), 1);
  fixture.finish();
});

t.test('a management command can be answered by an event as well', async (t) => {
  const fixture = new AdapterFixture();
  const { management } = fixture.driver;
  for (let count = 0; count < 3; count++) {
    management.perform({ opcode: ManagementOpcode.QUERY_ADAPTER, notify: 1, eventQueue: fixture.events.eqn });
    const [event, ...others] = fixture.events.take();
    t.equal(event?.eventType, EventType.MANAGEMENT_COMPLETE);
    t.same(others, []);
    t.ok((event?.objectNumber ?? 0) > 0, 'the sequence number');
  }
  const refused = management.execute({
    opcode: ManagementOpcode.QUERY_PD,
    objectNumber: 0x123456,
    notify: 1,
    eventQueue: fixture.events.eqn,
  });
  t.not(refused.status, 0);
  t.equal(fixture.events.take().length, 1, 'refused ones are answered too');
  fixture.finish();
});

t.test('a completion event carries the token its queue was created with', async (t) => {
  const fixture = new AdapterFixture();
  const token = 0x12_3456_789a;
  const qp = fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ token }) });
  qp.parts.sendCq.notify();
  complete(fixture, qp);
  t.equal(fixture.events.take()[0]?.token, token);
  fixture.finish();
});
