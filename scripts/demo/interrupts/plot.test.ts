// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run demo -- interrupts`: its title states the finding, its points are the
 * figures.
 */
import t from 'tap';
import { findCollisions } from '../../picture/testing/read-svg.ts';
import { readMarks, readTexts, readTitle } from '../../plot/testing/read-marks.ts';
import { drawFigures } from './plot.ts';
import {
  compareWays,
  FULL,
  formatComparison,
  formatTargets,
  type InterruptSample,
  judgeTargets,
  PLAIN,
  times,
  WAYS,
  wayNames,
} from './report.ts';

const sample = (change: Partial<InterruptSample>): InterruptSample => ({
  way: 'merged',
  rate: 1000,
  elapsedNs: 1e9,
  completions: 1000,
  interrupts: 500,
  events: 1000,
  polls: 0,
  switches: 0,
  polledInterrupts: 0,
  late: 0,
  notifies: 500,
  asked: 500,
  askedPolled: 0,
  waitedNs: 10e6,
  busyProcessors: 0.4,
  ...change,
});

const SAMPLES = [
  sample({ rate: 10, completions: 10, interrupts: 10, waitedNs: 1e5 }),
  sample({ rate: 10, completions: 10, interrupts: 10, waitedNs: 1e5, way: 'bytes' }),
  sample({}),
  sample({ interrupts: 1.234, way: 'bytes', busyProcessors: 0.28, waitedNs: 1500e6 }),
  sample({ rate: 0, completions: 100_000, interrupts: 300, waitedNs: 1e9 }),
  sample({ rate: 0, completions: 80_000, interrupts: 0, waitedNs: 8e8, way: 'bytes' }),
];

t.test('the title says what is saved at the heaviest paced load', async (t) => {
  const svg = await drawFigures(SAMPLES);
  t.equal(
    readTitle(svg),
    'Timers and summary bytes save 99.7 % of the interrupts at 1000 completions per second',
    'never more than was measured',
  );
  t.match(
    readTexts(svg).join(' '),
    /CPU time of a completion at 1000 completions per second: x 0\.70 of that with an interrupt for a pass \(rounds: 0\.70 to 0\.70\)\./,
  );
  t.match(
    readTexts(svg).join(' '),
    /Latency at 1000 completions per second: 1500 us instead of 10 us\. Throughput at saturation: x 0\.80\./,
  );
  const without = SAMPLES.map((one) => (one.rate === 1000 ? { ...one, interrupts: 500 } : one));
  t.equal(
    readTitle(await drawFigures(without)),
    'Timers and summary bytes save no interrupts at 1000 completions per second',
  );
  const saturated = SAMPLES.filter(({ rate }) => rate === 0);
  t.equal(
    readTitle(await drawFigures(saturated)),
    'Timers and summary bytes save 100 % of the interrupts at saturation',
  );
});

t.test('a point for each figure in each panel, labelled with its value', async (t) => {
  const svg = await drawFigures(SAMPLES);
  const marks = readMarks(svg);
  t.equal(marks.filter(({ kind }) => kind === 'line mark').length, 6, 'two ways in three panels');
  const interrupts = marks.filter(
    ({ kind, shows }) => kind === 'point' && 'interrupts per million completions' in shows,
  );
  const processors = marks.filter(
    ({ kind, shows }) => kind === 'point' && 'CPU of the guest, % of one processor' in shows,
  );
  const latencies = marks.filter(({ kind, shows }) => kind === 'point' && 'from posting to handling, us' in shows);
  t.equal(interrupts.length + processors.length + latencies.length, 18);
  t.same(
    latencies.map(({ shows }) => shows['from posting to handling, us']),
    ['10', '10', '10', '1.5k', '10', '10'],
  );
  t.same(
    interrupts.map(({ shows }) => [shows.way, shows.load, shows['interrupts per million completions']]),
    [
      ['an interrupt for a pass', '10', '1M'],
      ['timers and summary bytes', '10', '1M'],
      ['an interrupt for a pass', '1k', '500k'],
      ['timers and summary bytes', '1k', '1.234k'],
      ['an interrupt for a pass', '100k', '3k'],
      ['timers and summary bytes', '80k', '1'],
    ],
    'a logarithmic axis has no 0',
  );
  const texts = readTexts(svg);
  for (const label of ['500k', '1.23k', '3k', '0', '40', '28']) t.ok(texts.includes(label), `label ${label}`);
  t.notMatch(svg, /NaN|Infinity|undefined/);
});

t.test('with the least and the most of the rounds', async (t) => {
  const rounds = [0.3, 0.4, 0.6].flatMap((busyProcessors) => SAMPLES.map((one) => ({ ...one, busyProcessors })));
  const rules = readMarks(await drawFigures(rounds)).filter(({ kind }) => kind === 'rule mark');
  t.same(
    rules.slice(-12, -6).map(({ shows }) => [shows['CPU of the guest, % of one processor'], shows.most]),
    Array(6).fill(['30', '60']),
  );
});

t.test('the parts measured apart: what each leaves of the interrupts, and a line for most ways', async (t) => {
  const left = { each: 999_000, merged: 77_700, polling: 6660, timers: 555, bytes: 44, apart2: 33, apart8: 22 };
  const all = WAYS.flatMap((way) => [
    sample({ way, rate: 10, completions: 10 }),
    sample({ way, interrupts: left[way] / 1000 }),
  ]);
  const svg = await drawFigures(all);
  const texts = readTexts(svg);
  const said = WAYS.map((way) => `${wayNames[way]} ${left[way]}`).join(', ');
  t.match(texts.join(' '), `Interrupts per million completions at 1000 completions per second: ${said}.`);
  t.equal(readMarks(svg).filter(({ kind }) => kind === 'line mark').length, 15, 'five ways in three panels');
  const labels = ['999k', '77.7k', '6.66k', '555', '44', '33', '22'].filter((label) => texts.includes(label));
  t.same(labels, ['77.7k', '44'], 'only the ways of the headline have labels');
});

t.test('the ratios of the plot are those of the tables', async (t) => {
  const rounds = [0.21, 0.34, 0.29].flatMap((busyProcessors, round) => [
    sample({ rate: 8000, busyProcessors: 0.4 + round / 10, interrupts: 700 + round }),
    sample({ rate: 8000, way: 'bytes', busyProcessors, interrupts: 2 + round, completions: 1010 }),
  ]);
  const ratios = compareWays(rounds, 8000, FULL, PLAIN);
  const said = readTexts(await drawFigures(rounds)).join(' ');
  const busy = times(ratios?.busy ?? 0);
  t.ok(said.includes(`completions per second: ${busy} of that`), said);
  t.match(formatTargets(judgeTargets(rounds)), new RegExp(`processor time, at 8000/s +${busy} `));
  t.match(formatComparison(rounds), new RegExp(` ${times(ratios?.interrupts ?? 0)} +${busy} `));
  const saved = 100 * (1 - (ratios?.interrupts ?? 0));
  t.ok(said.includes(`save ${Math.floor(10 * saved) / 10} %`), said);
});

t.test('drawn ways differ in colour, dashes and shape; no text lies on another', async (t) => {
  const all = WAYS.flatMap((way, index) =>
    [10, 2000, 8000].map((rate) =>
      sample({ way, rate, completions: rate, interrupts: rate / (1 + 9 ** index), busyProcessors: 0.5 - index / 20 }),
    ),
  );
  const svg = await drawFigures(all);
  const lines = readMarks(svg).filter(({ kind }) => kind === 'line mark');
  const of = (attribute: string): Set<string | undefined> =>
    new Set(lines.map(({ element }) => new RegExp(` ${attribute}="([^"]*)"`).exec(element)?.[1]));
  t.equal(of('stroke').size, 5, 'colours');
  t.equal(of('stroke-dasharray').size, 5, 'dashes');
  t.same(findCollisions(svg), []);
});
