// SPDX-License-Identifier: Apache-2.0
/**
 * Aborts of QEMU itself. QEMU 11.1 aborts when its server vanishes in the middle of a message: it
 * sets two errors in one place. Such a run shows nothing about the driver. Called by the tests in
 * which an adapter dies.
 */
import type { Test } from 'tap';
import type { GuestRun } from './guest-run.ts';

const ABORT = 'error_setv: Assertion';

export function hasQemuAborted(run: GuestRun): boolean {
  return run.faults.some(({ text }) => text.includes(ABORT));
}

/** Runs until QEMU does not abort, at most `attempts` times. Returns the last run. */
export async function runPastAborts(t: Test, attempts: number, runOnce: () => Promise<GuestRun>): Promise<GuestRun> {
  let run = await runOnce();
  for (let attempt = 1; attempt < attempts && hasQemuAborted(run); attempt++) {
    t.comment('QEMU aborted by itself; the test runs again');
    run = await runOnce();
  }
  return run;
}
