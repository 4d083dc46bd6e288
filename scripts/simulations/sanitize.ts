// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run sanitize [-- --seeds N] [--first S] [--bug NAME] [--seed S --replay]`: runs drivers with planted bugs, and the clean one, against memory that lags and is disordered as
 * PCIe allows, and prints which bug was caught by how many seeds. Fails when one was not, or when the clean driver failed. `--replay` prints the steps of one run.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import {
  addResult,
  BUG_SEEDS,
  describeRow,
  findBug,
  isGood,
  MATRIX_HEAD,
  type MatrixRow,
  newMatrix,
} from '../../device/simulations/sanitize/matrix.ts';
import { plantedBugs } from '../../device/simulations/sanitize/planted-bugs.ts';
import { runSanitize } from '../../device/simulations/sanitize/run.ts';
import type { SanitizeBatch, SanitizeReport } from './sanitize-worker.ts';

const CLEAN_SEEDS = 1000;
const USAGE = `Usage: npm run sanitize -- [--seeds N] [--first S] [--bug NAME] [--seed S --replay]
  --seeds N   seeds of the clean driver (default ${CLEAN_SEEDS}); a bug has ${BUG_SEEDS}, or N if that is less
  --first S   the first of these seeds (default 1)
  --bug NAME  only this bug (or, with --replay, a driver with it): ${plantedBugs.map(({ name }) => name).join(', ')}
  --replay    prints the steps of seed S
`;
const WORKER = fileURLToPath(new URL('./sanitize-worker.ts', import.meta.url));
/** Seeds a worker gets at a time. */
const BATCH = 10;

async function runMatrix(rows: readonly MatrixRow[], from: number): Promise<number> {
  const started = performance.now();
  const batches = rows.flatMap(({ bug, seeds }, row) =>
    Array.from({ length: Math.ceil(seeds / BATCH) }, (_, index): SanitizeBatch => {
      const done = index * BATCH;
      return { row, bug: bug?.name, first: from + done, count: Math.min(BATCH, seeds - done) };
    }),
  );
  const worker = async (): Promise<void> => {
    const child = fork(WORKER, { execArgv: ['--import=tsx'] });
    for (let batch = batches.shift(); batch !== undefined; batch = batches.shift()) {
      const { row, failures } = await ask(child, batch);
      for (const { seed, error } of failures) addResult(rows[row], seed, error);
    }
    child.kill();
  };
  await Promise.all(Array.from({ length: Math.min(availableParallelism(), batches.length) }, worker));
  const bad = rows.filter((row) => !isGood(row));
  process.stdout.write(`${MATRIX_HEAD}\n`);
  for (const row of rows) process.stdout.write(`${describeRow(row)}\n`);
  const [shown] = rows.filter(({ failures }) => failures.length > 0);
  if (shown !== undefined)
    process.stdout.write(
      `npm run sanitize -- ${shown.bug ? `--bug ${shown.bug.name} ` : ''}--seed ${shown.failures[0]} --replay\n`,
    );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${rows.length - bad.length} of ${rows.length} rows as they must be, in ${seconds} s\n`);
  return bad.length === 0 ? 0 : 1;
}

/** Sends a batch to a worker and waits for its report. */
function ask(child: ChildProcess, batch: SanitizeBatch): Promise<SanitizeReport> {
  return new Promise((resolve, reject) => {
    const fail = (status: number | null): void => reject(new Error(`A worker ended with status ${status}.`));
    child.once('exit', fail);
    child.once('message', (report) => {
      child.off('exit', fail);
      resolve(report as SanitizeReport);
    });
    child.send(batch);
  });
}

function replay(seed: number, name: string | undefined): number {
  const bug = name === undefined ? undefined : findBug(name);
  const { plan, trace, error } = runSanitize(seed, bug, true);
  process.stdout.write(`${JSON.stringify(plan, undefined, 2)}\n`);
  for (const line of trace.lines) process.stdout.write(`${line}\n`);
  process.stdout.write(`trace ${trace.digest}; ${error ?? 'no error'}\n`);
  return error === undefined ? 0 : 1;
}

async function main(args: string[]): Promise<number> {
  const { values } = parseArgs({
    args,
    options: {
      seeds: { type: 'string' },
      first: { type: 'string' },
      seed: { type: 'string' },
      bug: { type: 'string' },
      replay: { type: 'boolean' },
    },
  });
  const seed = Number(values.seed ?? 1);
  const seeds = Number(values.seeds ?? CLEAN_SEEDS);
  const first = Number(values.first ?? 1);
  if (![seed, seeds, first].every((value) => Number.isInteger(value) && value >= 0) || seeds < 1)
    throw new Error('--seed, --seeds and --first take whole numbers.');
  if (values.bug !== undefined && findBug(values.bug) === undefined)
    throw new Error(`There is no planted bug ${values.bug}.`);
  if (values.replay) return replay(seed, values.bug);
  const rows = newMatrix(seeds, Math.min(seeds, BUG_SEEDS));
  return runMatrix(values.bug === undefined ? rows : rows.filter(({ bug }) => bug?.name === values.bug), first);
}

process.exitCode = await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n${USAGE}`);
  return 2;
});
