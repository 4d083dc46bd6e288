// SPDX-License-Identifier: Apache-2.0
/**
 * Completion and event queues at their limits: running counts near their wrap, rings from one entry
 * to the longest, impossible counts, one vector for two queues, and summary bytes that are unmapped
 * and mapped again under load (IPCOM000126453D par. 2-4; docs/HAZARDS.md, hazards 28, 31 and 32).
 */
import t from 'tap';
import {
  COMPLETION_QUEUE_MAX_LOG2,
  EVENT_QUEUE_MAX_LOG2,
  PAGE_BYTES,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { decodeCqAttributes, newCqAttributes } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import { decodeEqAttributes, newEqAttributes } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { EqControl, EqMask, FaultKind, ManagementOpcode, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverCompletionQueue } from '../../rig/driver/completion-queue.ts';
import { EventPoller } from '../../rig/driver/event-poller.ts';
import type { DriverEventQueue } from '../../rig/driver/event-queue.ts';
import { eqPayload } from '../../rig/driver/payloads.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { startCompletionsAt, startEventsAt } from '../../rig/fixtures/running-counts.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';

const NOP = { header: { opcode: SendOpcode.NOP } };
const COUNTS = 2 ** 32;
const VECTOR = 20;

function queryEq(fixture: AdapterFixture, { eqn }: DriverEventQueue) {
  const { payload } = fixture.driver.management.perform({ opcode: ManagementOpcode.QUERY_EQ, objectNumber: eqn });
  return decodeEqAttributes(payload, 0, newEqAttributes());
}

function queryCq(fixture: AdapterFixture, { cqn }: DriverCompletionQueue) {
  const { payload } = fixture.driver.management.perform({ opcode: ManagementOpcode.QUERY_CQ, objectNumber: cqn });
  return decodeCqAttributes(payload, 0, newCqAttributes());
}

t.test(
  'running counts of a CQ and of its EQ wrap: every entry once, armed or not, and a full queue is still full',
  async (t) => {
    for (const entriesLog2 of [0, 2]) {
      const entries = 2 ** entriesLog2;
      const fixture = new AdapterFixture();
      const eventQueue = fixture.driver.createEventQueue({ entriesLog2, vector: VECTOR });
      const sendCq = fixture.createCompletionQueue({ entriesLog2, eventQueue });
      const qp = fixture.createQueuePair({ sendCq });
      startCompletionsAt(fixture, sendCq, COUNTS - 3 * entries);
      startEventsAt(fixture, eventQueue, COUNTS - 3 * entries);
      for (let count = 0; count < 6 * entries; count++) {
        sendCq.notify();
        qp.post(NOP);
        fixture.settle();
        t.equal(eventQueue.walk().length, 1, `event ${count} of 2^${entriesLog2} entries`);
        const before = sendCq.consumed;
        t.equal(sendCq.poll()?.queueSequence, count);
        t.notOk(sendCq.ready);
        // A request with a count from before the wrap: later entries cause an event at once.
        sendCq.notify({ consumed: before });
        fixture.settle();
        t.equal(eventQueue.walk().length, 1);
      }
      t.equal(queryCq(fixture, sendCq).producerCount, 3 * entries);
      t.equal(queryEq(fixture, eventQueue).consumed, (COUNTS + 9 * entries) % COUNTS);
      startCompletionsAt(fixture, sendCq, COUNTS - 1);
      for (let count = 0; count <= entries; count++) qp.post(NOP);
      fixture.settle();
      t.equal(queryCq(fixture, sendCq).error, 1, 'one more than there is room for, across the wrap');
      t.equal(sendCq.drain().length, entries);
      const other = fixture.driver.createEventQueue({ entriesLog2 });
      const otherCq = fixture.createCompletionQueue({ eventQueue: other });
      startEventsAt(fixture, other, COUNTS - 1);
      const otherQp = fixture.createQueuePair({ sendCq: otherCq });
      for (let count = 0; count <= entries; count++) {
        otherCq.notify();
        otherQp.post(NOP);
        fixture.settle();
        otherCq.drain();
      }
      t.equal(queryEq(fixture, other).error, 1, 'of the EQ, too');
      t.equal(other.walk(false).length, entries);
      fixture.finish();
    }
  },
);

t.test('CQs and EQs from one entry to the longest: slots follow each other across the end of the ring', async (t) => {
  for (const entriesLog2 of [0, 1, 2, 3, 5, 8, 11, EVENT_QUEUE_MAX_LOG2, COMPLETION_QUEUE_MAX_LOG2]) {
    const fixture = new AdapterFixture({ memoryBytes: Math.max(2 ** entriesLog2 * 64, PAGE_BYTES) + 16 * 2 ** 20 });
    const eventsLog2 = Math.min(entriesLog2, EVENT_QUEUE_MAX_LOG2);
    const eventQueue = fixture.driver.createEventQueue({ entriesLog2: eventsLog2, vector: VECTOR });
    const sendCq = fixture.createCompletionQueue({ entriesLog2, eventQueue });
    const qp = fixture.createQueuePair({ sendCq });
    startCompletionsAt(fixture, sendCq, 2 ** entriesLog2 * 3 - 2);
    startEventsAt(fixture, eventQueue, 2 ** eventsLog2 * 3 - 2);
    for (let count = 0; count < 4; count++) {
      sendCq.notify();
      qp.post(NOP);
      t.equal(sendCq.take(`entry ${count} of a CQ of 2^${entriesLog2}`).queueSequence, count);
      t.equal(eventQueue.take(`event ${count} of an EQ of 2^${eventsLog2}`)[0]?.objectNumber, sendCq.cqn);
    }
    fixture.finish();
  }
});

t.test(
  'hazard 31: a vector of two event queues: each interrupt serves both, and one without a cause does no harm',
  async (t) => {
    const fixture = new AdapterFixture();
    const queues = [1, 2].map(() => fixture.driver.createEventQueue({ vector: VECTOR }));
    const qps = queues.map((eventQueue) =>
      fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ eventQueue }) }),
    );
    const posted = [0, 0];
    const taken = [0, 0];
    let empty = 0;
    fixture.host.onVector = (vector) => {
      if (vector !== VECTOR) return;
      let served = 0;
      for (const [index, queue] of queues.entries()) {
        for (const { objectNumber } of queue.walk()) {
          t.equal(objectNumber, qps[index].parts.sendCq.cqn);
          served++;
          taken[index] += qps[index].parts.sendCq.drain().length;
          qps[index].parts.sendCq.notify();
        }
      }
      if (served === 0) empty++;
    };
    for (const { parts } of qps) parts.sendCq.notify();
    for (let round = 1; round <= 50; round++) {
      for (const index of fixture.random.pick([[0], [1], [0, 1]])) {
        qps[index].post(NOP);
        posted[index]++;
      }
      fixture.settle();
      fixture.access.writeRegister(CSR.INTERRUPT_TRIGGER, 4, VECTOR, 0);
      fixture.settle();
    }
    t.same(taken, posted);
    t.ok(empty >= 50, 'each interrupt without a cause');
    fixture.finish();
  },
);

t.test(
  'hazard 32: the asynchronous queue itself overruns: in error, counted, and all other queues go on',
  async (t) => {
    const fixture = new AdapterFixture();
    const asynchronous = fixture.driver.createEventQueue({ entriesLog2: 1, vector: VECTOR, asynchronous: true });
    // Each overrun of a CQ makes two events.
    for (let count = 0; count < 3; count++) {
      const qp = fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ entriesLog2: 0 }) });
      qp.post(NOP);
      qp.post(NOP);
      fixture.settle();
    }
    t.equal(queryEq(fixture, asynchronous).error, 1);
    t.equal(asynchronous.walk().length, 2, 'the first ones, not overwritten');
    t.equal(fixture.faults(FaultKind.EQ_OVERRUN), 1);
    t.same(fixture.asynchronous.walk(), [], 'the former asynchronous queue gets no event');
    fixture.proveItWorks();
    fixture.finish();
  },
);

t.test('hazard 32: counts returned late, up to the last entry: no error, and nothing is overwritten', async (t) => {
  const fixture = new AdapterFixture();
  const eventQueue = fixture.driver.createEventQueue({ entriesLog2: 3, vector: VECTOR });
  const sendCq = fixture.createCompletionQueue({ eventQueue });
  const qp = fixture.createQueuePair({ sendCq });
  for (let lap = 0; lap < 20; lap++) {
    for (let count = 0; count < 8; count++) {
      sendCq.notify();
      qp.post(NOP);
      fixture.settle();
      t.equal(eventQueue.walk(false).length, 1);
      sendCq.drain();
    }
    eventQueue.giveBack();
  }
  t.equal(queryEq(fixture, eventQueue).error, 0);
  fixture.finish();
});

t.test('a request with an impossible count causes at most one event too many', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  const { sendCq } = qp.parts;
  for (const consumed of [1, 77, 0x7fffffff, 0x80000000, 0xffffffff]) {
    const before = queryEq(fixture, fixture.events).producerCount;
    sendCq.notify({ consumed: (sendCq.consumed + consumed) >>> 0 });
    fixture.settle();
    t.ok(queryEq(fixture, fixture.events).producerCount - before <= 1, `${consumed} more than there were`);
    fixture.events.walk();
    sendCq.notify();
    qp.post(NOP);
    fixture.settle();
    t.equal(fixture.events.walk().length, 1, 'the next true request is answered');
    t.equal(sendCq.drain().length, 1);
  }
  t.same(fixture.allFaults(), {});
  fixture.finish();
});

t.test(
  'summary bytes unmapped and mapped again under load: no event is lost, and only the bytes are at fault',
  async (t) => {
    for (const seed of [1, 2, 3]) {
      const fixture = new AdapterFixture({ seed });
      const { driver, host, random, machine } = fixture;
      const [first, second] = [0, 1].map(() => {
        const page = driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
        const events = driver.createEventQueue({ vector: VECTOR, summaryCount: 4 });
        const attributes = {
          attributeMask: EqMask.SUMMARY | EqMask.CONTROLS,
          controls: EqControl.INTERRUPT,
          primarySummaryAddress: page,
          secondarySummaryAddress: page + 1,
          secondarySummaryCount: 4,
        };
        driver.management.perform({
          opcode: ManagementOpcode.MODIFY_EQ,
          objectNumber: events.eqn,
          payload: eqPayload(attributes),
        });
        const qps = [0, 1, 2, 3].map((summaryIndex) =>
          fixture.createQueuePair({ sendCq: fixture.createCompletionQueue({ eventQueue: events, summaryIndex }) }),
        );
        for (const { parts } of qps) parts.sendCq.notify();
        const queues = qps.map(({ parts }) => parts.sendCq);
        const side = { page, qps, posted: 0, taken: 0, poller: undefined as unknown as EventPoller };
        side.poller = new EventPoller(events, queues, (queue) => {
          side.taken += queue.drain().length;
        });
        return side;
      });
      for (let turn = 0; turn < 1000; turn++) {
        if (random.oneIn(10))
          host.memory.protect(
            first.page,
            1,
            random.pick([PageAccess.UNMAPPED, PageAccess.READ_ONLY, PageAccess.READ_WRITE]),
          );
        for (const side of [first, second]) {
          if (side.posted - side.taken > 40) continue;
          random.pick(side.qps).post(NOP);
          side.posted++;
        }
        machine.step();
        // Serves the queue as an interrupt does, without reading a summary byte.
        first.poller.serve();
        second.poller.serve();
      }
      fixture.settle();
      for (const { poller } of [first, second]) poller.deadman();
      t.same([first.taken, second.taken], [first.posted, second.posted], `seed ${seed}`);
      const { DMA_WRITE, ...others } = fixture.allFaults();
      t.ok(DMA_WRITE > 0, 'bytes could not be written');
      t.same(others, {}, 'nothing else was at fault');
      host.memory.protect(first.page, 1, PageAccess.READ_WRITE);
      fixture.finish();
    }
  },
);
