// SPDX-License-Identifier: Apache-2.0
//
// One run of the in-kernel tests: compiles driver and test module, packs them with the case script, starts an adapter and a guest
// attached to it, and collects what the guest reports. Whatever can go wrong is an entry in `faults`: a kernel that complains, a guest that
// stops or falls silent, an adapter that dies, a plan that is not kept. Called by guest.test.ts and run-guest-cases.ts.

import { fileURLToPath } from 'node:url';
import { buildInitramfs } from '../qemu/initramfs.ts';
import { KernelLogWatch } from '../qemu/kernel-log.ts';
import { launchGuest } from '../qemu/launch.ts';
import { buildKernelModules } from '../scripts/setup/kernel-modules.ts';
import { DeviceProcess } from './device-process.ts';
import { KtapParser, type KtapResult } from './ktap.ts';

/** What to run; everything, with the sizes of the acceptance criteria, when nothing is said. */
export interface GuestRunOptions {
  readonly suites?: readonly string[];
  /** The one case to run in each suite. */
  readonly only?: string;
  /** Datagrams of the bulk tests; 10,000 when absent. */
  readonly count?: number;
  /** Seed of everything random in the guest; 1 when absent. */
  readonly seed?: number;
  readonly deviceArguments?: readonly string[];
  /** The script in cases/ to run; kernel.sh when absent. */
  readonly script?: string;
  readonly onResult?: (result: KtapResult) => void;
  readonly onConsoleLine?: (line: string) => void;
}

export interface GuestRun {
  readonly results: readonly KtapResult[];
  readonly faults: readonly string[];
  readonly seconds: number;
  /** The guest's kernel log while `suite/case` ran, or all of it that is kept. */
  kernelLog(suite?: string, name?: string): readonly string[];
}

const ROOT = new URL('./', import.meta.url);
const CASE_FILES = ['kernel.sh', 'rebind.sh', 'gone.sh'];
/** What a script prints to have the adapter process killed under it. */
const KILL_REQUEST = '# host: kill the device';
/** Longest that any case is silent, with much to spare on a busy machine. */
const SILENCE_BOUND_MS = 60_000;
const LOG_LINES = 20_000;
/** What finds wrong accesses in the guest's kernel, as far as a stock kernel can. */
const APPEND = 'slub_debug=FZPU kfence.sample_interval=10 hung_task_panic=0';

/** Runs the tests to their end. Throws only when there is nothing to run them with. */
export async function runGuestCases(options: GuestRunOptions = {}): Promise<GuestRun> {
  const initramfs = await packCases(options);
  const start = performance.now();
  const device = await DeviceProcess.start(options.deviceArguments);
  const session = new Session(options);
  try {
    await session.run(initramfs, device);
  } finally {
    session.faults.push(...(await device.stop()));
  }
  session.finish();
  const seconds = (performance.now() - start) / 1000;
  return {
    results: session.parser.results,
    faults: session.faults,
    seconds,
    kernelLog: (suite, name) => selectLog(session.log, suite, name),
  };
}

async function packCases(options: GuestRunOptions): Promise<string> {
  const modules = await buildKernelModules([pathOf('driver'), pathOf('kernel')]);
  const files = CASE_FILES.map((name) => ({ path: `/cases/${name}`, content: { from: pathOf(`cases/${name}`) } }));
  const settings = [
    `SUITES="${(options.suites ?? []).join(' ')}"`,
    `ONLY="${options.only ?? ''}"`,
    `COUNT=${options.count ?? 10_000}`,
    `SEED=${options.seed ?? 1}`,
  ];
  return buildInitramfs({
    modules: modules.map(({ name, path }) => ({ name, path, load: false })),
    files: [...files, { path: '/etc/vuhca-test', content: `${settings.join('\n')}\n`, mode: 0o644 }],
    caseScript: `#!/bin/sh\nexec sh /cases/${options.script ?? 'kernel.sh'}\n`,
  });
}

/** One guest from start to end. */
class Session {
  readonly parser: KtapParser;
  readonly faults: string[] = [];
  readonly log: string[] = [];
  readonly #watch = new KernelLogWatch();
  readonly #options: GuestRunOptions;
  #lastNewsMs = performance.now();
  #ended = false;

  constructor(options: GuestRunOptions) {
    this.#options = options;
    this.parser = new KtapParser((result) => options.onResult?.(result));
  }

  async run(initramfs: string, device: DeviceProcess): Promise<void> {
    const guest = await launchGuest({
      initramfs,
      append: APPEND,
      devices: [{ socketPath: device.socketPath }],
      onConsoleLine: (line) => this.#console(line),
    });
    guest.port().onLine((line) => {
      if (line === KILL_REQUEST) void device.kill();
      this.#report(line);
    });
    const silence = setInterval(() => {
      if (performance.now() - this.#lastNewsMs < SILENCE_BOUND_MS) return;
      this.faults.push(`the guest said nothing for ${SILENCE_BOUND_MS / 1000} s and was ended`);
      void guest.kill();
    }, 1000);
    const { status, signal, errors } = await guest.whenExited;
    clearInterval(silence);
    if (status !== 0)
      this.faults.push(`QEMU ended with ${signal ?? `status ${status}`}; it said: ${errors || 'nothing'}`);
  }

  finish(): void {
    this.parser.finish();
    if (!this.#ended) this.faults.push('the guest ended before its case did');
    this.faults.push(...this.parser.faults);
    for (const { kind, line } of this.#watch.complaints) this.faults.push(`the guest's kernel says (${kind}): ${line}`);
  }

  #report(line: string): void {
    this.#lastNewsMs = performance.now();
    if (/^@vuhca exit /.test(line)) this.#ended = true;
    else if (/^@vuhca module /.test(line)) this.faults.push(line);
    this.parser.push(line);
  }

  #console(line: string): void {
    this.#lastNewsMs = performance.now();
    this.#watch.push(line);
    this.log.push(line.trimEnd());
    if (this.log.length > LOG_LINES) this.log.shift();
    this.#options.onConsoleLine?.(line);
  }
}

function selectLog(log: readonly string[], suite?: string, name?: string): readonly string[] {
  if (suite === undefined) return log;
  const marker = name === undefined ? `vuhca-test: ${suite}/` : `vuhca-test: ${suite}/${name} `;
  const first = log.findIndex((line) => line.includes(marker));
  const last = log.findLastIndex((line) => line.includes(marker));
  return first < 0 ? [] : log.slice(first, last + 1);
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, ROOT));
}
