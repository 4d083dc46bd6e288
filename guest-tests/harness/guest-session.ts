// SPDX-License-Identifier: Apache-2.0
/**
 * One guest of a test from start to end: the steps of its case (steps.sh), the results that modules
 * and scripts print as KTAP, and its faults: errors in its kernel log, a guest that stops or falls
 * silent, a plan that is not met. Called by guest-run.ts, peer-run.ts and tenant-guest.ts.
 */
import { describeGuestExit } from '../../qemu/describe-exit.ts';
import type { Guest } from '../../qemu/guest.ts';
import type { GuestOptions, VfioUserDevice } from '../../qemu/guest-options.ts';
import { KernelLogWatch } from '../../qemu/kernel-log.ts';
import { launchGuest } from '../../qemu/launch.ts';
import { SilenceWatch } from '../../qemu/silence.ts';
import type { KtapResult } from './ktap.ts';
import { KtapStreams } from './ktap-streams.ts';

/** The work of a step: see steps.sh. */
export type StepKind = 'load' | 'bind' | 'script' | 'unload';

/** A result line of KTAP, or a step of the case. */
export interface TestResult extends KtapResult {
  /** The kind of the step; absent for a line of KTAP. */
  readonly step?: StepKind;
  /** Host seconds since the guest was started. */
  readonly seconds: number;
  /** Number of lines that the guest's kernel had written by then. */
  readonly logLines: number;
}

/** The part of a run that causes a fault; `order`: stores that came too late. */
export type FaultKind = 'kernel' | 'silence' | 'guest' | 'results' | 'adapter' | 'order';

export interface GuestFault {
  readonly kind: FaultKind;
  readonly text: string;
  /** Number of lines that the guest's kernel had written by then. */
  readonly logLines: number;
}

export interface GuestSessionOptions {
  readonly onResult?: (result: TestResult) => void;
  readonly onFault?: (fault: GuestFault) => void;
  readonly onConsoleLine?: (line: string) => void;
  /** Called with every line that the guest reports, steps included. */
  readonly onReport?: (line: string) => void;
  /** Called with each line of the kernel's log. */
  readonly onKernelLine?: (line: string) => void;
  /** Further options of the guest: ports, processors, memory, kernel, gdb. */
  readonly guest?: GuestOptions;
  /** The longest silence, in seconds; Infinity: no silence ends the guest. */
  readonly silenceSeconds?: number;
  /** The same before the guest has booted; at least five minutes when absent. */
  readonly bootSeconds?: number;
  /** True: memory of the kernel's allocators stays cleared, which ib_mthca needs. */
  readonly cleared?: boolean;
}

/** The longest silence of a case, with a wide margin for busy machines. */
const SILENCE_SECONDS = 300;
/** A guest that boots is silent: its console is quiet. */
export const BOOT_SECONDS = 300;
const LOG_LINES = 50_000;
/** Kernel options that find wrong memory accesses, as far as a stock kernel supports it. */
const APPEND = 'kfence.sample_interval=10 hung_task_panic=0 log_buf_len=1M';
/**
 * The caches in which drivers allocate. Checking all caches would double the processor time of a
 * boot.
 */
const CACHES = 'kmalloc-*,dma-kmalloc-*,skbuff*';
/**
 * Checks of the kernel's allocator. Poison (P) fills memory that Debian's kernel clears by default;
 * ib_mthca never sets the restrack field of a user's memory region, and needs zeros there. The
 * traces of allocations (U) find nothing more, and took a tenth of the processor time of guests.
 */
const SLAB_CHECKS = { poisoned: `slub_debug=FZP,${CACHES}`, cleared: `slub_debug=FZ,${CACHES}` } as const;
const STEP = /^@vuhca step (\w+) (.*)$/;
const DONE = /^@vuhca done (\d+)(?!\d) ?(.*)$/;
/** A script that ends with this has skipped its test (kernel documentation, kselftest). */
const SKIPPED = 4;

export class GuestSession {
  readonly results: TestResult[] = [];
  readonly faults: GuestFault[] = [];
  /** The kernel's log. */
  readonly log: string[] = [];
  readonly #options: GuestSessionOptions;
  readonly #watch = new KernelLogWatch();
  readonly #fromLog: KtapStreams;
  readonly #fromScript: KtapStreams;
  readonly #console: string[] = [];
  #logLines = 0;
  readonly #startMs = performance.now();
  #silence: SilenceWatch | undefined;
  #whenBooted = (): void => {};
  /** The last line that a module or script reported. */
  #said = '';
  #step: { kind: StepKind; name: string; output: string[] } | undefined;
  #ended = false;

  constructor(options: GuestSessionOptions = {}) {
    this.#options = options;
    this.#fromLog = new KtapStreams((result) => this.#add(result));
    this.#fromScript = new KtapStreams((result) => this.#add(result), { plansBegin: true });
  }

  /** Runs the guest to its end; `started` is called with it before it has booted. */
  async run(
    initramfs: string,
    devices: readonly VfioUserDevice[],
    started: (guest: Guest) => void = () => {},
  ): Promise<void> {
    const { guest: options = {}, silenceSeconds = SILENCE_SECONDS, cleared = false } = this.#options;
    const { bootSeconds = Math.max(silenceSeconds, BOOT_SECONDS) } = this.#options;
    const slabChecks = cleared ? SLAB_CHECKS.cleared : SLAB_CHECKS.poisoned;
    const guest = await launchGuest({
      ...options,
      initramfs,
      append: `${slabChecks} ${APPEND} ${options.append ?? ''}`,
      devices,
      onConsoleLine: (line) => this.#takeConsole(line),
      onKernelLine: (line) => this.#takeLog(line),
    });
    started(guest);
    const endIt = (seconds: number): void => {
      const after = this.#said === '' ? '' : ` (it said last: ${this.#said})`;
      this.#fault('silence', `the guest was silent for ${seconds} s${this.#during()} and was ended${after}`);
      void guest.kill();
    };
    this.#silence = new SilenceWatch({ endMs: bootSeconds * 1000, onEnd: endIt });
    this.#whenBooted = () => {
      this.#silence?.stop();
      this.#silence = new SilenceWatch({ endMs: silenceSeconds * 1000, onEnd: endIt });
    };
    guest.port().onLine((line) => this.#report(line));
    const exit = await guest.whenExited;
    this.#silence.stop();
    this.#finish(exit.status === 0 ? undefined : describeGuestExit(exit));
  }

  /** Seconds since the guest was started. */
  get seconds(): number {
    return (performance.now() - this.#startMs) / 1000;
  }

  /** The lines of the kernel's log that name `suite/case`, and those between, or all of it. */
  kernelLog(suite?: string, name?: string): readonly string[] {
    if (suite === undefined) return this.log;
    const marker = name === undefined ? `vuhca-test: ${suite}/` : `vuhca-test: ${suite}/${name} `;
    const first = this.log.findIndex((line) => line.includes(marker));
    const last = this.log.findLastIndex((line) => line.includes(marker));
    return first < 0 ? [] : this.log.slice(first, last + 1);
  }

  /** Lines `from` to `to` of the kernel's log, counted from 0, as far as they are kept. */
  logBetween(from: number, to: number): readonly string[] {
    const dropped = this.#logLines - this.log.length;
    return this.log.slice(Math.max(0, from - dropped), Math.max(0, to - dropped));
  }

  /** Adds faults that others than the guest have found. */
  addFaults(kind: FaultKind, texts: readonly string[]): void {
    for (const text of texts) this.#fault(kind, text);
  }

  #during(): string {
    return this.#step === undefined ? '' : ` in step ${this.#step.kind} ${this.#step.name}`;
  }

  #finish(qemuFailure: string | undefined): void {
    // After a panic only the console has the end of the log.
    const logged = new Set(this.log);
    const rest = this.#ended ? [] : this.#console.filter((line) => !logged.has(line));
    this.log.push(...rest);
    this.#logLines += rest.length;
    for (const streams of [this.#fromLog, this.#fromScript]) {
      streams.finish();
      for (const text of streams.faults) this.#fault('results', text);
    }
    if (qemuFailure !== undefined) this.#fault('guest', qemuFailure);
    if (!this.#ended) this.#fault('guest', `the guest ended before its case did${this.#during()}`);
    else if (this.results.length === 0) this.#fault('results', 'nothing was tested');
  }

  #report(line: string): void {
    this.#silence?.news();
    this.#options.onReport?.(line);
    const step = STEP.exec(line);
    const done = DONE.exec(line);
    if (step !== null) this.#step = { kind: step[1] as StepKind, name: step[2] as string, output: [] };
    else if (done !== null) this.#endStep(Number(done[1]), done[2] as string);
    else if (line.startsWith('@vuhca exit ')) this.#ended = true;
    else if (line.startsWith('@vuhca init ')) this.#whenBooted();
    else if (line.startsWith('@vuhca ')) {
      if (/^@vuhca (module|stock) /.test(line)) this.#fault('guest', line);
    } else {
      this.#said = line.trim();
      this.#step?.output.push(line);
      this.#fromScript.push(line);
    }
  }

  #endStep(status: number, text: string): void {
    const step = this.#step;
    if (step === undefined) return;
    this.#step = undefined;
    const isSkipped = step.kind === 'script' && status === SKIPPED;
    const isBad = !isSkipped && status !== 0;
    const said = text === '' ? [] : [text];
    const diagnostics =
      step.kind !== 'script' ? said : isBad ? [`it ended with status ${status}`, ...step.output.slice(-20)] : [];
    this.#add({
      path: [`${step.kind} ${step.name}`],
      ok: !isBad,
      ...(isSkipped ? { skipped: step.output.at(-1) ?? 'status 4' } : {}),
      diagnostics,
      parent: false,
      step: step.kind,
    });
  }

  #add(result: Omit<TestResult, 'seconds' | 'logLines'>): void {
    const whole = { ...result, seconds: this.seconds, logLines: this.#logLines };
    this.results.push(whole);
    this.#options.onResult?.(whole);
  }

  #fault(kind: FaultKind, text: string): void {
    const fault = { kind, text, logLines: this.#logLines };
    this.faults.push(fault);
    this.#options.onFault?.(fault);
  }

  #takeLog(line: string): void {
    this.#complain(line);
    this.log.push(line);
    this.#logLines++;
    if (this.log.length > LOG_LINES) this.log.shift();
    this.#options.onKernelLine?.(line);
    this.#fromLog.push(line);
  }

  #takeConsole(line: string): void {
    const text = line.trimEnd();
    this.#console.push(text);
    if (this.#console.length > LOG_LINES) this.#console.shift();
    this.#complain(text);
    this.#options.onConsoleLine?.(text);
  }

  /**
   * A kernel that has complained may go on forever, so only results count as signs of life then.
   */
  #complain(line: string): void {
    const complaint = this.#watch.push(line);
    if (complaint !== undefined && this.#watch.count <= this.#watch.complaints.length)
      this.#fault('kernel', `the guest's kernel complained (${complaint.kind}): ${complaint.line}`);
    if (this.#watch.count === 0) this.#silence?.news();
  }
}
