// SPDX-License-Identifier: Apache-2.0
/**
 * Progress lines of long steps. A step shorter than two seconds prints nothing, so a warm cache is
 * silent; a longer one prints its label and its reason, the elapsed time every ten seconds, and its
 * total. A step that took long before is told when it begins. Lines go to standard error, so that
 * the output of a command that prints a path stays clean.
 */
import { printable } from '../../protocol/system/printable.mjs';

const SILENT_MS = 2_000;
const REPEAT_MS = 10_000;

/** Further information about a step, beside its label; every member is optional. */
export interface StepDetails {
  /** Why the step is needed, in words that follow `because`. */
  readonly reason?: string;
  /** How long the step took before, in words: `took 8.2 s last time`. */
  readonly earlier?: string;
  /** How long the step is expected to take. */
  readonly expectedMs?: number;
  /** How far it is: `3 of 8 files`. */
  readonly getState?: () => string;
}

/**
 * Awaits `work`; prints `label` (a present participle phrase) on standard error when it takes
 * longer than 2 s.
 */
export async function withProgress<T>(label: string, work: () => Promise<T>, details: StepDetails = {}): Promise<T> {
  const start = performance.now();
  let told = false;
  let timer: NodeJS.Timeout | undefined;
  const tell = (state: string): void => {
    write(`${told ? label : introduce(label, details)} ...${state}`);
    told = true;
  };
  const tellAfter = (ms: number): void => {
    timer = setTimeout(() => {
      const state = details.getState === undefined ? '' : `, ${details.getState()}`;
      tell(` ${describeTime(performance.now() - start)}${state}`);
      tellAfter(REPEAT_MS);
    }, ms);
    timer.unref();
  };
  const isLong = details.expectedMs !== undefined && details.expectedMs >= SILENT_MS;
  if (isLong) tell('');
  tellAfter(isLong ? REPEAT_MS : SILENT_MS);
  try {
    const result = await work();
    if (told) write(`${label}: done in ${describeTime(performance.now() - start)}`);
    return result;
  } finally {
    clearTimeout(timer);
  }
}

/** Prints one line about set-up on standard error. */
export function announce(text: string): void {
  write(text);
}

/** A duration as progress lines show it. */
export function describeTime(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function introduce(label: string, { reason, earlier }: StepDetails): string {
  return `${label}${reason === undefined ? '' : `, because ${reason}`}${earlier === undefined ? '' : `; it ${earlier}`}`;
}

function write(text: string): void {
  process.stderr.write(`set-up: ${printable(text)}\n`);
}
