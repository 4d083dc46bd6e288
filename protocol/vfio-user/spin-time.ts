// SPDX-License-Identifier: Apache-2.0
/**
 * Time for which the pump polls before it waits. Beside an idle CPU polling answers sooner: the
 * wake-up of an idle CPU takes longer than most pauses of a guest. Where the processors of a guest
 * poll too and need all CPUs, a pump that polls takes one from them, while a pump that waits gets a
 * CPU at once when it is woken. So the pump polls only while every thread that wants a CPU has one.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import type { SpinWindow } from './spin-window.ts';

/** Times after which the kernel is asked again: while the pump polls, and while it does not. */
const CALM_NS = 1e6;
const CROWDED_NS = 20e6;
/**
 * Threads that run for a moment, such as the main loop of QEMU at a timer of its guest, are no
 * crowd: so many counts in a row, so close together, must find more threads than CPUs.
 */
const CROWDED_COUNTS = 5;
const RECOUNT_NS = 0.25e6;

/** Number of threads of the machine that run or want to. */
interface RunnableCounter {
  count(): number;
  close(): void;
}

export class SpinTime {
  readonly #window: SpinWindow;
  readonly #cpus: number;
  readonly #runnable: RunnableCounter;
  #nextNs = 0;
  /** Counts in a row with more threads than CPUs. */
  #crowdedCounts = 0;
  /** Others want the CPU. */
  isCrowded = false;

  constructor(window: SpinWindow, cpus: number, runnable: RunnableCounter = openRunnableCounter()) {
    this.#window = window;
    this.#cpus = cpus;
    this.#runnable = runnable;
  }

  /** Nanoseconds to poll after the last activity. */
  get ns(): number {
    return this.isCrowded ? 0 : this.#window.ns;
  }

  /** Called by the thread that polls, so that it counts itself, between its turns. */
  update(nowNs: number): void {
    if (this.#window.ns === 0 || nowNs < this.#nextNs) return;
    this.#crowdedCounts = this.#runnable.count() > this.#cpus ? this.#crowdedCounts + 1 : 0;
    this.isCrowded = this.#crowdedCounts >= CROWDED_COUNTS;
    this.#nextNs = nowNs + this.#pauseNs();
  }

  #pauseNs(): number {
    if (this.isCrowded) return CROWDED_NS;
    return this.#crowdedCounts > 0 ? RECOUNT_NS : CALM_NS;
  }

  /** A pump that its own turn destroys calls update() once more, which then requests nothing. */
  close(): void {
    this.#nextNs = Number.POSITIVE_INFINITY;
    this.#runnable.close();
  }
}

const SLASH = 0x2f;
const ZERO = 0x30;
const LINE_BYTES = 64;

/** Reads /proc/loadavg (proc_loadavg(5)); counts 0 where the file is absent. */
export function openRunnableCounter(path = '/proc/loadavg'): RunnableCounter {
  const line = new Uint8Array(LINE_BYTES);
  let fd: number | undefined;
  try {
    fd = openSync(path, 'r');
  } catch {
    return { count: () => 0, close: () => {} };
  }
  const file = fd;
  return {
    count: () => {
      readSync(file, line, 0, LINE_BYTES, 0);
      return readNumberBefore(line, line.indexOf(SLASH));
    },
    close: () => closeSync(file),
  };
}

/** The decimal number that ends before `end`. */
function readNumberBefore(text: Uint8Array, end: number): number {
  let number = 0;
  for (let at = end - 1, weight = 1; at >= 0; at--, weight *= 10) {
    const digit = text[at] - ZERO;
    if (digit < 0 || digit > 9) break;
    number += digit * weight;
  }
  return number;
}
