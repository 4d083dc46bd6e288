// SPDX-License-Identifier: Apache-2.0
/**
 * A lock that two set-up runs cannot both hold and a dead process cannot keep. The kernel holds it:
 * a `flock` child owns the lock on the file while its standard input stays open, which ends with
 * the process that started it, however that process dies. So there is no stale lock to recognise
 * and no race in taking one over. The text of the file names the holder and its work, for the
 * message of a waiting run. Called by cache.ts, module-build.ts and apt.ts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { announce } from './progress.ts';
import { SetupError } from './tools/errors.ts';

const TELL_AFTER_MS = 1_000;

/** flock's exit status when another process holds the lock; no other failure has it. */
const BUSY = 75;

/**
 * Waits for the lock file at `path`, then awaits `work` while holding it. A run that waits for it
 * tells `label`, a present participle phrase.
 */
export async function withLock<T>(path: string, work: () => Promise<T>, label = ''): Promise<T> {
  return hold(path, (await acquire(path, [])) as ChildProcess, work, label);
}

/** Awaits `work` while holding the lock file at `path`; does nothing when it is held already. */
export async function withLockIfFree(path: string, work: () => Promise<void>): Promise<void> {
  const holder = await acquire(path, ['--nonblock', '--conflict-exit-code', String(BUSY)]);
  if (holder !== undefined) await hold(path, holder, work);
}

async function hold<T>(path: string, holder: ChildProcess, work: () => Promise<T>, label = ''): Promise<T> {
  try {
    writeFileSync(path, `${process.pid}${label === '' ? '' : `, which is ${label}`}\n`);
    return await work();
  } finally {
    await release(holder);
  }
}

/** The holder of the lock; undefined when `options` have flock give up. */
function acquire(path: string, options: readonly string[]): Promise<ChildProcess | undefined> {
  mkdirSync(dirname(path), { recursive: true });
  return new Promise((resolve, reject) => {
    // With --no-fork the lock would end with exec; flock keeps it until its child, cat, sees the
    // end of input.
    const child = spawn('flock', ['--exclusive', ...options, path, 'sh', '-c', 'echo held; exec cat >/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const waiting = setTimeout(() => announce(`waiting for process ${holderOf(path)} (lock ${path})`), TELL_AFTER_MS);
    waiting.unref();
    child.once('error', (error) =>
      reject(new SetupError(`cannot lock ${path}: ${error.message}; install util-linux.`)),
    );
    child.once('exit', (status) => {
      clearTimeout(waiting);
      if (status === BUSY) return resolve(undefined);
      reject(
        new SetupError(`cannot lock ${path} (flock ended with status ${status}); check that the folder is writable.`),
      );
    });
    child.stdin.on('error', () => {});
    child.stdout.once('data', () => {
      clearTimeout(waiting);
      resolve(child);
    });
  });
}

function release(holder: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (holder.exitCode !== null || holder.signalCode !== null) return resolve();
    holder.once('exit', () => resolve());
    holder.stdin?.end();
  });
}

function holderOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim() || 'unknown';
  } catch {
    return 'unknown';
  }
}
