// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca view` as a child of a command that has the option `--view`: a process of its own, so that
 * pages cost the adapter's event loop no more than answers on its control socket. It ends with the
 * adapter process and with its parent.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { printable } from '../../../protocol/system/printable.mjs';
import { StartError } from '../../../qemu/setup/tools/errors.ts';
import type { ViewMode } from '../options/option-values.ts';
import { openInBrowser } from './open-browser.ts';

/** The program of this package, as package.json names it. */
const LAUNCH = fileURLToPath(import.meta.resolve('#vuhca'));
/** Output that tells that the page can be opened. */
const ADDRESS = /^the page is at (http:\S+)$/m;

/**
 * Starts it for the process behind a control socket, and opens the page where a desktop is. Returns
 * the address. Throws StartError when it ends at once.
 */
export async function startView(controlPath: string, mode: ViewMode): Promise<string> {
  const words = ['view', '--no-open', `--control=${controlPath}`, ...(mode === 'read' ? ['--read'] : [])];
  const child = spawn('setpriv', ['--pdeathsig', 'SIGTERM', '--', process.execPath, LAUNCH, ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
    // Ctrl-C at the terminal reaches only the parent, whose end is also that of the page.
    detached: true,
  });
  const exited = once(child, 'close').catch(() => {});
  let said = '';
  child.stderr.on('data', (text) => {
    said += text;
  });
  const address = await Promise.race([readAddress(child), exited.then(() => undefined)]);
  if (address === undefined) {
    const reason = printable(said.trim().replace(/^vuhca view: /, ''));
    throw new StartError(`the page cannot be shown: ${reason || 'its process has ended at once'}`);
  }
  openInBrowser(address);
  return address;
}

async function readAddress({ stdout }: ChildProcess): Promise<string | undefined> {
  let text = '';
  for await (const part of stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text += part;
    const [, address] = ADDRESS.exec(text) ?? [];
    if (address !== undefined) return address;
  }
  return undefined;
}
