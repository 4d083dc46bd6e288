// SPDX-License-Identifier: Apache-2.0
/**
 * The plot of `npm run demo:interrupts`: its title states the finding, its points are the figures.
 */
import t from 'tap';
import { readMarks, readTexts, readTitle } from '../../plot/testing/read-marks.ts';
import { drawFigures } from './plot.ts';
import { type InterruptFigure, WAYS, wayNames } from './report.ts';

const figure = (change: Partial<InterruptFigure>): InterruptFigure => ({
  way: 'merged',
  rate: 1000,
  completionsPerSecond: 999,
  interruptsPerMillion: 500_000,
  pollsPerMillion: 0,
  notifiesPerMillion: 500_000,
  busyProcessors: 0.4,
  leastBusy: 0.3,
  mostBusy: 0.6,
  waitUs: 10,
  ...change,
});

const FIGURES = [
  figure({ rate: 10, completionsPerSecond: 10, interruptsPerMillion: 1e6 }),
  figure({ rate: 10, completionsPerSecond: 10, interruptsPerMillion: 1e6, way: 'bytes' }),
  figure({}),
  figure({ interruptsPerMillion: 1234, way: 'bytes', busyProcessors: 0.35, waitUs: 1500 }),
  figure({ rate: 0, completionsPerSecond: 100_000, interruptsPerMillion: 3000 }),
  figure({ rate: 0, completionsPerSecond: 80_000, interruptsPerMillion: 0, way: 'bytes' }),
];

t.test('the title says what is saved at the heaviest paced load', async (t) => {
  const svg = await drawFigures(FIGURES);
  t.equal(
    readTitle(svg),
    'Timers and summary bytes save 99.7 % of the interrupts at 1000 completions per second',
    'never more than was measured',
  );
  t.match(
    readTexts(svg).join('\n'),
    /^CPU time of the guest at 1000 completions per second: 35 % of one processor instead of 40 %\.$/m,
  );
  t.match(
    readTexts(svg).join('\n'),
    /^Latency at 1000 completions per second: 1500 us instead of 10 us\.\nThroughput at saturation: 0\.80 times that with interrupts\.$/m,
  );
  const without = FIGURES.map((one) => (one.rate === 1000 ? { ...one, interruptsPerMillion: 500_000 } : one));
  t.equal(
    readTitle(await drawFigures(without)),
    'Timers and summary bytes save no interrupts at 1000 completions per second',
  );
  const saturated = FIGURES.filter(({ rate }) => rate === 0);
  t.equal(
    readTitle(await drawFigures(saturated)),
    'Timers and summary bytes save 100 % of the interrupts at saturation',
  );
});

t.test('a point for each figure in each panel, labelled with its value', async (t) => {
  const svg = await drawFigures(FIGURES);
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
      ['an interrupt for a pass', '999', '500k'],
      ['timers and summary bytes', '999', '1.234k'],
      ['an interrupt for a pass', '100k', '3k'],
      ['timers and summary bytes', '80k', '1'],
    ],
    'a logarithmic axis has no 0',
  );
  const texts = readTexts(svg);
  for (const label of ['500k', '1.23k', '3k', '0', '40', '35']) t.ok(texts.includes(label), `label ${label}`);
  t.notMatch(svg, /NaN|Infinity|undefined/);
});

t.test('with the least and the most of the rounds', async (t) => {
  const rules = readMarks(await drawFigures(FIGURES)).filter(({ kind }) => kind === 'rule mark');
  t.same(
    rules.slice(-12, -6).map(({ shows }) => [shows['CPU of the guest, % of one processor'], shows.most]),
    Array(6).fill(['30', '60']),
  );
});

t.test('the parts measured apart: a line for each way, and what each leaves of the interrupts', async (t) => {
  const left = { each: 999_000, merged: 77_700, polling: 6660, timers: 555, bytes: 44 };
  const all = WAYS.flatMap((way) => [
    figure({ way, rate: 10, completionsPerSecond: 10 }),
    figure({ way, interruptsPerMillion: left[way] }),
  ]);
  const svg = await drawFigures(all);
  const texts = readTexts(svg);
  const said = WAYS.map((way) => `${wayNames[way]} ${left[way]}`).join(', ');
  t.match(texts.join(' '), `Interrupts per million completions at 1000 completions per second: ${said}.`);
  t.equal(readMarks(svg).filter(({ kind }) => kind === 'line mark').length, 15, 'five ways in three panels');
  const labels = ['999k', '77.7k', '6.66k', '555', '44'].filter((label) => texts.includes(label));
  t.same(labels, ['77.7k', '44'], 'only the ways of the headline have labels');
});
