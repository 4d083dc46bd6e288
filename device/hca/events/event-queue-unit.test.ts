// SPDX-License-Identifier: Apache-2.0
/**
 * EventQueue and InterruptTimer alone, over a function that only records (IPCOM000126453D par. 3-4;
 * docs/DOCUMENTS.md decision 8): results of posting, interrupts, summary bytes, and the comparison
 * of stamp and local time at its borders.
 */
import t from 'tap';
import { decodeEventEntry, newEventEntry } from '../../../protocol/layout/gen/event-entry.gen.ts';
import { EqControl, EventType, FaultKind, FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import type { EventRecord } from '../function/event-record.ts';
import type { LocalTime } from '../function/local-time.ts';
import { Step } from '../function/timeline.ts';
import { EventCause, NoInterrupt } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';
import { EventQueue } from './event-queue.ts';
import { InterruptTimer } from './interrupt-timer.ts';

const ONES = 0xffffffff;
const PRIMARY = 0x1000;
const SECONDARY = 0x2000;
const EVENT: EventRecord = {
  type: EventType.COMPLETION,
  port: 1,
  objectNumber: 7,
  completionSequence: 3,
  fault: FaultKind.NONE,
  tokenLow: 1,
  tokenHigh: 2,
  cause: EventCause.COMPLETION,
};

/** A queue of two entries, and what it does to its function. */
class Recorded {
  readonly vectors: number[] = [];
  readonly bytes: number[] = [];
  readonly reports: number[] = [];
  readonly failures: FaultKind[] = [];
  /** Entries stored. */
  readonly entries: Uint8Array[] = [];
  /** Steps of the timeline, with their arguments. */
  readonly notes: number[][] = [];
  readonly time = { low: 100, high: 0, sample: () => {} };
  memoryIsThere = true;
  readonly queue: EventQueue;

  constructor(controls: EqControl, log2 = 1) {
    const owner = {
      number: 0,
      localTime: this.time,
      timeline: { note: (...step: number[]) => this.notes.push(step) },
      dma: { at: (address: number) => ({ write: () => this.bytes.push(address) }) },
      msix: { request: (vector: number) => this.vectors.push(vector) },
      faults: { report: (fault: number) => this.reports.push(fault) },
      eventQueueFailed: (_: EventQueue, fault: FaultKind) => this.failures.push(fault),
    };
    const publish = (_: unknown, entry: Uint8Array): boolean => {
      this.entries.push(entry.slice());
      return this.memoryIsThere;
    };
    const memory = { at: () => ({ publish }) };
    this.queue = new EventQueue(4, owner as unknown as UnderlyingFunction, memory as unknown as QueueMemory, log2);
    Object.assign(this.queue, {
      controls,
      vector: 9,
      primarySummaryAddress: PRIMARY,
      secondarySummaryAddress: SECONDARY,
      secondarySummaryCount: 2,
    });
  }
}

/** The steps noted since the last call, without those of EQEs. */
function takeNotes({ notes }: Recorded): number[][] {
  return notes.splice(0).filter(([step]) => step !== Step.EQE);
}

const at = (high: number, low: number) => ({ high, low }) as LocalTime;

t.test('an event behind a page fault has none of its fields, whether that was posted or not', async (t) => {
  const page = { address: 0x1f_ffff_ffff_ffff, lengthBytes: ONES, key: ONES, isWrite: true };
  const plain = new Recorded(EqControl.NOTHING, 4);
  plain.queue.post(EVENT);
  plain.queue.post(EVENT);
  plain.queue.postCompletion(EVENT, 9);
  for (const isThere of [true, false]) {
    const recorded = new Recorded(EqControl.NOTHING, 4);
    recorded.memoryIsThere = isThere;
    t.equal(recorded.queue.postPageFault(EVENT, page), isThere);
    t.match(decodeEventEntry(new DataView((recorded.entries[0] as Uint8Array).buffer), 0, newEventEntry()), {
      pageAddress: page.address,
      pageLength: ONES,
      pageKey: ONES,
      pageWrite: 1,
    });
    recorded.memoryIsThere = true;
    recorded.queue.revive();
    if (!isThere) recorded.queue.post(EVENT);
    recorded.queue.post(EVENT);
    recorded.queue.postCompletion(EVENT, 9);
    t.same(recorded.entries.slice(-2), plain.entries.slice(-2), isThere ? 'posted' : 'not posted');
  }
});

t.test('a new queue is at rest', async (t) => {
  const { queue } = new Recorded(EqControl.INTERRUPT);
  t.equal(queue.asynchronous, false);
  t.equal(queue.entries, 2);
  t.equal(queue.faultObject, FaultObject.EQ);
  t.equal(queue.error, false);
});

t.test('an event of no CQ interrupts as the controls and the delay say', async (t) => {
  for (const [controls, pollOnly, vectors, bytes] of [
    [EqControl.INTERRUPT, false, [9], [PRIMARY]],
    [EqControl.INTERRUPT, true, [], [PRIMARY]],
    [EqControl.PRIMARY_SUMMARY, false, [], [PRIMARY]],
    [EqControl.NOTHING, false, [], []],
  ] as const) {
    const recorded = new Recorded(controls);
    const { queue } = recorded;
    if (pollOnly) Object.assign(queue.timer, { delayLow: ONES, delayHigh: ONES });
    t.equal(queue.post(EVENT), true);
    t.same(recorded.vectors, vectors, `controls ${controls}, poll only ${pollOnly}`);
    t.same(recorded.bytes, bytes);
    t.equal(queue.interrupts, vectors.length);
  }
});

t.test('the result of posting says whether the event is in the queue', async (t) => {
  for (const post of [
    (queue: EventQueue) => queue.post(EVENT),
    (queue: EventQueue) => queue.postCompletion(EVENT, 0),
  ]) {
    const full = new Recorded(EqControl.NOTHING);
    t.same([post(full.queue), post(full.queue), post(full.queue)], [true, true, false]);
    t.same(full.reports, [FaultKind.EQ_OVERRUN]);
    t.same(full.failures, [FaultKind.EQ_OVERRUN]);
    t.equal(full.queue.error, true);
    const gone = new Recorded(EqControl.INTERRUPT);
    gone.memoryIsThere = false;
    t.equal(post(gone.queue), false);
    t.same(gone.reports, [], 'the bus fault is counted where it happens');
    t.same(gone.failures, [FaultKind.DMA_WRITE]);
    t.same([gone.vectors, gone.bytes], [[], []]);
    gone.memoryIsThere = true;
    t.equal(post(gone.queue), false, 'a queue in error takes nothing');
  }
});

t.test('counts of entries read are taken up to the number posted and unread', async (t) => {
  const recorded = new Recorded(EqControl.NOTHING);
  const { queue } = recorded;
  queue.post(EVENT);
  queue.post(EVENT);
  queue.consume(0);
  t.same(recorded.reports, [], 'a count that changes nothing is none that was never posted');
  queue.consume(3);
  t.same(recorded.reports, [FaultKind.DOORBELL_BEYOND_TAIL]);
  queue.consume(1);
  t.equal(queue.consumed, 1);
  queue.consume(0);
  t.equal(recorded.reports.length, 2, 'a count does not go back');
});

t.test('a secondary byte is set within the number of bytes only', async (t) => {
  const recorded = new Recorded(EqControl.NOTHING);
  recorded.queue.postCompletion(EVENT, 1);
  recorded.queue.postCompletion(EVENT, 2);
  t.same(recorded.bytes, [SECONDARY + 1]);
  t.equal(recorded.queue.completionEventCounter, 2);
  recorded.queue.takeCompletion();
  t.equal(recorded.queue.completionEventCounter, 1);
});

t.test('the timeline says which summary byte was set, and why there is an interrupt or none', async (t) => {
  const prompt = new Recorded(EqControl.INTERRUPT);
  Object.assign(prompt.queue.timer, { delayLow: 50 });
  const post = () => prompt.queue.postCompletion(EVENT, 1);
  post();
  const bytes = [
    [Step.SUMMARY, 0, 4, 2],
    [Step.SUMMARY, 0, 4, 0],
  ];
  t.same(takeNotes(prompt), [...bytes, [Step.INTERRUPT_REQUEST, 0, 9, 4, 1, 0]], 'in time');
  post();
  t.same(takeNotes(prompt), [bytes[0], [Step.NO_INTERRUPT, 0, 4, 2, NoInterrupt.BEFORE_STAMP]]);
  prompt.queue.consume(2);
  prompt.time.low = 151;
  post();
  t.same(takeNotes(prompt), [bytes[0], [Step.INTERRUPT_REQUEST, 0, 9, 4, 3, 1]], 'the driver is late');
  const quiet = new Recorded(EqControl.NOTHING);
  quiet.queue.post(EVENT);
  t.same(takeNotes(quiet), [[Step.NO_INTERRUPT, 0, 4, 1, NoInterrupt.CONTROLS]]);
  const summarized = new Recorded(EqControl.PRIMARY_SUMMARY);
  summarized.queue.post(EVENT);
  t.same(takeNotes(summarized), [bytes[1], [Step.NO_INTERRUPT, 0, 4, 1, NoInterrupt.CONTROLS]]);
  const polled = new Recorded(EqControl.INTERRUPT);
  Object.assign(polled.queue.timer, { delayLow: ONES, delayHigh: ONES });
  polled.queue.post(EVENT);
  t.same(takeNotes(polled), [bytes[1], [Step.NO_INTERRUPT, 0, 4, 1, NoInterrupt.POLL_ONLY]]);
});

t.test('poll only and immediate need all 64 bits', async (t) => {
  for (const [delayHigh, delayLow, pollOnly, immediate] of [
    [ONES, ONES, true, false],
    [ONES, 0, false, false],
    [0, ONES, false, false],
    [0, 0, false, true],
    [1, 0, false, false],
    [0, 1, false, false],
  ] as const) {
    const timer = Object.assign(new InterruptTimer(), { delayHigh, delayLow });
    t.same([timer.pollOnly, timer.immediate], [pollOnly, immediate], `delay ${delayHigh}:${delayLow}`);
  }
});

t.test('the stamp is local time plus delay, with carry, and wraps', async (t) => {
  for (const [time, delay, stamp] of [
    [at(0, 5), [0, 7], [0, 12]],
    [at(1, ONES), [2, 1], [4, 0]],
    [at(1, ONES), [2, 0], [3, ONES]],
    [at(ONES, ONES), [0, 1], [0, 0]],
  ] as const) {
    const timer = Object.assign(new InterruptTimer(), { delayHigh: delay[0], delayLow: delay[1] });
    timer.restart(time);
    t.same([timer.stampHigh, timer.stampLow], stamp);
  }
});

t.test('late is later than the stamp by signed difference', async (t) => {
  const timer = Object.assign(new InterruptTimer(), { delayLow: 1, stampHigh: 5, stampLow: 100 });
  for (const [time, late] of [
    [at(5, 99), false],
    [at(5, 100), false],
    [at(5, 101), true],
    [at(6, 100), true],
    [at(6, 99), true],
    [at(7, 0), true],
    [at(7, 100), true],
    [at(4, ONES), false],
    [at(5 + 2 ** 31 - 1, 100), true],
    [at(5 + 2 ** 31, 101), false],
  ] as const)
    t.equal(timer.isLate(time), late, `${time.high}:${time.low}`);
  t.equal(Object.assign(timer, { delayLow: 0 }).isLate(at(4, 0)), true, 'delay 0: always');
  t.equal(Object.assign(timer, { delayLow: ONES, delayHigh: ONES }).isLate(at(9, 0)), false, 'the longest: never');
});
