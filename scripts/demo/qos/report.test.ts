// SPDX-License-Identifier: Apache-2.0
/**
 * The results of `npm run demo -- qos` from its samples: sums, verdict, table and plot, of runs in
 * which guarantees hold and of runs in which each of them is broken.
 */
import t from 'tap';
import { GUESTS } from '../../../device/rig/qos/worked-example.ts';
import { explainService, judge } from '../../../guest-tests/shares/judge.ts';
import { PHASES } from '../../../guest-tests/shares/measure.ts';
import type { Measurement, PhaseResult } from '../../../guest-tests/shares/samples.ts';
import { type FunctionSample, type LevelSample, type Sample, summarise } from '../../../guest-tests/shares/samples.ts';
import { findCollisions } from '../../picture/testing/read-svg.ts';
import { readMarks, readTexts, readTitle } from '../../plot/testing/read-marks.ts';
import { drawPhases } from './phase-plot.ts';
import { formatFindings, formatPhases } from './table.ts';

const SAMPLES = 20;
const STEP_NS = 0.1e9;

/** The changes of a run, by phase, function and level. */
interface Wrong {
  level?(phase: string, number: number, level: number, at: number): Partial<LevelSample>;
  waiting?(phase: string, number: number, at: number): number;
}

/**
 * A good run: service follows the lanes; level 0 is refused in company, and takes shared PCBs and
 * credits.
 */
function makeRun({ level: change, waiting }: Wrong = {}): Measurement {
  const phases = PHASES.map(({ name, active, weights }): PhaseResult => {
    const samples = Array.from(
      { length: SAMPLES },
      (_, at): Sample => ({
        timeNs: at * STEP_NS,
        functions: GUESTS.map(
          ({ lanes, levelPcbs }, number): FunctionSample => ({
            waiting: waiting?.(name, number, at) ?? (active[number] ? 50 : 0),
            collected: active[number] ? 3 * at : 0,
            fetched: active[number] ? at : 0,
            levels: levelPcbs.map((guaranteed, index) => ({
              pcbsInUse: active[number] ? guaranteed + (index === 0 ? 40 : 0) : 0,
              pcbsGuaranteed: guaranteed,
              pcbsAvailable: active[number] ? 0 : guaranteed,
              credits: 5,
              creditsUsed: active[number] ? 5 : 0,
              creditsShared: active[number] && index === 0 ? 6 : 0,
              completionCreditsUsed: active[number] ? 10 + 2 * at : 0,
              refusals: active[number] && index === 0 ? at : 0,
              launches: active[number] ? at * lanes * (weights?.[number] ?? 1) : 0,
              ...change?.(name, number, index, at),
            })),
          }),
        ),
      }),
    );
    return { name, active, ...(weights && { weights }), ...summarise(samples, active), samples };
  });
  return { phases, completed: 1000, failed: 0 };
}

function outcomes(run: Measurement): string[] {
  return judge(run).map(({ outcome }) => outcome);
}

t.test('a good run', async (t) => {
  const run = makeRun();
  t.same(outcomes(run), ['holds', 'holds', 'holds', 'holds', 'holds']);
  const [, , , , all] = run.phases;
  t.equal(all.contested, 1);
  t.ok(Math.abs(all.functions[1].share - 10 / 45) < 1e-9, 'the share is that of its lanes');
  t.equal(all.functions[1].byDoorbell, 0.25);
  // Level 0 holds 5 credits of its lanes and 6 shared ones, level 1 holds 5; three guests launch
  // twice 45 commands a step.
  t.ok(
    Math.abs(all.functions[1].shareError - 16 / (19 * 2 * 45)) < 1e-9,
    'commands begun and not ended blur the share',
  );
  t.match(all.functions[1].levels[0], { refused: 19, pcbsMean: 48, pcbsPeak: 48, creditsMean: 11, broken: 0 });
  t.equal(all.functions[1].levels[0].completionCreditsMean, 10 + 2 * 9.5);
  t.ok(Math.abs(all.functions[1].levels[0].commandsPerSecond - 100) < 1e-6, 'launches per second');
  const text = formatPhases(run.phases);
  t.match(text, /all flood +control +0, floods .* 33\.3 % +33\.3 % .* share met/);
  t.match(text, /1, within .* none refused/);
  t.notMatch(text, /MISSED|REFUSED/);
  t.match(
    text,
    /\nService follows lanes, not buffers: weather with 25 VCBs, 20 PCBs and 10 lanes got 22 %, ocean with 15 VCBs, 12 PCBs and 20 lanes got 44 %\. A guest that pays for service needs lanes or weight\.\n/,
  );
  t.match(
    text,
    /\nWith weights as paid, service follows PCBs: control with 25 PCBs and lanes of weight 25 got 44 %, weather with 20 PCBs and lanes of weight 30 got 35 %, ocean with 12 PCBs and lanes of weight 9 got 21 %\.\n$/,
  );
  t.match(text, /weights as paid +control +0, floods .* 43\.9 % +43\.9 % .* share met/);
  t.equal(explainService({ ...all, active: [true, true, false] }), undefined, 'more buffers and more lanes');
  t.match(formatFindings(judge(run)), /\nThe guarantees hold\.\n$/);
});

t.test('each broken guarantee is found, with its guest', async (t) => {
  const refused = makeRun({
    level: (phase, number, level, at) =>
      phase === 'all flood' && number === 2 && level === 1 ? { refusals: at > 10 ? 1 : 0 } : {},
  });
  t.match(judge(refused)[0], { outcome: 'broken', detail: 'refused: ocean (all flood)' });
  t.match(formatPhases(refused.phases), /REFUSED/);
  t.match(formatFindings(judge(refused)), /do NOT hold/);

  const taken = makeRun({
    level: (phase, number, level, at) =>
      phase === 'ocean alone' && number === 1 && level === 0 && at === 5 ? { pcbsAvailable: 7 } : {},
  });
  t.match(judge(taken)[1], { outcome: 'broken', detail: 'not available: weather (ocean alone)' });

  const slow = makeRun({
    level: (phase, number, _, at) => (phase === 'all flood' && number === 1 ? { launches: at * 7 } : {}),
  });
  t.match(judge(slow)[2], { outcome: 'broken', detail: 'too little: weather (all flood)' });
  t.match(formatPhases(slow.phases), /share MISSED/);

  const timid = makeRun({
    level: (phase, number, level) =>
      phase === 'control alone' && number === 0 && level === 0 ? { pcbsInUse: 12 } : {},
  });
  t.match(judge(timid)[3], { outcome: 'broken', detail: /control \(control alone\)/ });
  t.match(judge({ ...makeRun(), failed: 3 })[4], { outcome: 'broken', detail: '1000 counted by the guests, 3 failed' });
});

t.test('a claim that a run could not show is not reported to hold', async (t) => {
  const easy = makeRun({ level: () => ({ refusals: 7 }) });
  t.match(judge(easy)[0], { outcome: 'not shown' });
  const idle = makeRun({ waiting: (_, number, at) => (number === 2 && at > 5 ? 0 : 9) });
  t.match(judge(idle)[2], { outcome: 'not shown', detail: /weather, ocean; all flood; weights as paid/ });
  t.match(formatFindings(judge(idle)), /\nNot everything could be shown\.\n$/);
  t.same(outcomes({ ...makeRun(), completed: 0 })[4], 'not shown');
  t.notSame(outcomes({ phases: [], completed: 0, failed: 0 }), ['holds', 'holds', 'holds', 'holds', 'holds']);
});

t.test('shares are judged by the time in which every guest has commands waiting', async (t) => {
  // Ocean takes part in the first half only; control takes all in the second.
  const run = makeRun({
    waiting: (_, number, at) => (number === 2 && at >= 12 ? 0 : 9),
    level: (phase, number, _, at) =>
      phase === 'all flood' && at >= 12 ? { launches: number === 0 ? 10_000 : 11 * GUESTS[number].lanes } : {},
  });
  const all = run.phases[4];
  t.ok(all.contested > 0.5 && all.contested < 0.7);
  t.ok(Math.abs(all.functions[2].share - 20 / 45) < 1e-9);
});

t.test('the plot says whether shares hold', async (t) => {
  t.equal(
    readTitle(await drawPhases(makeRun().phases)),
    'Guaranteed shares hold within 0.0 points while two or three guests flood',
  );
  const slow = makeRun({
    level: (phase, number, _, at) => (phase === 'all flood' && number === 1 ? { launches: at * 7 } : {}),
  });
  t.equal(readTitle(await drawPhases(slow.phases)), 'Weather has 5.6 points less than its guarantee (all flood)');
  t.equal(
    readTitle(await drawPhases(makeRun({ waiting: () => 0 }).phases)),
    'Guaranteed shares could not be judged: guests had nothing waiting most of the time',
  );
});

t.test('the plot says how many commands were refused at each level', async (t) => {
  const refused = makeRun({
    level: (phase, number, level, at) =>
      phase === 'all flood' && number === 2 && level === 1 ? { refusals: at > 10 ? 3 : 0 } : {},
  });
  // 11 active guests in 6 phases are refused 19 commands each at level 0.
  t.match(
    readTexts(await drawPhases(refused.phases)).join('\n'),
    /^Refused a PCB: 3 commands of level 1,.* 209 of level 0/m,
  );
});

t.test('the plot has a row for each quantity, a line for each guest, and no NaN', async (t) => {
  const svg = await drawPhases(makeRun().phases);
  t.match(svg, /^<svg .*<\/svg>\n$/s);
  t.same(findCollisions(svg), []);
  t.notMatch(svg, /NaN|Infinity|undefined/);
  const lines = readMarks(svg).filter(({ kind }) => kind === 'line mark');
  // 11 active guests in 6 phases: share, PCBs, and their guarantees; refusals at two levels.
  t.equal(lines.length, 11 * 6);
  const guaranteed = lines.filter(({ shows }) => shows.kind === 'guaranteed' && 'PCBs in use' in shows);
  t.same(
    new Set(guaranteed.map(({ shows }) => `${shows.guest} ${shows['PCBs in use']}`)),
    new Set(['control 25', 'weather 20', 'ocean 12']),
  );
  const texts = readTexts(svg);
  for (const { name } of PHASES) t.ok(texts.includes(name), name);
  for (const axis of ['part of all commands', 'PCBs in use', 'PCBs refused so far', 'seconds'])
    t.ok(texts.includes(axis), axis);
  const idle = await drawPhases(makeRun({ waiting: () => 0 }).phases);
  t.notMatch(idle, /NaN|Infinity|undefined/);
  t.equal(readMarks(idle).filter(({ kind }) => kind === 'line mark').length, 11 * 5, 'no shares are drawn');
});
