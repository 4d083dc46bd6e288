// SPDX-License-Identifier: Apache-2.0
//
// The terminal's settings: QEMU makes it raw for the guest's console and cannot mend it when it is killed.

import { spawnSync } from 'node:child_process';

/** Remembers the settings of the terminal on standard input, if it is one; returns what restores them. */
export function saveTerminal(): () => void {
  if (!process.stdin.isTTY) return () => {};
  const settings = stty(['-g']);
  return () => {
    if (settings !== '') stty([settings]);
  };
}

function stty(args: readonly string[]): string {
  const { status, stdout } = spawnSync('stty', args, { stdio: ['inherit', 'pipe', 'ignore'], encoding: 'utf8' });
  return status === 0 ? stdout.trim() : '';
}
