// SPDX-License-Identifier: Apache-2.0
/** Test whether another process exists. Called by code and tests that wait for the end of one. */

/** Also true for one that has ended and that its parent has not asked for. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
