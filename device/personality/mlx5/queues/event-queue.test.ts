// SPDX-License-Identifier: Apache-2.0
/**
 * An event queue by itself: entries and their owner bits, consumer indices, arming, and how it
 * fails. Tests of commands and of completions show it at work.
 */
import t from 'tap';
import { EventType as CoreEventType, FaultKind, FaultObject } from '../../../../protocol/layout/gen/values.gen.ts';
import { EVENT_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { getEqeOwner, getEqeSubType, getEqeType } from '../../../../protocol/mlx5/gen/eqe.gen.ts';
import { ArmState, EventType, QueueStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Step, type Timeline } from '../../../hca/function/timeline.ts';
import { EventCause } from '../../../hca/function/timeline-values.ts';
import { PageAccess } from '../../../rig/machine/guest-memory-model.ts';
import { Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { PageList } from '../memory/page-list.ts';
import { EventQueue } from './event-queue.ts';

const PAGE_BYTES = 4096;
const NUMBER = 5;
const VECTOR = 3;
const LOG_ENTRIES = 2;
const ENTRIES = 2 ** LOG_ENTRIES;
const { SRQ_LIMIT, PORT_CHANGE, COMPLETION } = EventType;

class EventQueueFixture {
  readonly driver = new Mlx5Driver();
  readonly page = this.driver.allocate(PAGE_BYTES);
  readonly owner = this.driver.device.underlying;
  readonly steps: number[][] = [];
  readonly queue: EventQueue;

  constructor(mayOverrun = false, mask = 0n) {
    const timeline: Timeline = { note: (...step) => this.steps.push(step.map((value) => value ?? 0)) };
    this.owner.timeline = timeline;
    const place = { logEntries: LOG_ENTRIES, logPageSize: 0, pageOffset: 0 };
    const plan = { number: NUMBER, vector: VECTOR, uar: 1, mask, mayOverrun, ...place };
    this.queue = new EventQueue(plan, this.owner, new PageList(Float64Array.of(this.page), PAGE_BYTES));
  }

  /** Posts so many events; returns what the queue says of each. */
  post(count = 1): boolean[] {
    return Array.from({ length: count }, (_, index) => {
      this.queue.begin().setUint32(0x20, index);
      return this.queue.post(SRQ_LIMIT, index);
    });
  }

  /** Type, variant and owner bit of each entry. */
  get entries(): number[][] {
    return Array.from({ length: ENTRIES }, (_, index) => {
      const view = this.driver.memory.view(this.page + index * EVENT_BYTES, EVENT_BYTES);
      return [getEqeType(view, 0), getEqeSubType(view, 0), getEqeOwner(view, 0)];
    });
  }

  get interrupts(): number {
    this.driver.machine.runUntilIdle();
    return this.driver.machine.hostAt(0).raised[VECTOR] ?? 0;
  }

  get counts(): { readonly status: QueueStatus; readonly posted: number; readonly lost: number } {
    const { status, posted, lost } = this.queue;
    return { status, posted, lost };
  }
}

t.test('entries go round, and the owner bit tells their turns', async (t) => {
  const fixture = new EventQueueFixture();
  const { queue } = fixture;
  t.same(fixture.post(3), [true, true, true]);
  queue.setConsumerIndex(3);
  t.same(fixture.post(2), [true, true]);
  t.same(fixture.entries, [
    [SRQ_LIMIT, 1, 1],
    [SRQ_LIMIT, 1, 0],
    [SRQ_LIMIT, 2, 0],
    [SRQ_LIMIT, 0, 0],
  ]);
  t.same([queue.number, queue.entries, queue.pendingEntries, queue.producerIndex], [NUMBER, ENTRIES, 2, 5]);
  t.notOk(queue.begin().getUint32(0x20), 'the entry in hand is zeros');
});

t.test('a queue takes the types whose bits it has', async (t) => {
  const { queue } = new EventQueueFixture(false, (1n << BigInt(PORT_CHANGE)) | (1n << 63n) | 1n);
  const types = Array.from({ length: 64 }, (_, type) => type).filter((type) => queue.takes(type as EventType));
  t.same(types, [0, PORT_CHANGE, 63]);
});

t.test('an index that is not among the entries is ignored', async (t) => {
  const fixture = new EventQueueFixture();
  const { queue } = fixture;
  fixture.post(3);
  for (const [told, left] of [
    [4, 3],
    [0xffffff, 3],
    [0, 3],
    [2, 1],
    [1, 1],
    [3, 0],
    [3, 0],
  ]) {
    queue.setConsumerIndex(told);
    t.equal(queue.pendingEntries, left, `${told}`);
  }
  // Software counts in 24 bits.
  Object.assign(queue, { producerIndex: 0x1000002, consumerIndex: 0xffffff });
  queue.setConsumerIndex(1);
  t.same([queue.pendingEntries, queue.consumerIndex], [1, 0x1000001]);
  Object.assign(queue, { producerIndex: 1, consumerIndex: 0xffffffff });
  queue.setConsumerIndex(0);
  t.same([queue.pendingEntries, queue.consumerIndex], [1, 0], 'beyond 2^32');
});

t.test('an armed queue interrupts once, for the next entry or for one that is there', async (t) => {
  const fixture = new EventQueueFixture();
  const { queue } = fixture;
  fixture.post(1);
  t.same([queue.armState, fixture.interrupts], [ArmState.FIRED, 0]);
  queue.arm();
  t.same([queue.armState, fixture.interrupts], [ArmState.FIRED, 1]);
  queue.setConsumerIndex(1);
  queue.arm();
  t.same([queue.armState, fixture.interrupts], [ArmState.ARMED, 1]);
  fixture.post(2);
  t.same([queue.armState, fixture.interrupts], [ArmState.FIRED, 2]);
  const { EQ_BEGIN, INTERRUPT_REQUEST } = Step;
  const own = fixture.steps.filter(([step]) => step === EQ_BEGIN || step === INTERRUPT_REQUEST);
  t.same(own, [
    [EQ_BEGIN, 0, NUMBER],
    [INTERRUPT_REQUEST, 0, VECTOR, NUMBER, 1, 0],
    [INTERRUPT_REQUEST, 0, VECTOR, NUMBER, 2, 0],
  ]);
});

t.test('a full queue fails: it loses its events, and reports that once', async (t) => {
  const fixture = new EventQueueFixture();
  const { queue, owner } = fixture;
  const { faults } = owner;
  const source = { number: 9, producerCount: 1, eventIndex: undefined };
  t.same(fixture.post(ENTRIES), [true, true, true, true]);
  const before = fixture.entries;
  queue.armState = ArmState.ARMED;
  t.same(fixture.post(2), [false, false]);
  t.same(fixture.counts, { status: QueueStatus.OVERFLOW, posted: ENTRIES, lost: 2 });
  t.same([faults.counts[FaultKind.EQ_OVERRUN], faults.firstObjectKind], [1, FaultObject.EQ]);
  t.same([faults.firstObject, faults.firstAddressHigh * 2 ** 32 + faults.firstAddressLow], [NUMBER, fixture.page]);
  queue.setConsumerIndex(ENTRIES);
  t.same(fixture.post(1), [false], 'it does not recover');
  t.notOk(queue.postCompletion(source, EventCause.COMPLETION));
  t.equal(queue.lost, 3, 'a completion event is not lost: its CQ can be looked at');
  t.same([fixture.entries, fixture.interrupts, faults.counts[FaultKind.EQ_OVERRUN]], [before, 0, 1]);
});

t.test('a queue that software allows to overrun goes on', async (t) => {
  const fixture = new EventQueueFixture(true);
  t.ok(fixture.post(2 * ENTRIES + 1).every((isPosted) => isPosted));
  t.same(fixture.counts, { status: QueueStatus.OK, posted: 2 * ENTRIES + 1, lost: 0 });
  t.same(fixture.entries[0], [SRQ_LIMIT, 2 * ENTRIES, 0]);
});

t.test('a queue whose entry cannot be written fails, which is one fault of the bus', async (t) => {
  for (const what of ['an event', 'a completion event']) {
    const fixture = new EventQueueFixture();
    const { queue, owner, driver } = fixture;
    const source = { number: 9, producerCount: 1, eventIndex: undefined };
    const post = (): boolean =>
      what === 'an event' ? fixture.post()[0] : queue.postCompletion(source, EventCause.COMPLETION);
    queue.armState = ArmState.ARMED;
    driver.memory.protect(fixture.page, PAGE_BYTES, PageAccess.READ_ONLY);
    t.notOk(post(), what);
    t.same(fixture.counts, { status: QueueStatus.WRITE_FAILURE, posted: 0, lost: 1 }, what);
    const { counts } = owner.faults;
    t.same([counts[FaultKind.DMA_WRITE], counts[FaultKind.EQ_OVERRUN], counts[FaultKind.NONE]], [1, 0, 0], what);
    driver.memory.protect(fixture.page, PAGE_BYTES, PageAccess.READ_WRITE);
    t.same([post(), fixture.interrupts], [false, 0], what);
    t.equal(fixture.entries[0][0], 0, what);
  }
});

t.test('a completion event waits for room and for the taking of the last one, and then says why', async (t) => {
  const fixture = new EventQueueFixture();
  const { queue, steps } = fixture;
  const source = { number: 9, producerCount: 7, eventIndex: undefined };
  steps.length = 0;
  for (let event = 0; event < 2; event++) t.ok(queue.postCompletion(source, EventCause.COMPLETION));
  t.equal(queue.pendingEntries, 1, 'the second one waits');
  fixture.post(3);
  queue.setConsumerIndex(0);
  t.equal(queue.pendingEntries, ENTRIES);
  queue.setConsumerIndex(1);
  t.same([queue.pendingEntries, fixture.entries[0]], [ENTRIES, [COMPLETION, 0, 1]], 'it has come');
  t.notOk(queue.forget(source), 'none waits');
  t.ok(queue.postCompletion(source, EventCause.COMPLETION));
  t.ok(queue.forget(source), 'one waits no more');
  queue.setConsumerIndex(5);
  t.equal(queue.pendingEntries, 0);
  const { COMPLETION: type } = CoreEventType;
  t.same(steps, [
    [Step.EQE, 0, NUMBER, type, 9, 7, 1, EventCause.COMPLETION],
    [Step.EQE, 0, NUMBER, type, 9, 7, 5, EventCause.TAKING],
  ]);
});
