// SPDX-License-Identifier: Apache-2.0
/** Folders that a command may have left. Called by the tests of `vuhca run`. */
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';

/** Folders of guests and devices that process `pid` made. */
export function runFolders(pid: number | undefined): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`vuhca-guest-${pid}-`));
}
