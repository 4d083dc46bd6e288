// SPDX-License-Identifier: Apache-2.0
/**
 * One guest of a test from start to end, and everything that goes wrong with it: complaints of its
 * kernel, a guest that stops or falls silent, a test plan that is not kept. Called by guest-run.ts,
 * peer-run.ts and tenant-guest.ts.
 */
import type { Guest } from '../../qemu/guest.ts';
import { KernelLogWatch } from '../../qemu/kernel-log.ts';
import { launchGuest } from '../../qemu/launch.ts';
import { KtapParser, type KtapResult } from './ktap.ts';

export interface GuestSessionOptions {
  readonly onResult?: (result: KtapResult) => void;
  readonly onConsoleLine?: (line: string) => void;
  /** Called with every line that the guest reports. */
  readonly onReport?: (line: string) => void;
  /** Names of further virtio-serial ports. */
  readonly ports?: readonly string[];
  /** The number of processors; 2 when absent. */
  readonly cpus?: number;
  /** 512 when absent. */
  readonly memoryMiB?: number;
}

/** The longest silence of a case, with a wide margin for busy machines. */
const SILENCE_BOUND_MS = 60_000;
const LOG_LINES = 20_000;
/** Kernel options that find wrong memory accesses, as far as a stock kernel can. */
const APPEND = 'slub_debug=FZPU kfence.sample_interval=10 hung_task_panic=0';

export class GuestSession {
  readonly parser: KtapParser;
  readonly faults: string[] = [];
  readonly #log: string[] = [];
  readonly #watch = new KernelLogWatch();
  readonly #options: GuestSessionOptions;
  #lastNewsMs = performance.now();
  #ended = false;

  constructor(options: GuestSessionOptions) {
    this.#options = options;
    this.parser = new KtapParser((result) => options.onResult?.(result));
  }

  /** Runs the guest to its end; `started` is called with it before it has booted. */
  async run(initramfs: string, socketPath: string, started: (guest: Guest) => void = () => {}): Promise<void> {
    const guest = await launchGuest({
      initramfs,
      append: APPEND,
      devices: [{ socketPath }],
      ports: this.#options.ports ?? [],
      ...(this.#options.cpus === undefined ? {} : { cpus: this.#options.cpus }),
      ...(this.#options.memoryMiB === undefined ? {} : { memoryMiB: this.#options.memoryMiB }),
      onConsoleLine: (line) => this.#console(line),
    });
    started(guest);
    guest.port().onLine((line) => this.#report(line));
    const silence = setInterval(() => {
      if (performance.now() - this.#lastNewsMs < SILENCE_BOUND_MS) return;
      this.faults.push(`the guest was silent for ${SILENCE_BOUND_MS / 1000} s and was ended`);
      void guest.kill();
    }, 1000);
    const { status, signal, errors } = await guest.whenExited;
    clearInterval(silence);
    if (status !== 0)
      this.faults.push(`QEMU ended with ${signal ?? `status ${status}`}; it said: ${errors || 'nothing'}`);
    this.#finish();
  }

  /** The guest's kernel log while `suite/case` ran, or all of it that is kept. */
  kernelLog(suite?: string, name?: string): readonly string[] {
    if (suite === undefined) return this.#log;
    const marker = name === undefined ? `vuhca-test: ${suite}/` : `vuhca-test: ${suite}/${name} `;
    const first = this.#log.findIndex((line) => line.includes(marker));
    const last = this.#log.findLastIndex((line) => line.includes(marker));
    return first < 0 ? [] : this.#log.slice(first, last + 1);
  }

  #finish(): void {
    this.parser.finish();
    if (!this.#ended) this.faults.push('the guest ended before its case did');
    this.faults.push(...this.parser.faults);
    for (const { kind, line } of this.#watch.complaints)
      this.faults.push(`the guest's kernel complained (${kind}): ${line}`);
  }

  #report(line: string): void {
    this.#lastNewsMs = performance.now();
    this.#options.onReport?.(line);
    if (/^@vuhca exit /.test(line)) this.#ended = true;
    else if (/^@vuhca module /.test(line)) this.faults.push(line);
    this.parser.push(line);
  }

  #console(line: string): void {
    this.#lastNewsMs = performance.now();
    this.#watch.push(line);
    this.#log.push(line.trimEnd());
    if (this.#log.length > LOG_LINES) this.#log.shift();
    this.#options.onConsoleLine?.(line);
  }
}
