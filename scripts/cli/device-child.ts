// SPDX-License-Identifier: Apache-2.0
//
// A `vuhca device` process as a child: started, ready when its sockets are, ended within a bound. It ends with its parent,
// even with one that is killed. Called by `run`, `npm start` and tests.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { makeRunDirectory, onProcessEnd } from '../../qemu/run-directory.ts';
import { SetupError } from '../setup/errors.ts';
import { READY } from './device-command.ts';

export interface DeviceChildOptions {
  /** Further options of `vuhca device`. */
  readonly arguments?: readonly string[];
  /** Called with each line of its log; the log goes to our standard error when absent. */
  readonly onLogLine?: (line: string) => void;
}

/** How the process ended. */
export interface DeviceExit {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
}

const MAIN = fileURLToPath(new URL('main.ts', import.meta.url));
const TSX = import.meta.resolve('tsx');
const START_BOUND_MS = 30_000;
/** Asked to end it needs far less; at a breakpoint it needs forever. */
const END_BOUND_MS = 1_000;
const TAIL_LINES = 20;

export class DeviceChild {
  /** The vfio-user socket, in a folder of its own that goes with the process. */
  readonly socketPath: string;
  readonly controlPath: string;
  /** Resolves, never rejects, when the process has ended and nothing of it is left. */
  readonly whenExited: Promise<DeviceExit>;
  readonly #child: ChildProcess;

  /** Starts the process and waits until guests may attach. Throws SetupError with its own words when it cannot. */
  static async start(options: DeviceChildOptions = {}): Promise<DeviceChild> {
    const directory = makeRunDirectory();
    const forget = [onProcessEnd(() => rmSync(directory, { recursive: true, force: true }))];
    const socketPath = join(directory, 'vuhca.sock');
    const command = ['--pdeathsig', 'SIGTERM', '--', process.execPath, '--import', TSX, MAIN, 'device'];
    const child = spawn('setpriv', [...command, '--socket', socketPath, ...(options.arguments ?? [])], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // A Ctrl-C at the terminal is for us, who end the guest first.
      detached: true,
    });
    forget.push(onProcessEnd(() => child.kill('SIGTERM')));
    const tail: string[] = [];
    followLog(child, options.onLogLine, tail);
    const exited = watch(child, () => {
      rmSync(directory, { recursive: true, force: true });
      for (const done of forget) done();
    });
    const controlPath = await waitUntilReady(child, exited, tail);
    return new DeviceChild(child, socketPath, controlPath, exited);
  }

  private constructor(child: ChildProcess, socketPath: string, controlPath: string, exited: Promise<DeviceExit>) {
    this.#child = child;
    this.socketPath = socketPath;
    this.controlPath = controlPath;
    this.whenExited = exited;
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Asks the process to end, and kills it when it does not. Safe to call again. */
  async stop(): Promise<DeviceExit> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => {
      this.#child.kill('SIGKILL');
      rmSync(this.controlPath, { force: true });
    }, END_BOUND_MS);
    const exit = await this.whenExited;
    clearTimeout(timer);
    return exit;
  }
}

function followLog(child: ChildProcess, onLine: ((line: string) => void) | undefined, tail: string[]): void {
  if (child.stderr === null) return;
  createInterface({ input: child.stderr }).on('line', (line) => {
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
    if (onLine === undefined) process.stderr.write(`${line}\n`);
    else onLine(line);
  });
}

async function watch(child: ChildProcess, cleanUp: () => void): Promise<DeviceExit> {
  const [status, signal] = (await once(child, 'close').catch(() => [null, null])) as [number | null, NodeJS.Signals];
  cleanUp();
  return { status, signal };
}

/** The path of the control socket, which the process prints when it is ready. */
async function waitUntilReady(
  child: ChildProcess,
  exited: Promise<DeviceExit>,
  tail: readonly string[],
): Promise<string> {
  const pattern = new RegExp(`^${READY} .* control (.*)$`);
  const ready = new Promise<string>((resolve) => {
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const path = pattern.exec(line)?.[1];
      if (path !== undefined) resolve(path);
    });
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), START_BOUND_MS);
  const result = await Promise.race([ready, exited]);
  clearTimeout(timer);
  if (typeof result === 'string') return result;
  const words = tail.map((line) => line.replace(/^vuhca device: /, '')).join('\n');
  throw new SetupError(`the adapter process ended at once: ${words || (result.signal ?? result.status)}`);
}
