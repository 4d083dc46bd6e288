// SPDX-License-Identifier: Apache-2.0
/**
 * Runs a device program in its own process and observes it from outside: log lines, open
 * descriptors, CPU time.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { VfioUserClient } from '../client/client.ts';
import { libraryPath } from './library.ts';
import { COUNTER, PROBE } from './probe-layout.ts';

export const PROBE_PROGRAM = fileURLToPath(new URL('probe-device.ts', import.meta.url));
export const EDU_PROGRAM = fileURLToPath(new URL('../examples/edu.ts', import.meta.url));

/** Ends only a wait that would never end. */
const PATIENCE_MS = 600_000;

interface DeviceProgramOptions {
  readonly program?: string;
  readonly sockets?: number;
  readonly args?: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export class DeviceProgram {
  readonly directory: string;
  readonly sockets: string[];
  readonly logs: string[] = [];
  readonly #child: ChildProcess;
  #exit: number | string | undefined;

  /** Starts a device and waits until it serves. */
  static async start(options: DeviceProgramOptions = {}): Promise<DeviceProgram> {
    const device = new DeviceProgram(options);
    await device.waitFor('the device serves', () => device.logged('serving') || device.exited);
    if (device.exited) throw new Error(`the device ended at once: ${device.logs.join('\n')}`);
    return device;
  }

  private constructor(options: DeviceProgramOptions) {
    this.directory = mkdtempSync(join(tmpdir(), 'vfu-'));
    this.sockets = Array.from({ length: options.sockets ?? 1 }, (_, i) => join(this.directory, `${i}.sock`));
    const paths = this.sockets.flatMap((path) => ['--socket', path]);
    const args = ['--import=#typescript', options.program ?? PROBE_PROGRAM, ...paths, ...(options.args ?? [])];
    const env = { ...process.env, LIBVFIO_USER: libraryPath(), ...options.env };
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
    createInterface({ input: this.#child.stderr as NodeJS.ReadableStream }).on('line', (line) => this.logs.push(line));
    this.#child.on('exit', (code, signal) => {
      this.#exit = signal ?? code ?? 0;
    });
  }

  get pid(): number {
    return this.#child.pid as number;
  }

  get exited(): boolean {
    return this.#exit !== undefined;
  }

  logged(text: string): boolean {
    return this.logs.some((line) => line.includes(text));
  }

  connect(index = 0): VfioUserClient {
    return VfioUserClient.connect(this.sockets[index]);
  }

  /** Number of open descriptors whose link contains `kind`; all by default. */
  descriptors(kind = ''): number {
    const directory = `/proc/${this.pid}/fd`;
    return readdirSync(directory).filter((fd) => linkOf(join(directory, fd)).includes(kind)).length;
  }

  /** Forbids or allows the process to open more descriptors. */
  limitDescriptors(limited: boolean): void {
    const open = new Set(readdirSync(`/proc/${this.pid}/fd`).map(Number));
    let lowestFree = 0;
    while (open.has(lowestFree)) lowestFree++;
    execFileSync('prlimit', ['--pid', String(this.pid), `--nofile=${limited ? lowestFree : 1024}:`]);
  }

  /** Waits until `before` descriptors are open: the device closes some after it has replied. */
  async waitForDescriptors(before: number): Promise<void> {
    await this.waitFor(`${before} descriptors, not ${this.descriptors()}`, () => this.descriptors() === before);
  }

  /** CPU time used so far, in milliseconds. */
  cpuMs(): number {
    const fields = readFileSync(`/proc/${this.pid}/stat`, 'utf8').split(') ')[1].split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  }

  /** Waits until `condition` holds; throws with `what` after a time that no busy machine needs. */
  async waitFor(what: string, condition: () => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!condition()) {
      if (performance.now() > deadline)
        throw new Error(`not in ${PATIENCE_MS} ms: ${what}\n${this.logs.slice(-20).join('\n')}`);
      await delay(5);
    }
  }

  /** Ends the process and returns its exit code or signal. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<number | string> {
    this.#child.kill(signal);
    await this.waitFor('the device ends', () => this.exited);
    return this.#exit as number | string;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.exited) await this.stop('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }
}

/**
 * Returns a function that reads the growth of counters from now on: devices outlive single tests.
 */
export function makeCounterReader(client: VfioUserClient): (...counters: (keyof typeof COUNTER)[]) => number[] {
  const names = Object.keys(COUNTER) as (keyof typeof COUNTER)[];
  const start = new Map(names.map((name) => [name, readCounter(client, name)]));
  return (...counters) => counters.map((name) => readCounter(client, name) - (start.get(name) as number));
}

/** Reads a counter of the probe device. */
export function readCounter(client: VfioUserClient, counter: keyof typeof COUNTER): number {
  return client.read32(0, PROBE.counters + 4 * COUNTER[counter]);
}

/** Starts a DMA operation of the probe device and returns its result. */
export function runDma(
  client: VfioUserClient,
  op: number,
  address: number,
  length: number,
  value = 0,
): { ok: boolean; result: number } {
  client.write32(0, PROBE.dma, address % 2 ** 32);
  client.write32(0, PROBE.dma + 4, Math.floor(address / 2 ** 32));
  client.write32(0, PROBE.dmaLength, length);
  client.write32(0, PROBE.dmaValue, value);
  client.write32(0, PROBE.dmaOp, op);
  return { ok: client.read32(0, PROBE.dmaOk) === 1, result: client.read32(0, PROBE.dmaResult) };
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
