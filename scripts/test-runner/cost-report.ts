// SPDX-License-Identifier: Apache-2.0
/**
 * Costs of a run of tests, as tables: by file and kind of program, and in total, also as a multiple
 * of a fixed run that is timed beside the tests, so that machines compare. Called by main.ts.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { table } from '../console/table.ts';
import { type FileCost, KINDS, noSeconds } from './processor-times.ts';
import { minutes } from './progress.ts';

const REFERENCE = fileURLToPath(new URL('reference-run.ts', import.meta.url));
const BETWEEN_MS = 45_000;

/** Starts the fixed run every 45 seconds, so that it meets the load that the tests meet. */
export class ReferenceRuns {
  readonly seconds: number[] = [];
  #pending: Promise<void> = this.#run();
  readonly #timer = setInterval(() => {
    this.#pending = this.#pending.then(() => this.#run());
  }, BETWEEN_MS);

  /** Waits for the one that runs. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#pending;
  }

  async #run(): Promise<void> {
    const child = spawn(process.execPath, ['--import=#typescript', REFERENCE], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const seconds = Number.parseFloat(await text(child.stdout));
    if (Number.isFinite(seconds)) this.seconds.push(seconds);
  }
}

/** A line for each file, the dearest first, and one for all. */
export function describeCosts(costs: ReadonlyMap<string, FileCost>, wall: ReadonlyMap<string, number>): string {
  const sums = noSeconds();
  let guests = 0;
  const rows = [...costs]
    .map(([file, cost]) => ({ file, cost, total: KINDS.reduce((sum, kind) => sum + cost.seconds[kind], 0) }))
    .sort((a, b) => b.total - a.total)
    .map(({ file, cost, total }) => {
      for (const kind of KINDS) sums[kind] += cost.seconds[kind];
      guests += cost.guests;
      const cells = KINDS.map((kind) => cost.seconds[kind].toFixed(1));
      return [file, (wall.get(file) ?? 0).toFixed(1), total.toFixed(1), ...cells, `${cost.guests || ''}`];
    });
  const total = KINDS.reduce((sum, kind) => sum + sums[kind], 0);
  const last = ['all', '', total.toFixed(1), ...KINDS.map((kind) => sums[kind].toFixed(1)), `${guests}`];
  const head = ['file, seconds of', 'clock', 'processor', ...KINDS, 'guests'];
  return table([head, ...rows, last], 1);
}

/** Processor time of all, and how many of the fixed runs that is. */
export function describeTotal(
  processorSeconds: number,
  wallSeconds: number,
  reference: readonly number[] = [],
): string {
  const sorted = [...reference].sort((a, b) => a - b);
  const median = sorted[sorted.length >> 1];
  const ratio =
    median === undefined
      ? ''
      : `, ${(processorSeconds / median).toFixed(0)} times a fixed run beside it (median of ${sorted.length}: ${median.toFixed(2)} s)`;
  return `processor time ${minutes(processorSeconds)} in ${minutes(wallSeconds)} by the clock${ratio}`;
}
