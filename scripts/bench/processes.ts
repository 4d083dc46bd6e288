// SPDX-License-Identifier: Apache-2.0
/**
 * The two devices as processes on sockets in a private folder. Neither outlives the benchmark,
 * however that ends. Called by raw.ts and guest.ts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { defaultAdapterOptions } from '../../device/hca/adapter/options.ts';
import { getCollectBarBytes } from '../../device/hca/collect/geometry.ts';
import { makeRunDirectory, onProcessEnd, removeRunDirectory } from '../../qemu/run-directory.ts';
import type { VfioUserLibrary } from '../../qemu/setup/library.ts';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import { provideTwin } from './c-programs.ts';

const DEVICE = join(dirname(fileURLToPath(import.meta.url)), 'device.ts');
/** Ends only what would never end. */
const START_BOUND_MS = 300_000;
const POLL_MS = 20;
const STOP_BOUND_MS = 3_000;

export interface DeviceOptions {
  readonly library: VfioUserLibrary;
  /** Words in front of each command, for instance `taskset -c 0`. */
  readonly prefix?: readonly string[];
  /** Where the adapter's process leaves a CPU profile when it ends. */
  readonly profileDirectory?: string | undefined;
}

/** Adapter and twin, listening. */
export interface DevicePair {
  readonly adapterSocket: string;
  readonly twinSocket: string;
  /** Ends both and removes their folder. */
  stop(): Promise<void>;
}

/** Starts both and waits until they listen. Throws SetupError when one does not. */
export async function startDevices(options: DeviceOptions): Promise<DevicePair> {
  const { library, prefix = [], profileDirectory } = options;
  const twin = await provideTwin(library);
  const directory = makeRunDirectory();
  const adapterSocket = join(directory, 'adapter');
  const twinSocket = join(directory, 'twin');
  const profile = profileDirectory === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profileDirectory];
  const adapterCommand = [process.execPath, ...profile, '--import=#typescript', DEVICE, library.path, adapterSocket];
  const collectBytes = getCollectBarBytes(defaultAdapterOptions.vcbCount);
  const children = [
    start([...prefix, ...adapterCommand]),
    start([...prefix, twin, twinSocket, String(collectBytes)]),
  ] as const;
  const clean = (): void => {
    for (const child of children) child.kill('SIGKILL');
    removeRunDirectory(directory);
  };
  const forget = onProcessEnd(clean);
  const stop = async (): Promise<void> => {
    await Promise.all(children.map(end));
    forget();
    clean();
  };
  try {
    await Promise.all([untilListening(children[0], adapterSocket), untilListening(children[1], twinSocket)]);
  } catch (error) {
    await stop();
    throw error;
  }
  return { adapterSocket, twinSocket, stop };
}

function start(command: readonly string[]): ChildProcess {
  return spawn('setpriv', ['--pdeathsig', 'SIGKILL', '--', ...command], { stdio: ['ignore', 'inherit', 'inherit'] });
}

async function untilListening(child: ChildProcess, socket: string): Promise<void> {
  for (let waitedMs = 0; waitedMs < START_BOUND_MS; waitedMs += POLL_MS) {
    if (existsSync(socket)) return;
    if (child.exitCode !== null || child.signalCode !== null) break;
    await sleep(POLL_MS);
  }
  throw new SetupError(`${child.spawnargs.join(' ')} did not listen on ${socket}; correct the cause it reports above.`);
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_BOUND_MS);
  await exited;
  clearTimeout(timer);
}
