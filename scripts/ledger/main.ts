// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run ledger`: runs every test that names statements of the InfiniBand specification
 * (`ledger(t, section, statement)`) and writes docs/COMPLIANCE.md: which test shows which
 * statement. `--check` (`npm run check:ledger`) writes nothing and fails when the document differs:
 * a statement's test is missing, was not run, or failed.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runEntry } from '../../qemu/setup/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/script-options.ts';
import { formatLedger, type LedgerEntry, LedgerReader } from './ledger-reader.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TESTS = 'device';
const DOCUMENT = 'docs/COMPLIANCE.md';

/** Test files that name statements, by path. */
function findTests(): string[] {
  return readdirSync(join(ROOT, TESTS), { recursive: true, encoding: 'utf8' })
    .map((path) => `${TESTS}/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.test.ts') && readFileSync(join(ROOT, path), 'utf8').includes('ledger(t, '))
    .sort();
}

/** Runs one test file and reads its TAP output. */
async function readTest(path: string): Promise<LedgerEntry[]> {
  const reader = new LedgerReader(path);
  const child = spawn(process.execPath, ['--import=tsx', path], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close');
  for await (const line of createInterface({ input: child.stdout })) reader.push(line);
  reader.finish();
  await closed;
  return reader.entries;
}

async function collect(): Promise<LedgerEntry[]> {
  const paths = findTests();
  const byPath = new Map<string, LedgerEntry[]>();
  let next = 0;
  const work = async (): Promise<void> => {
    for (let path = paths[next++]; path !== undefined; path = paths[next++]) byPath.set(path, await readTest(path));
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return paths.flatMap((path) => byPath.get(path) ?? []);
}

/** Writes the document, or compares it; returns the exit status. */
async function writeLedger(check: boolean): Promise<number> {
  const entries = await collect();
  const failed = entries.filter(({ passed }) => !passed);
  for (const { section, statement, test } of failed)
    process.stderr.write(`IBTA ${section}: "${statement}" is not shown: ${test} did not pass\n`);
  const text = formatLedger(entries);
  const file = join(ROOT, DOCUMENT);
  const shown = entries.length - failed.length;
  if (!check) {
    writeFileSync(file, text);
    process.stdout.write(`${DOCUMENT}: ${shown} of ${entries.length} statements are shown by tests that pass\n`);
    return failed.length === 0 ? 0 : 1;
  }
  const isCurrent = existsSync(file) && readFileSync(file, 'utf8') === text;
  if (!isCurrent)
    process.stderr.write(
      `${DOCUMENT} differs from the tests: a statement or its test has changed; run npm run ledger\n`,
    );
  process.stdout.write(`${shown} of ${entries.length} statements are shown by tests that pass\n`);
  return isCurrent && failed.length === 0 ? 0 : 1;
}

await runEntry(async () => {
  const script = defineScript('npm run ledger --', `Writes ${DOCUMENT}: which test shows which statement.`);
  const checked = script.option('--check', 'Writes nothing and fails when a statement is not shown.');
  process.exitCode = await writeLedger(readOptions<{ check?: boolean }>(checked).check ?? false);
});
