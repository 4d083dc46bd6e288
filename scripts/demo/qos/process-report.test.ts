// SPDX-License-Identifier: Apache-2.0
/**
 * The results of `npm run demo -- qos --processes` from samples: shares, verdict, table and plot,
 * of runs in which shares follow levels and of runs in which each claim is broken or not shown.
 */
import t from 'tap';
import type { QueuePairList } from '../../../device/process/reports/queue-pair-report.ts';
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import { findCollisions } from '../../picture/testing/read-svg.ts';
import { readTexts, readTitle } from '../../plot/testing/read-marks.ts';
import { describeFinding, drawProcesses } from './process-plot.ts';
import { formatProcesses } from './process-report.ts';
import {
  judgeProcesses,
  type MeasuredPhase,
  PHASES,
  type ProcessSample,
  summarisePhase,
  takeProcessSample,
  WEIGHTS,
} from './process-samples.ts';

const SAMPLES = 12;
const STEP_NS = 0.1e9;
const BYTES = 2 ** 20;

/** The changes of a run, by phase and sample. */
interface Wrong {
  /** WRITEs that the second process completes between two samples. */
  rate?(phase: MeasuredPhase['name'], expected: number): number;
  underWay?(at: number): number;
  mismatches?(at: number): number;
  collected?(at: number): number;
  stepNs?: number;
}

/** A good run: WRITEs follow the weights of the levels. Counts overflow shortly after the start. */
function makeRun({ rate, underWay, mismatches, collected, stepNs = STEP_NS }: Wrong = {}): MeasuredPhase[] {
  return PHASES.map((phase) => {
    const rates = phase.levels.map((level) => 10 * WEIGHTS[level]);
    const second = rate?.(phase.name, rates[1] as number) ?? (rates[1] as number);
    const samples = Array.from(
      { length: SAMPLES },
      (_, at): ProcessSample => ({
        timeNs: at * stepNs,
        tenants: [rates[0] as number, second].map((each) => ({
          completed: (0xfff0 + at * each) % 0x10000,
          underWay: underWay?.(at) ?? 32,
        })),
        levels: [0, 1].map((level) => ({ pcbsInUse: 30, refused: at, launched: at * 10 * (WEIGHTS[level] as number) })),
        collected: collected?.(at) ?? 20 * at,
        fetched: at,
        mismatches: mismatches?.(at) ?? 0,
      }),
    );
    return { ...phase, samples };
  });
}

const outcomes = (run: readonly MeasuredPhase[]): readonly string[] =>
  judgeProcesses(run).map(({ outcome }) => outcome);

t.test('shares of completed WRITEs follow the weights of the levels', async (t) => {
  const run = makeRun();
  t.same(
    run.map((phase) => summarisePhase(phase).tenants.map(({ share }) => share)),
    [
      [0.5, 0.5],
      [0.75, 0.25],
      [0.25, 0.75],
      [0.5, 0.5],
    ],
  );
  const [{ tenants, contested, collected, levels }] = run.map(summarisePhase) as [ReturnType<typeof summarisePhase>];
  t.match(tenants[0], { documented: 0.5, perSecond: 100 });
  t.equal(contested, 1);
  t.equal(collected, 20 / 21);
  t.match(levels[0], { pcbs: 30, refused: SAMPLES - 1, launched: 10 * (SAMPLES - 1) });
  t.same(outcomes(run), ['holds', 'holds', 'holds']);
});

t.test('each claim can be broken', async (t) => {
  const unfair = makeRun({ rate: (name, expected) => (name === 'both at level 1' ? expected / 2 : expected) });
  t.same(outcomes(unfair), ['broken', 'holds', 'holds']);
  const flat = makeRun({ rate: (name, expected) => (name === 'flood at level 1' ? expected / 2 : expected) });
  t.same(outcomes(flat), ['holds', 'broken', 'holds']);
  t.match(describeFinding(flat), /^Not so: level 1, whose lane has 3 times the weight/);
  t.same(outcomes(makeRun({ mismatches: (at) => at })), ['holds', 'holds', 'broken']);
});

t.test('what was not seen is not claimed', async (t) => {
  t.same(outcomes(makeRun({ underWay: (at) => at % 2 })), ['not shown', 'not shown', 'holds']);
  t.same(outcomes(makeRun({ stepNs: 0.6e9 })), ['not shown', 'not shown', 'holds'], 'samples too far apart');
  t.same(outcomes(makeRun({ collected: () => 0 })), ['holds', 'holds', 'not shown']);
  t.match(describeFinding(makeRun({ underWay: () => 0 })), /^Not shown: at equal levels/);
});

t.test('the table has a line for each process, and the title of the plot says the shares', async (t) => {
  const run = makeRun();
  const lines = formatProcesses(run, BYTES).split('\n');
  t.match(lines[3], /^ib_write_bw at level 1 +ib_write_bw +1 +300 +300 +75\.0 % +75\.0 % +30\.0 /);
  t.match(lines[4], /^ +flood +0 +100 +100 +25\.0 % /);
  const svg = await drawProcesses(run, BYTES);
  t.same(findCollisions(svg), []);
  const title = 'A process at level 1 has 75 % of the adapter beside one at level 0, and 50 % beside its equal';
  t.equal(readTitle(svg), title);
  t.ok(
    ['ib_write_bw', 'flood', 'level 0', 'level 1', 'flood at level 1'].every((text) => readTexts(svg).includes(text)),
  );
});

t.test('a sample has the queue pairs of the named processes only', async (t) => {
  const level = { inUse: 5, refusals: 2 };
  const functions = [
    { collect: { levels: [level, level] }, commands: { collected: 7, fetched: 1, levelMismatches: 0 } },
  ];
  const lanes = { lanes: [0, 1, 1].map((level) => ({ levels: [level], launches: 4 })) };
  const status = { uptimeNs: 9, adapters: [{ functions, lanes }] } as unknown as StatusReport;
  const qp = (process: number, nextWqe: number, inFlight: number) => ({ process, send: { nextWqe, inFlight } });
  const list = { queuePairs: [qp(1, 3, 5), qp(2, 9, 0), qp(3, 7, 1), qp(3, 4, 1)] } as unknown as QueuePairList;
  t.same(takeProcessSample(status, list, [3, 1]), {
    timeNs: 9,
    tenants: [
      { completed: 9, underWay: 2 },
      { completed: 0x10000 - 2, underWay: 5 },
    ],
    levels: [
      { pcbsInUse: 5, refused: 2, launched: 4 },
      { pcbsInUse: 5, refused: 2, launched: 8 },
    ],
    collected: 7,
    fetched: 1,
    mismatches: 0,
  });
});
