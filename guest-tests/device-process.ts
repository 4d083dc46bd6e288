// SPDX-License-Identifier: Apache-2.0
//
// The adapter process a guest test attaches to: `vuhca device` in a folder of its own, whose end, wanted or not, is noticed. Called
// by guest-run.ts.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const COMMAND = fileURLToPath(new URL('../scripts/vuhca', import.meta.url));
const READY = /^listening on /;
const START_BOUND_MS = 30_000;
const STOP_BOUND_MS = 3_000;
const LOG_LINES = 200;

/** A running adapter. */
export class DeviceProcess {
  readonly socketPath: string;
  /** The last lines it logged. */
  readonly log: string[] = [];
  readonly #child: ChildProcess;
  readonly #directory: string;
  readonly #exited: Promise<unknown>;
  #stopping = false;
  #killed = false;

  /** Starts an adapter and waits until guests may attach. Throws with what it said when it does not come up. */
  static async start(args: readonly string[] = []): Promise<DeviceProcess> {
    const device = new DeviceProcess(args);
    const ready = device.#whenReady();
    const timer = setTimeout(() => device.#child.kill('SIGKILL'), START_BOUND_MS);
    const cameUp = await Promise.race([ready, device.#exited.then(() => false)]);
    clearTimeout(timer);
    if (cameUp) return device;
    device.#removeDirectory();
    throw new Error(`the device process did not come up; it said: ${device.log.join('\n')}`);
  }

  private constructor(args: readonly string[]) {
    this.#directory = mkdtempSync(join(tmpdir(), 'vuhca-device-'));
    this.socketPath = join(this.#directory, 'vfio-user');
    const paths = ['--socket', this.socketPath, '--control', join(this.#directory, 'control')];
    // Should we be killed without a chance to clean up, the kernel ends it with us.
    const command = ['--pdeathsig', 'SIGKILL', '--', COMMAND, 'device', ...paths, ...args];
    this.#child = spawn('setpriv', command, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#exited = once(this.#child, 'close').catch(() => {});
    createInterface({ input: this.#child.stderr as NodeJS.ReadableStream }).on('line', (line) => this.#keep(line));
  }

  /** The process ended though nobody asked it to. */
  get died(): boolean {
    return !this.#stopping && (this.#child.exitCode !== null || this.#child.signalCode !== null);
  }

  /** Ends it at once, as a crash would, on purpose. */
  async kill(): Promise<void> {
    this.#killed = true;
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  /** Ends it; returns what it did wrong in ending. */
  async stop(): Promise<string[]> {
    const { died } = this;
    this.#stopping = true;
    this.#child.kill('SIGTERM');
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), STOP_BOUND_MS);
    await this.#exited;
    clearTimeout(killer);
    const left = readdirSync(this.#directory);
    this.#removeDirectory();
    const { exitCode, signalCode } = this.#child;
    if (this.#killed) return [];
    if (died) return [`the device process died (${exitCode ?? signalCode}); it said: ${this.log.join('\n')}`];
    if (signalCode !== null) return ['the device process did not end when asked to'];
    if (exitCode !== 0) return [`the device process ended with status ${exitCode}; it said: ${this.log.join('\n')}`];
    return left.length === 0 ? [] : [`the device process left ${left.join(', ')}`];
  }

  async #whenReady(): Promise<boolean> {
    for await (const line of createInterface({ input: this.#child.stdout as NodeJS.ReadableStream })) {
      this.#keep(line);
      if (READY.test(line)) return true;
    }
    return false;
  }

  #keep(line: string): void {
    this.log.push(line);
    if (this.log.length > LOG_LINES) this.log.shift();
  }

  #removeDirectory(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
