// SPDX-License-Identifier: Apache-2.0
/** The report of `npm run demo:interrupts`: figures, table and plot, with a load at which nothing came. */
import t from 'tap';
import {
  busyProcessors,
  completionRate,
  drawSamples,
  formatSamples,
  type InterruptSample,
  interruptsPerMillion,
  meanWaitUs,
} from './interrupt-report.ts';

const sample = (change: Partial<InterruptSample>): InterruptSample => ({
  adaptive: false,
  rate: 1000,
  elapsedNs: 2e9,
  busyUs: 1_000_000,
  completions: 2000,
  interrupts: 1000,
  events: 2000,
  polls: 0,
  waitedNs: 4e6,
  ...change,
});

t.test('figures are per second, per million and per completion', async (t) => {
  t.equal(completionRate(sample({})), 1000);
  t.equal(interruptsPerMillion(sample({})), 500_000);
  t.equal(busyProcessors(sample({})), 0.5);
  t.equal(meanWaitUs(sample({})), 2);
});

t.test('the table has a line for each sample', async (t) => {
  const lines = formatSamples([sample({}), sample({ adaptive: true, rate: 0, interrupts: 0 })]).split('\n');
  t.match(lines[1], /^ +1000 {2}an interrupt per event +1000 +500000 +50 +500 +2$/);
  t.match(lines[2], /^saturated {2}timers and summary bytes +1000 +0 +50 +500 +2$/);
});

t.test('the plot has both ways, and leaves out what did not complete', async (t) => {
  const samples = [
    sample({}),
    sample({ completions: 20_000 }),
    sample({ adaptive: true, interrupts: 0 }),
    sample({ adaptive: true, completions: 0, interrupts: 0 }),
  ];
  const svg = drawSamples(samples);
  t.match(svg, /^<svg .*<\/svg>\n$/s);
  t.equal(svg.match(/<circle/g)?.length, 6, 'three samples in two panels');
  t.notMatch(svg, /NaN|Infinity/);
});
