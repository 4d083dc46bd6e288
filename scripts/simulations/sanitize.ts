// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run simulate -- sanitize [OPTIONS]`: drivers with planted bugs, and the clean one, on memory
 * that lags and is disordered as PCIe allows (docs/HAZARDS.md). Prints how many seeds caught each
 * bug; ends with 1 when a bug was not caught or the clean driver failed. `--replay` prints the
 * steps of one run.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Option } from 'commander';
import {
  addResult,
  BUG_SEEDS,
  describeRow,
  findBug,
  isGood,
  MATRIX_HEAD,
  type MatrixRow,
  newMatrix,
} from '../../device/rig/sanitize/matrix.ts';
import { plantedBugs } from '../../device/rig/sanitize/planted-bugs.ts';
import { runSanitize } from '../../device/rig/sanitize/run.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import type { SanitizeBatch, SanitizeReport } from './sanitize-worker.ts';

const CLEAN_SEEDS = 1000;
const WORKER = fileURLToPath(new URL('./sanitize-worker.ts', import.meta.url));
/** Seeds of one batch. */
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
    const child = fork(WORKER, { execArgv: ['--import=#typescript'] });
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
      `npm run simulate -- sanitize ${shown.bug ? `--bug ${shown.bug.name} ` : ''}--seed ${shown.failures[0]} --replay\n`,
    );
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  process.stdout.write(`${rows.length - bad.length} of ${rows.length} rows are as expected, in ${seconds} s\n`);
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

interface Options {
  readonly seeds: number;
  readonly first: number;
  readonly bug?: string;
  readonly seed: number;
  readonly replay?: boolean;
}

await runEntry(async () => {
  const bugs = plantedBugs.map(({ name }) => name);
  const purpose =
    'Runs drivers with planted bugs, and the clean one, on memory that lags and is disordered as PCIe allows.';
  const script = defineScript('npm run simulate -- sanitize', purpose)
    .option(
      '--seeds <N>',
      `Seeds of the clean driver; a bug has ${BUG_SEEDS}, or N if that is less.`,
      wholeNumber(1),
      CLEAN_SEEDS,
    )
    .option('--first <S>', 'The first of these seeds.', wholeNumber(), 1)
    .addOption(new Option('--bug <NAME>', 'Only this bug; with --replay, a driver with it.').choices(bugs))
    .option('--seed <S>', 'The seed of --replay.', wholeNumber(), 1)
    .option('--replay', 'Prints the steps of one seed.');
  const options = readOptions<Options>(script);
  if (options.replay) {
    process.exitCode = replay(options.seed, options.bug);
    return;
  }
  const rows = newMatrix(options.seeds, Math.min(options.seeds, BUG_SEEDS));
  const wanted = options.bug === undefined ? rows : rows.filter(({ bug }) => bug?.name === options.bug);
  process.exitCode = await runMatrix(wanted, options.first);
});
