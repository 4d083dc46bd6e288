// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run demo -- interrupts`: the interrupts and processor time that timers and summary bytes of
 * event queues save (IPCOM000126453D), and their cost in latency. A guest runs from nearly idle to
 * saturated, from an interrupt for each event to polling with timers and bytes, adding one part
 * after another, then with polls that are further apart; tables and a plot compare them. Ends with
 * 1 when interrupts are not saved.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runEntry } from '../../../qemu/setup/tools/errors.ts';
import { defineScript } from '../../../qemu/setup/tools/script-options.ts';
import { readWithAdapter } from '../../cli/options/adapter-script.ts';
import { setUp } from '../../setup/set-up.ts';
import { drawFigures } from './plot.ts';
import {
  formatComparison,
  formatFigures,
  formatTargets,
  type InterruptFigure,
  JUDGED_LOAD,
  judgeTargets,
  PLAIN,
  RARE,
  summarize,
  wayNames,
} from './report.ts';
import { measureInterrupts } from './run.ts';

const LOADS = [10, 100, 500, 2000, 8000, 0];
const MEASURED_MS = 1500;
const ROUNDS = 5;
/** Interrupts must be fewer by this factor at the judged load. */
const WANTED_RATIO = 10;
/** The share of that load that must have been reached. */
const REACHED = 0.9;
const PLOT = fileURLToPath(new URL('../../../build/demo/interrupts.svg', import.meta.url));

const started = performance.now();

await runEntry(async () => {
  const purpose = 'Measures what timers and summary bytes of event queues save.';
  const { words, data } = readWithAdapter<{ readonly data?: string }>(
    defineScript('npm run demo -- interrupts', purpose).option('--data <FILE>', 'Writes all samples, as JSON.'),
  );
  await setUp('start');
  say('starting an adapter and a guest');
  const samples = await measureInterrupts({
    loads: LOADS,
    measuredMs: MEASURED_MS,
    rounds: ROUNDS,
    adapter: words,
    onBegin: say,
  });
  if (data !== undefined) writeFileSync(data, `${JSON.stringify(samples)}\n`);
  const figures = summarize(samples);
  process.stdout.write(
    [
      `\n${formatFigures(figures)}`,
      `Medians of ${ROUNDS} rounds. CPU is the host's processor time of the guest's processors, where 100 % is one of them;\nit includes the sender. The least and the most are in brackets. Notifies: stores that asked for an event.`,
      `\n${formatComparison(samples)}`,
      `\n${formatTargets(judgeTargets(samples))}`,
      'A load is 64-byte RDMA WRITEs of eight connections. An interrupt for a pass: events of one pass of the\nadapter share it. The driver polls under load only.',
    ].join('\n'),
  );
  mkdirSync(dirname(PLOT), { recursive: true });
  writeFileSync(PLOT, await drawFigures(samples));
  process.stdout.write(`\nPlot: ${PLOT}\n`);
  const objection = findObjection(figures);
  if (objection === undefined) return;
  process.stdout.write(`${objection}\n`);
  process.exitCode = 1;
});

/** Reason why the measurement does not show the saving of interrupts, or undefined. */
function findObjection(figures: readonly InterruptFigure[]): string | undefined {
  const judged = figures.filter(({ rate }) => rate === JUDGED_LOAD);
  const [each, polled] = [PLAIN, RARE].map((wanted) => judged.find(({ way }) => way === wanted) as InterruptFigure);
  const slowest = Math.min(each.completionsPerSecond, polled.completionsPerSecond);
  if (slowest < JUDGED_LOAD * REACHED)
    return `The host was too busy: ${slowest.toFixed(0)} of ${JUDGED_LOAD} completions per second arrived. Run it again on an idle host.`;
  if (polled.interruptsPerMillion * WANTED_RATIO <= each.interruptsPerMillion) return undefined;
  return `At ${JUDGED_LOAD} completions per second there should be ${WANTED_RATIO} times fewer interrupts with ${wayNames[RARE]}.`;
}

function say(text: string): void {
  process.stdout.write(`${((performance.now() - started) / 1000).toFixed(1).padStart(6)} s  ${text}\n`);
}
