// SPDX-License-Identifier: Apache-2.0
/**
 * Progress lines of long steps. A step shorter than two seconds prints nothing, so a warm cache is
 * silent; a longer one prints its label, the elapsed time every ten seconds, and its total. Lines
 * go to standard error, so that the output of a command that prints a path stays clean.
 */
import { printable } from '../../protocol/system/printable.mjs';

const SILENT_MS = 2_000;
const REPEAT_MS = 10_000;

/**
 * Awaits `work`; prints `label` (a present participle phrase) on standard error when it takes
 * longer than 2 s.
 */
export async function withProgress<T>(label: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  let told = false;
  const tell = (): void => {
    told = true;
    write(`${label} ... ${elapsedSeconds(start)} s`);
    timer = setTimeout(tell, REPEAT_MS);
    timer.unref();
  };
  let timer = setTimeout(tell, SILENT_MS);
  timer.unref();
  try {
    const result = await work();
    if (told) write(`${label}: done in ${elapsedSeconds(start)} s`);
    return result;
  } finally {
    clearTimeout(timer);
  }
}

/** Prints one line about set-up on standard error. */
export function announce(text: string): void {
  write(text);
}

function write(text: string): void {
  process.stderr.write(`set-up: ${printable(text)}\n`);
}

function elapsedSeconds(start: number): string {
  return ((performance.now() - start) / 1000).toFixed(1);
}
