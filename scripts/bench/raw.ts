// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- --raw`: both devices measured on their sockets, without QEMU, by probe.c. All
 * processes stay on one CPU: a device's work after its reply then delays the next request and is
 * measured, and no wake-up of another CPU blurs the figures. Called by main.ts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { VfioUserLibrary } from '../../qemu/setup/library.ts';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import { provideProbe } from './c-programs.ts';
import { startDevices } from './processes.ts';
import { type Round, SampleCollector } from './samples.ts';

const READS = 4000;
const WRITES = 8000;

export interface RawOptions {
  readonly library: VfioUserLibrary;
  readonly rounds: number;
  readonly profileDirectory: string | undefined;
  /** The CPU; undefined lets the scheduler choose. */
  readonly cpu: number | undefined;
}

/** Measures `rounds` rounds. */
export async function measureRaw(options: RawOptions): Promise<Round[]> {
  const prefix = options.cpu === undefined ? [] : ['taskset', '-c', String(options.cpu)];
  const probe = await provideProbe();
  const devices = await startDevices({ ...options, prefix });
  try {
    const counts = [options.rounds, READS, WRITES].map(String);
    const sides = ['adapter', devices.adapterSocket, 'twin', devices.twinSocket];
    return await runProbe([...prefix, probe, ...counts, ...sides]);
  } finally {
    await devices.stop();
  }
}

async function runProbe([file, ...args]: readonly string[]): Promise<Round[]> {
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const closed = once(child, 'close') as Promise<[number | null]>;
  const collector = new SampleCollector();
  for await (const line of createInterface({ input: child.stdout })) collector.push(line);
  const [status] = await closed;
  if (status !== 0) throw new SetupError(`the probe ended with status ${status}; correct the cause it reports above.`);
  return collector.rounds;
}
