// SPDX-License-Identifier: Apache-2.0
/**
 * The settings of the terminal. QEMU makes the terminal raw for the guest's console, and cannot
 * restore it when QEMU is killed. Called by `vuhca run`.
 */
import { spawnSync } from 'node:child_process';

/** Saves the settings of the terminal on standard input, if any. The result restores them. */
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
