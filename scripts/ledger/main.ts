// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run ledger`: runs every test that names statements of the InfiniBand specification
 * (`ledger(t, section, statement)`), and every test that document-rows.ts names; writes the last
 * sections of docs/COMPLIANCE.md and docs/DOCUMENTS.md: the tests for each statement. `--check`
 * (`npm run check -- ledger`) writes nothing and fails when a document differs: a test is missing,
 * was not run, or failed. `--run` takes the results from the output of earlier runs.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { readDocumentSources, readNamedTests } from './document-sources.ts';
import { DOCUMENTS_PATH, fillLedger, writeDocumentLedger } from './documents.ts';
import { formatLedger, LedgerReader, type RunResults, readRun } from './ledger-reader.ts';

interface Options {
  readonly check?: boolean;
  readonly run?: readonly string[];
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TESTS = 'device';
const DOCUMENT = 'docs/COMPLIANCE.md';

/** Test files that name statements, by path. */
function findTests(): string[] {
  return readdirSync(join(ROOT, TESTS), { recursive: true, encoding: 'utf8' })
    .map((path) => `${TESTS}/${path.replaceAll('\\', '/')}`)
    .filter((path) => /\.(test|long)\.ts$/.test(path) && /\bledger\(\s*t,/.test(readFileSync(join(ROOT, path), 'utf8')))
    .sort();
}

/** Runs one test file and reads its TAP output. */
async function readTest(path: string): Promise<LedgerReader> {
  const reader = new LedgerReader(path);
  const child = spawn(process.execPath, ['--import=#typescript', path], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const closed = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout })) reader.push(line);
  reader.finish();
  await closed;
  return reader;
}

async function readTests(paths: readonly string[]): Promise<LedgerReader[]> {
  const byPath = new Map<string, LedgerReader>();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let path = paths[next++]; path !== undefined; path = paths[next++]) byPath.set(path, await readTest(path));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return [...byPath.values()];
}

/** Results of `paths` in the kept output of runs of tests. */
function readRuns(runs: readonly string[], paths: readonly string[]): RunResults[] {
  return runs.map((run) => readRun(readFileSync(run, 'utf8'), paths));
}

/** Writes both documents, or compares them; returns the exit status. */
async function writeLedgers({ check = false, run }: Options): Promise<number> {
  const named = readNamedTests().filter((path) => existsSync(join(ROOT, path)));
  const paths = [...new Set([...findTests(), ...named])].sort();
  const readers: readonly RunResults[] = run === undefined ? await readTests(paths) : readRuns(run, paths);
  const entries = readers.flatMap((reader) => reader.entries);
  const outcomes = readers.flatMap((reader) => reader.outcomes);
  const failed = entries.filter(({ passed }) => !passed);
  const { page, problems } = writeDocumentLedger(readDocumentSources(ROOT, outcomes));
  for (const { section, statement, test } of failed)
    problems.push(`IBTA ${section}: "${statement}" is not shown: ${test} did not pass`);
  const compliance = readFileSync(join(ROOT, DOCUMENT), 'utf8');
  for (const [path, text] of [
    [DOCUMENT, fillLedger(compliance, DOCUMENT, formatLedger(entries))],
    [DOCUMENTS_PATH, page],
  ]) {
    const file = join(ROOT, path);
    if (!check) writeFileSync(file, text);
    else if (readFileSync(file, 'utf8') !== text)
      problems.push(`${path} differs from the tests: a statement or its test has changed; run npm run ledger`);
  }
  for (const sentence of problems) process.stderr.write(`${sentence}\n`);
  const shown = entries.length - failed.length;
  process.stdout.write(`${shown} of ${entries.length} statements are shown by tests that pass\n`);
  return problems.length === 0 ? 0 : 1;
}

await runEntry(async () => {
  const script = defineScript('npm run ledger --', `Writes ${DOCUMENT} and ${DOCUMENTS_PATH}: which test shows what.`);
  const checked = script
    .option('--check', 'Writes nothing and fails when a statement is not shown.')
    .option('--run <files...>', 'Reads the output of these runs of tests, and runs none: build/test.tap.');
  process.exitCode = await writeLedgers(readOptions<Options>(checked));
});
