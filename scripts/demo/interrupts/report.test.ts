// SPDX-License-Identifier: Apache-2.0
/** The report of `npm run demo -- interrupts`: figures and tables. */
import t from 'tap';
import {
  formatComparison,
  formatFigures,
  formatTargets,
  type InterruptSample,
  judgeTargets,
  summarize,
  waysAt,
} from './report.ts';

const sample = (change: Partial<InterruptSample>): InterruptSample => ({
  way: 'merged',
  rate: 1000,
  elapsedNs: 2e9,
  completions: 2000,
  interrupts: 1000,
  events: 2000,
  polls: 0,
  switches: 0,
  polledInterrupts: 0,
  late: 0,
  notifies: 1500,
  asked: 1500,
  askedPolled: 0,
  waitedNs: 4e6,
  busyProcessors: 0.5,
  ...change,
});

const polled = (change: Partial<InterruptSample>): InterruptSample =>
  sample({ way: 'bytes', interrupts: 10, ...change });

const rare = (change: Partial<InterruptSample>): InterruptSample => polled({ way: 'apart8', ...change });

t.test('figures are medians per second, per million and per completion', async (t) => {
  const rounds = [sample({}), sample({ interrupts: 3000, busyProcessors: 0.9 }), sample({ interrupts: 0 })];
  t.same(summarize(rounds), [
    {
      way: 'merged',
      rate: 1000,
      completionsPerSecond: 1000,
      interruptsPerMillion: 500_000,
      pollsPerMillion: 0,
      notifiesPerMillion: 750_000,
      busyProcessors: 0.5,
      leastBusy: 0.5,
      mostBusy: 0.9,
      waitUs: 2,
    },
  ]);
});

t.test('the table has a line for each load and way', async (t) => {
  const lines = formatFigures(summarize([sample({}), polled({ rate: 0, polls: 20, notifies: 8 })])).split('\n');
  t.match(lines[1], /^ +1000 {2}an interrupt for a pass +1000 +500000 +0 +750000 +50 +\(50-50\) +500 +2$/);
  t.match(lines[2], /^saturated {2}timers and summary bytes +1000 +5000 +10000 +4000 +50 +\(50-50\) +500 +2$/);
});

t.test('processor time is compared within a round, interrupts by their medians', async (t) => {
  const samples = [
    ...[sample({ busyProcessors: 0.4 }), polled({ busyProcessors: 0.3 })],
    ...[sample({ busyProcessors: 0.8 }), polled({ busyProcessors: 0.4 })],
    ...[sample({ busyProcessors: 0.2 }), polled({ busyProcessors: 0.2 })],
  ];
  const lines = formatComparison(samples).split('\n');
  t.match(lines[2], /^ +1000 {2}timers and summary bytes +x 0\.010 +x 0\.75 +\(0\.50-1\.0\)$/);
});

t.test('each part is compared with the first way that was measured', async (t) => {
  const samples = [
    sample({ way: 'each', interrupts: 2000 }),
    sample({ interrupts: 1000 }),
    sample({ way: 'polling', interrupts: 20, busyProcessors: 0.25 }),
  ];
  const lines = formatComparison(samples).split('\n');
  t.equal(lines[0], 'Against an interrupt for each event:');
  t.match(lines[2], /^ +1000 {2}an interrupt for a pass +x 0\.50 +x 1\.0 /);
  t.match(lines[3], /^ +1000 {2}polling alone +x 0\.010 +x 0\.50/);
});

t.test('targets compare runs of one round, whatever the speed of the machine was', async (t) => {
  const samples = [0.2, 0.8, 0.4].flatMap((busyProcessors, round) => [
    sample({ rate: 2000, busyProcessors, interrupts: 2000 }),
    rare({ rate: 2000, busyProcessors: busyProcessors * [0.5, 2, 0.7][round] }),
  ]);
  const [{ what, ratio }] = judgeTargets(samples);
  t.equal(what, 'processor time, at 2000/s');
  t.ok(Math.abs(ratio - 0.7) < 1e-9);
});

t.test('targets of polls that are far apart, at their bounds and beyond them', async (t) => {
  const atBounds = [
    ...[sample({ rate: 2000, interrupts: 2000 }), rare({ rate: 2000, interrupts: 20, busyProcessors: 0.45 })],
    ...[sample({ rate: 0 }), rare({ rate: 0, interrupts: 11, busyProcessors: 0.45 })],
  ];
  const beyond = [
    ...[sample({ rate: 2000, interrupts: 2000 }), rare({ rate: 2000, interrupts: 21, busyProcessors: 0.46 })],
    ...[sample({ rate: 0 }), rare({ rate: 0, interrupts: 10, completions: 1990, busyProcessors: 0.45 })],
  ];
  t.same(
    judgeTargets(atBounds).map(({ what, met }) => [what, met]),
    [
      ['processor time, at 2000/s', true],
      ['interrupts, at 2000/s', true],
      ['throughput, saturated', true],
      ['processor time, saturated', true],
      ['interrupts, saturated', false],
    ],
  );
  const missed = judgeTargets(beyond);
  t.same(
    missed.map(({ met }) => met),
    [false, false, false, false, false],
  );
  const lines = formatTargets(missed).split('\n');
  t.match(lines[2], /^polls up to 8 ms apart {2}processor time, at 2000\/s +x 0\.92 +at most 0\.9 +MISSED$/);
});

t.test("targets of the driver's own polls: latency at every load, savings at 8000 per second", async (t) => {
  const judge = (waitedNs: number, interrupts: number, busyProcessors: number) =>
    judgeTargets(
      [500, 8000, 0].flatMap((rate) => [sample({ rate }), polled({ rate, waitedNs, interrupts, busyProcessors })]),
    );
  const atBounds = judge(8e6, 500, 0.425);
  t.same(
    atBounds.map(({ way, what, met }) => [way, what, met]),
    [
      ['bytes', 'latency, at 500/s', true],
      ['bytes', 'latency, at 8000/s', true],
      ['bytes', 'processor time, at 8000/s', true],
      ['bytes', 'interrupts, at 8000/s', true],
      ['bytes', 'latency, saturated', true],
    ],
  );
  t.notOk(judge(8.1e6, 501, 0.43).some(({ met }) => met));
});

t.test('polls that are far apart are measured under loads where queues are polled', async (t) => {
  t.same(waysAt(500), ['each', 'merged', 'polling', 'timers', 'bytes']);
  for (const rate of [2000, 0]) t.same(waysAt(rate), [...waysAt(500), 'apart2', 'apart8']);
});
