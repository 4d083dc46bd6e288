// SPDX-License-Identifier: Apache-2.0
/**
 * Each step that a unit records in the timeline is provoked and checked with its numbers; and each
 * run gives a document that Perfetto opens (docs/DEBUGGING.md).
 */
import t, { type Test } from 'tap';
import { CANCEL_OFFSET, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { EventType, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { TimelineStep } from '../../hca/function/timeline.ts';
import { nameStepNumbers, stepName } from '../../hca/function/timeline-names.ts';
import { TimelineRing } from '../../hca/function/timeline-ring.ts';
import { CommandFlag, DoorbellSource, NoEvent } from '../../hca/function/timeline-values.ts';
import type { AdapterTrace } from '../../hca/trace/adapter-trace.ts';
import { AdapterFixture, COMPLETION_VECTOR } from '../../rig/fixtures/adapter-fixture.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { connect } from '../../rig/fixtures/connected-fixture.ts';
import { DoorbellFlood } from '../../rig/fixtures/doorbell-flood.ts';
import { CREDIT_VECTOR, SendContextFixture } from '../../rig/fixtures/send-context-fixture.ts';
import { findTraceFault } from '../../rig/live/chrome-trace.ts';
import { toChromeTrace } from '../trace/perfetto-export.ts';

const CAPACITY_LOG2 = 14;

interface NamedStep {
  readonly step: string;
  readonly functionNumber: number;
  readonly [number: string]: number | string;
}

/**
 * Attaches a timeline for which time passes with every step. `take` ends it, checks its Perfetto
 * document and returns the steps and their numbers by name.
 */
function watch(fixture: AdapterFixture): { take(t: Test): NamedStep[] } {
  const { clock } = fixture.machine;
  const adapter = fixture.machine.device;
  const timeline = new TimelineRing(CAPACITY_LOG2, () => {
    clock.advance(100);
    return clock.now();
  });
  adapter.attachTimeline(timeline);
  return {
    take: (t) => {
      adapter.attachTimeline(undefined);
      const steps = timeline.read(0, 2 ** CAPACITY_LOG2);
      t.ok(steps.length > 0 && steps.length === timeline.head, 'nothing is lost');
      t.equal(findTraceFault(toChromeTrace([timelineOf(steps)])), undefined);
      return steps.map((one) => ({
        step: stepName(one.step),
        functionNumber: one.functionNumber,
        ...nameStepNumbers(one),
      }));
    },
  };
}

/** The traces of an adapter without messages. */
const timelineOf = (steps: readonly TimelineStep[]): AdapterTrace => ({
  name: 'adapter',
  ports: [],
  wallTimeNs: 0,
  queuePairs: [],
  messages: [],
  steps,
  stepsSinceNs: 0,
});

const only = (steps: readonly NamedStep[], ...names: string[]): NamedStep[] =>
  steps.filter(({ step }) => names.includes(step));

t.test(
  'bind, kick, launch, releases, completion, event and interrupt of one command through a collect buffer',
  async (t) => {
    const fixture = new AdapterFixture({ seed: 70 });
    const { a, b } = connect(fixture);
    for (let before = 0; before < 3; before++) {
      a.post(NOP, 'collect');
      a.parts.sendCq.take();
    }
    const target = fixture.createBuffer(64);
    b.postReceive([fixture.sge(target)]);
    a.parts.sendCq.notify();
    fixture.settle();
    const timeline = watch(fixture);
    const buffer = fixture.createBuffer(64);
    a.post({ sges: [fixture.sge(buffer)] }, 'collect');
    fixture.settle();
    const steps = timeline.take(t);
    const [bind] = steps;
    const [launch] = only(steps, 'launch');
    const { lane } = launch as NamedStep;
    const own = { functionNumber: 0, qp: a.qpn, sequence: 3 };
    const numbersOf = ({ address }: { address: number }) => ({
      lkey: fixture.region.lkey,
      length: 64,
      addressLow: address % 2 ** 32,
      addressHigh: Math.floor(address / 2 ** 32),
    });
    t.match(bind, { step: 'bind', functionNumber: 0 });
    t.equal((bind as NamedStep).pcb, 0, 'the first PCB');
    t.same(
      steps.filter(({ step }) => step !== 'bind'),
      [
        { step: 'kick', ...own, vcb: (bind as NamedStep).vcb },
        { step: 'launch', ...own, lane },
        { step: 'command', ...own, opcode: SendOpcode.SEND, flags: CommandFlag.SIGNALED, rkey: 0 },
        { step: 'sge', ...own, ...numbersOf(buffer) },
        { step: 'release execution', functionNumber: 0, lane },
        { step: 'entry', functionNumber: 0, qp: b.qpn, entry: 0 },
        { step: 'entry sge', functionNumber: 0, qp: b.qpn, entry: 0, ...numbersOf(target) },
        { step: 'receive completion', functionNumber: 0, qp: b.qpn, entry: 0, cq: b.parts.receiveCq.cqn, count: 1 },
        { step: 'no event', functionNumber: 0, cq: b.parts.receiveCq.cqn, count: 1, reason: NoEvent.UNARMED },
        { step: 'answer sent', functionNumber: 0, qp: b.qpn, psn: 0, syndrome: 0 },
        { step: 'answer', functionNumber: 0, qp: a.qpn, psn: 0, syndrome: 0 },
        { step: 'send completion', ...own, cq: a.parts.sendCq.cqn, count: 4 },
        {
          step: 'eqe',
          functionNumber: 0,
          eq: fixture.events.eqn,
          event: EventType.COMPLETION,
          object: a.parts.sendCq.cqn,
          count: 4,
          number: 1,
          cause: 0,
        },
        {
          step: 'interrupt request',
          functionNumber: 0,
          vector: COMPLETION_VECTOR,
          eq: fixture.events.eqn,
          number: 1,
          late: 0,
        },
        { step: 'release completion', functionNumber: 0, lane },
        { step: 'interrupt', functionNumber: 0, vector: COMPLETION_VECTOR },
      ],
    );
    t.ok(typeof lane === 'number' && lane >= 0);
    fixture.finish();
  },
);

t.test('refuse: no PCB is free for the page; the command comes by doorbell and is fetched', async (t) => {
  const fixture = new AdapterFixture({ seed: 71, adapter: { pcbCount: 2, pcbGuaranteed: [1, 0] } });
  const qps = [fixture.createQueuePair(), fixture.createQueuePair(), fixture.createQueuePair()];
  const timeline = watch(fixture);
  // Writes all but the last word of each, then the last words: the third finds no PCB.
  const copies = qps.map((qp) => {
    const bytes = qp.fill(NOP).slice();
    qp.advanceSendTail();
    return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  });
  const store = (page: number, from: number, to: number): void => {
    for (let at = from; at < to; at += 4)
      fixture.access.writeCollect(page * PAGE_BYTES + at, 4, copies[page - 10]?.getUint32(at, true) ?? 0, 0);
  };
  for (const page of [10, 11, 12]) store(page, 0, 60);
  for (const page of [10, 11, 12]) store(page, 60, 64);
  fixture.settle();
  const steps = timeline.take(t);
  t.same(
    only(steps, 'bind').map(({ vcb, pcb }) => [vcb, pcb]),
    [
      [10, 0],
      [11, 1],
    ],
  );
  t.same(only(steps, 'refuse'), [{ step: 'refuse', functionNumber: 0, page: 12 }]);
  const third = { functionNumber: 0, qp: qps[2]?.qpn, sequence: 0 };
  t.same(only(steps, 'doorbell', 'fetch'), [
    { step: 'doorbell', ...third, source: DoorbellSource.NO_PCB, from: 0, to: 0 },
    { step: 'fetch', ...third, place: 0 },
  ]);
  t.same(
    only(steps, 'kick').map(({ qp }) => qp),
    [qps[0]?.qpn, qps[1]?.qpn],
    'only those that were bound',
  );
  t.equal(only(steps, 'launch').length, 3);
  t.equal(fixture.read(CSR.COLLECT_REFUSALS), 1);
});

t.test('spill and drain: each doorbell written to the overflow buffer comes back in order', async (t) => {
  const flood = new DoorbellFlood({ seed: 72 });
  const timeline = watch(flood.fixture);
  for (const qp of flood.qps) flood.post(qp);
  t.equal(flood.findWrong(), undefined);
  const steps = timeline.take(t);
  const spills = only(steps, 'spill');
  const drains = only(steps, 'drain');
  t.ok(spills.length > 0, `${spills.length} spills`);
  t.equal(drains.length, flood.read(CSR.DOORBELLS_DRAINED), 'as the counter says');
  t.same(
    drains.map(({ qp, sequence }) => [qp, sequence]),
    spills.map(({ qp, sequence }) => [qp, sequence]),
  );
  t.ok(spills.every(({ qp, sequence }) => sequence === 0 && flood.posted.has(qp as number)));
  for (const { qp } of spills) {
    const own = steps.filter((one) => one.qp === qp && !`${one.step}`.startsWith('list')).map(({ step }) => step);
    t.same(own.slice(0, 5), ['doorbell', 'spill', 'drain', 'fetch', 'launch'], `QP ${qp}`);
  }
});

t.test('spilling begins and ends as often as counted; a cancel', async (t) => {
  const flood = new DoorbellFlood({ seed: 74 });
  const timeline = watch(flood.fixture);
  for (const qp of flood.qps) flood.post(qp);
  t.equal(flood.findWrong(), undefined);
  flood.fixture.access.writeCollect(3 * PAGE_BYTES, 4, 1, 0);
  flood.fixture.access.writeCollect(3 * PAGE_BYTES + CANCEL_OFFSET, 8, 0, 0xffffffff);
  const steps = timeline.take(t);
  const spilling = only(steps, 'spill begin', 'spill end', 'spill').map(({ step }) => step);
  t.equal(spilling[0], 'spill begin');
  t.equal(spilling.at(-1), 'spill end');
  t.equal(only(steps, 'spill begin').length, only(steps, 'spill end').length);
  t.equal(only(steps, 'spill begin').length, flood.read(CSR.DEADLOCKS_DETECTED), 'as the counter says');
  t.same(only(steps, 'cancel'), [{ step: 'cancel', functionNumber: 0, qp: 0, sequence: 0, vcb: 3 }]);
});

t.test('send queues that wait for one another enter a scheduler list and leave it', async (t) => {
  const fixture = new AdapterFixture({ seed: 75 });
  const qps = Array.from({ length: 12 }, () => fixture.createQueuePair());
  const timeline = watch(fixture);
  for (const qp of qps) for (let posted = 0; posted < 3; posted++) qp.post(NOP, 'slot');
  for (const qp of qps) qp.ring();
  fixture.settle();
  const lists = only(timeline.take(t), 'list enter', 'list leave');
  t.ok(lists.length > 0, `${lists.length} steps`);
  for (const { qpn } of qps) {
    const own = lists.filter(({ qp }) => qp === qpn);
    t.same(
      own,
      own.map((_, place) => ({ step: `list ${place % 2 ? 'leave' : 'enter'}`, functionNumber: 0, qp: qpn, level: 0 })),
    );
    t.equal(own.length % 2, 0);
  }
});

t.test('credit return: the context and how much it has freed; its interrupt', async (t) => {
  const pio = new SendContextFixture({ blocks: 16, threshold: 16, creditInterrupt: 1 });
  const { context } = pio;
  const timeline = watch(pio.adapterFixture);
  for (const freed of [3, 6]) {
    pio.postReceive();
    t.ok(context.send(pio.packet(new Uint8Array(100)), { creditReturn: 1 }));
    pio.settle();
    t.equal(context.word.freeCounter, freed);
  }
  const steps = timeline.take(t);
  const returned = (freed: number) => ({ step: 'credit return', functionNumber: 0, context: context.number, freed });
  t.same(only(steps, 'credit return'), [returned(3), returned(6)]);
  const credit = only(steps, 'interrupt').filter(({ vector }) => vector === CREDIT_VECTOR);
  t.equal(credit.length, pio.interrupts);
});

t.test('steps of two functions are on tracks of their own', async (t) => {
  const fixture = new AdapterFixture({ seed: 73, functionCount: 2, adapter: { functionCount: 2 } });
  const qp = fixture.createQueuePair();
  const timeline = new TimelineRing(CAPACITY_LOG2, () => fixture.machine.clock.now());
  fixture.machine.device.attachTimeline(timeline);
  qp.post(NOP, 'collect');
  fixture.settle();
  // The other function is not brought up: it refuses a whole command, but it binds a buffer.
  fixture.machine.functionAt(1).writeCollect(5 * PAGE_BYTES, 4, 1, 0);
  const steps = timeline.read(0, 2 ** CAPACITY_LOG2);
  const document = toChromeTrace([timelineOf(steps)]);
  t.equal(findTraceFault(document), undefined);
  const names = document.traceEvents.filter(({ name }) => name === 'thread_name').map(({ args }) => args?.name);
  t.same(names, ['function 0', 'function 1']);
  t.equal(document.traceEvents.filter(({ ph, tid }) => ph === 'i' && tid === 1).length, 1);
});

t.test('a timeline of any size keeps the newest steps and says where they begin', async (t) => {
  for (const log2 of [0, 1, 5]) {
    let nowNs = 0;
    const timeline = new TimelineRing(log2, () => ++nowNs);
    for (let number = 0; number < 100; number++) timeline.note(0, 1, number, number + 1);
    const steps = timeline.read(0, 1000);
    t.equal(timeline.tail, 100 - 2 ** log2);
    t.same(
      steps.map(({ index, object, a, timeNs }) => [index, object, a, timeNs]),
      Array.from({ length: 2 ** log2 }, (_, place) => {
        const number = 100 - 2 ** log2 + place;
        return [number, number, number + 1, number + 1];
      }),
    );
  }
});
