// SPDX-License-Identifier: Apache-2.0
/**
 * Opens the page of `vuhca view` in the browser of a desktop. Every user of the machine can read
 * the command lines of all processes, so no command line contains the address with its token: a
 * file that only this user can read leads to it.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FILE_MODE = 0o600;

/** True where a user at a desktop has typed the command. */
export function hasDesktop(
  environment: NodeJS.ProcessEnv = process.env,
  isTerminal: boolean = process.stdout.isTTY === true,
): boolean {
  const { DISPLAY = '', WAYLAND_DISPLAY = '' } = environment;
  return isTerminal && (DISPLAY !== '' || WAYLAND_DISPLAY !== '');
}

/** Does nothing without a desktop. The file is removed when this process ends. */
export function openInBrowser(address: string): void {
  if (!hasDesktop()) return;
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-view-'));
  // After a crash the file stays, with a token that is no longer valid.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'view.html');
  writeFileSync(path, leadTo(address), { mode: FILE_MODE });
  const child = spawn('xdg-open', [path], { stdio: 'ignore', detached: true });
  // The address has been printed: without the program it is opened by hand.
  child.on('error', () => {});
  child.unref();
}

/** A document that leads to the address; the address has no characters of markup. */
export function leadTo(address: string): string {
  return `<!doctype html><meta charset="utf-8"><title>vuhca view</title><meta http-equiv="refresh" content="0;url=${address}">\n`;
}
