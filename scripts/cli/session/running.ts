// SPDX-License-Identifier: Apache-2.0
/** Test whether another process exists. Called by code and tests that wait for the end of one. */

/** Also true for a process that has ended but was not reaped. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
