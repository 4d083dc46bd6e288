// SPDX-License-Identifier: Apache-2.0
/**
 * A folder for the sockets of one running guest. It is removed when the guest ends, when this
 * process ends or is asked to end by SIGINT, SIGTERM or SIGHUP, and, after SIGKILL, by the next
 * run, which recognises folders of dead processes by their names. Called by guest.ts and
 * device-child.ts.
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PREFIX = 'vuhca-guest-';
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

const cleanups = new Set<() => void>();
let installed = false;

/** A new private folder; its name contains the id of this process. */
export function makeRunDirectory(): string {
  removeAbandoned();
  return mkdtempSync(join(tmpdir(), `${PREFIX}${process.pid}-`));
}

/**
 * Calls `cleanup`, synchronously, when this process ends before the returned function is called.
 */
export function onProcessEnd(cleanup: () => void): () => void {
  install();
  cleanups.add(cleanup);
  return () => cleanups.delete(cleanup);
}

function removeAbandoned(): void {
  for (const name of readdirSync(tmpdir())) {
    const owner = new RegExp(`^${PREFIX}([0-9]+)-`).exec(name)?.[1];
    if (owner === undefined || isAlive(Number(owner))) continue;
    try {
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
    } catch {
      // The folder of another user: that user's next run removes it.
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function install(): void {
  if (installed) return;
  installed = true;
  process.on('exit', runCleanups);
  for (const signal of SIGNALS) {
    const handler = (): void => {
      runCleanups();
      process.off(signal, handler);
      // Another listener decides how the process ends; without one, the signal ends it as usual.
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    };
    process.on(signal, handler);
  }
}

function runCleanups(): void {
  for (const cleanup of [...cleanups]) {
    cleanups.delete(cleanup);
    cleanup();
  }
}
