// SPDX-License-Identifier: Apache-2.0
/**
 * An adapter process (`vuhca device`) as a child: started, ready when its sockets are, ended within
 * a bound. It ends with its parent, even with a parent that is killed. Called by `vuhca run`, `npm
 * start`, demonstrations and tests.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { printable } from '../protocol/system/printable.mjs';
import type { VfioUserDevice } from './guest-options.ts';
import { makeRunDirectory, onProcessEnd, removeRunDirectory } from './run-directory.ts';
import { StartError } from './setup/tools/errors.ts';

export interface DeviceChildOptions {
  /** Further options of `vuhca device`. */
  readonly arguments?: readonly string[];
  /**
   * The content of a topology file, with sockets in the child's folder; a lone adapter when absent.
   */
  readonly topology?: object;
  /** A topology file of the user instead, with its sockets where it says. */
  readonly topologyFile?: string;
  /** Called with each line of its log; the log goes to standard error when absent. */
  readonly onLogLine?: (line: string) => void;
}

/**
 * The first words that the process prints on standard output when guests may attach; paths follow.
 */
export const READY = 'listening on';
/**
 * The first words of a line before that one, for each device of several functions that belong into
 * one PCI slot; their sockets follow.
 */
export const SLOT = 'one slot for';

/** How the process ended. */
export interface DeviceExit {
  readonly status: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Sockets that it should have removed and did not. */
  readonly left: readonly string[];
  /** The last line of its log. */
  readonly lastLine: string | undefined;
}

/** The paths that a process serves. */
interface ServedPaths {
  readonly sockets: readonly string[];
  readonly slots: readonly (readonly string[])[];
  readonly controlPath: string;
}

/** The program of this package, as package.json names it. */
const LAUNCH = fileURLToPath(import.meta.resolve('#vuhca'));
/** Both bounds are wide, for a busy machine. */
const START_BOUND_MS = 600_000;
/** Ending takes far less, except at a breakpoint, where it would take for ever. */
const END_BOUND_MS = 30_000;
const TAIL_LINES = 20;
const SOCKET = 'vuhca.sock';
const TOPOLOGY = 'topology.json';

export class DeviceChild {
  /** The folder of its sockets, removed when the process ends. */
  readonly directory: string;
  readonly controlPath: string;
  /** The vfio-user sockets, one for each function. */
  readonly sockets: readonly string[];
  /** Those of functions that belong into one slot. */
  readonly #slots: readonly (readonly string[])[];
  /** Resolves, never rejects, when the process has ended and nothing of it is left. */
  readonly whenExited: Promise<DeviceExit>;
  readonly #child: ChildProcess;

  /**
   * Starts the process and waits until guests may attach. Throws StartError with its last log
   * lines.
   */
  static async start(options: DeviceChildOptions = {}): Promise<DeviceChild> {
    const directory = makeRunDirectory();
    const command = ['--pdeathsig', 'SIGTERM', '--', process.execPath, LAUNCH, 'device'];
    const child = spawn('setpriv', [...command, ...chooseServed(directory, options), ...(options.arguments ?? [])], {
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C at the terminal must reach only the parent, which ends the guest first.
      detached: true,
    });
    const forget = onProcessEnd(() => child.kill('SIGTERM'));
    const tail: string[] = [];
    followLog(child, options.onLogLine, tail);
    const exited = watch(child, directory, tail, () => {
      removeRunDirectory(directory);
      forget();
    });
    const paths = await waitUntilReady(child, exited, tail);
    return new DeviceChild(child, directory, paths, exited);
  }

  private constructor(
    child: ChildProcess,
    directory: string,
    { sockets, slots, controlPath }: ServedPaths,
    exited: Promise<DeviceExit>,
  ) {
    this.#child = child;
    this.directory = directory;
    this.sockets = sockets;
    this.#slots = slots;
    this.controlPath = controlPath;
    this.whenExited = exited.then((exit) => {
      if (exit.signal !== null) rmSync(controlPath, { force: true });
      return exit;
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  /** Whether the process has ended; `whenExited` may still read its last words. */
  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** The path of a vfio-user socket: of a lone adapter, or one that the topology names. */
  socketPath(name = SOCKET): string {
    return join(this.directory, name);
  }

  /** The devices of a guest that gets these sockets; all when absent. */
  devices(sockets = this.sockets): VfioUserDevice[] {
    const devices = new Map<string, string[]>();
    for (const path of sockets) {
      const [first] = this.#slots.find((slot) => slot.includes(path)) ?? [path];
      devices.set(first, [...(devices.get(first) ?? []), path]);
    }
    return [...devices.values()].map(([socketPath, ...furtherFunctions]) => ({ socketPath, furtherFunctions }));
  }

  /** Ends the process at once, as a crash would. */
  async kill(): Promise<DeviceExit> {
    this.#child.kill('SIGKILL');
    return this.whenExited;
  }

  /** Asks the process to end, and kills it when it does not. Safe to call again. */
  async stop(): Promise<DeviceExit> {
    this.#child.kill('SIGTERM');
    const timer = setTimeout(() => void this.kill(), END_BOUND_MS);
    const exit = await this.whenExited;
    clearTimeout(timer);
    return exit;
  }
}

function followLog(child: ChildProcess, onLine: ((line: string) => void) | undefined, tail: string[]): void {
  if (child.stderr === null) return;
  createInterface({ input: child.stderr }).on('line', (raw) => {
    const line = printable(raw);
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
    if (onLine === undefined) process.stderr.write(`${line}\n`);
    else onLine(line);
  });
}

/** The arguments that choose between a lone adapter and a topology. */
function chooseServed(directory: string, { topology, topologyFile }: DeviceChildOptions): string[] {
  if (topologyFile !== undefined) return ['--topology', topologyFile];
  if (topology === undefined) return ['--socket', join(directory, SOCKET)];
  const path = join(directory, TOPOLOGY);
  writeFileSync(path, JSON.stringify(topology));
  return ['--topology', path];
}

async function watch(
  child: ChildProcess,
  directory: string,
  tail: readonly string[],
  cleanUp: () => void,
): Promise<DeviceExit> {
  const [status, signal] = (await once(child, 'close').catch(() => [null, null])) as [number | null, NodeJS.Signals];
  // Another clean-up may have removed the folder.
  const left = existsSync(directory) ? readdirSync(directory).filter((name) => /\.sock(\.\d+)?$/.test(name)) : [];
  cleanUp();
  return { status, signal, left, lastLine: tail.at(-1) };
}

/** The paths that the process prints when it is ready. */
async function waitUntilReady(
  child: ChildProcess,
  exited: Promise<DeviceExit>,
  tail: readonly string[],
): Promise<ServedPaths> {
  const pattern = new RegExp(`^${READY} (.*) control (.*)$`);
  const slots: string[][] = [];
  const ready = new Promise<ServedPaths>((resolve) => {
    if (child.stdout === null) return;
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [, sockets, controlPath] = pattern.exec(line) ?? [];
      if (line.startsWith(SLOT)) slots.push(line.slice(SLOT.length + 1).split(' '));
      else if (controlPath !== undefined) resolve({ sockets: sockets.split(' '), slots, controlPath });
    });
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), START_BOUND_MS);
  const result = await Promise.race([ready, exited]);
  clearTimeout(timer);
  if ('controlPath' in result) return result;
  const words = tail.map((line) => line.replace(/^vuhca device: /, '')).join('\n');
  throw new StartError(`the adapter process ended at once: ${words || (result.signal ?? result.status)}`);
}
