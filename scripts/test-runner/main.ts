// SPDX-License-Identifier: Apache-2.0
/**
 * `npm test`: sets everything up, runs every test with tap, and ends with "N passed, N failed".
 * Arguments go to tap, so `npm test -- FILE.test.ts` runs one file. `npm run test:long` runs the
 * files `*.long.ts` instead: further seeds and kernels, long waits. Pure tests of a folder run in
 * one process, by a module that is written to build/tests. The whole TAP output is kept in
 * build/test.tap.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runEntry } from '../../qemu/setup/errors.ts';
import { setUp } from '../setup/set-up.ts';
import { TapSummary } from './tap-summary.ts';
import { moduleOf, planProcesses } from './test-processes.ts';

const FOLDERS = ['device', 'protocol', 'qemu', 'guest-tests', 'scripts'];
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Modules of processes that run several files. */
const SHARED = join(ROOT, 'build', 'tests');

await runEntry(async () => {
  const { qemu, accelerator } = await setUp('test');
  process.stdout.write(`# QEMU ${qemu.version}, ${accelerator.toUpperCase()}\n`);
  const summary = new TapSummary((line) => process.stdout.write(`${line}\n`));
  rmSync(SHARED, { recursive: true, force: true });
  const status = await runTap(chooseFiles(process.argv.slice(2)), summary);
  const { passed, failed, skipped } = summary.counts;
  // tap can fail without a failed point, for instance when a test file has no test at all.
  const unexplained = status !== 0 && failed === 0 ? 1 : 0;
  if (unexplained > 0) process.stdout.write(`tap ended with status ${status} though no test point failed\n`);
  if (passed + failed === 0) process.stdout.write('no test was run\n');
  process.stdout.write(
    `${passed} passed, ${failed + unexplained} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`,
  );
  if (status !== 0 || failed > 0 || passed === 0) process.exitCode = 1;
});

/** The words for tap; `--long` stands for the files of the long tests, no word for all others. */
function chooseFiles(words: readonly string[]): readonly string[] {
  if (words.length === 0) return planProcesses(findFiles('.test.ts')).map(({ name, files }) => fileFor(name, files));
  if (!words.includes('--long')) return words;
  return [...findFiles('.long.ts').sort(), ...words.filter((word) => word !== '--long')];
}

/** Paths of the files whose names end with `ending`, from the root. */
function findFiles(ending: string): string[] {
  return FOLDERS.flatMap((folder) =>
    (readdirSync(join(ROOT, folder), { recursive: true }) as string[])
      .filter((path) => path.endsWith(ending))
      .map((path) => join(folder, path)),
  );
}

/** The file that tap runs for a process: its only one, or a module that imports all its files. */
function fileFor(name: string, files: readonly string[]): string {
  if (files.length === 1 && files[0] === name) return name;
  const path = join(SHARED, `${name}.test.ts`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, moduleOf({ name, files }, relative(dirname(path), ROOT)));
  return relative(ROOT, path);
}

/** Runs tap to its end, feeding `summary`; returns its exit status, 1 for a signal. */
async function runTap(args: readonly string[], summary: TapSummary): Promise<number> {
  mkdirSync(join(ROOT, 'build'), { recursive: true });
  const log = createWriteStream(join(ROOT, 'build', 'test.tap'));
  const tap = join(ROOT, 'node_modules', '.bin', 'tap');
  const child = spawn(process.execPath, [tap, '--reporter=tap', '--no-color', ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = (signal: NodeJS.Signals): void => {
    child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, stop);
  const closed = once(child, 'close') as Promise<[number | null]>;
  for await (const line of createInterface({ input: child.stdout })) {
    log.write(`${line}\n`);
    summary.push(line);
  }
  summary.finish();
  const [status] = await closed;
  await new Promise((resolve) => log.end(resolve));
  return status ?? 1;
}
