// SPDX-License-Identifier: Apache-2.0
/** Processes and folders that a command may have left. Called by the tests of `vuhca run`. */
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Folders of guests and devices that process `pid` made. */
export function runFolders(pid: number | undefined): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`vuhca-guest-${pid}-`));
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
