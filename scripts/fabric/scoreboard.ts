// SPDX-License-Identifier: Apache-2.0
/**
 * Counts checks and reports each as it ends. The first line of a failed check names the fault; file
 * names lead to the output of the judges. Scenarios use it.
 */
import { printableLines } from '../../protocol/system/printable.mjs';

/** A check that has ended. */
export interface CheckResult {
  readonly name: string;
  readonly seconds: number;
  /** Message of a passed check. */
  readonly detail?: string | undefined;
  /** Fault; undefined for a passed check. */
  readonly wrong?: string;
}

export class Scoreboard {
  passed = 0;
  failed = 0;
  readonly #tell: (result: CheckResult) => void;

  constructor(tell: (result: CheckResult) => void = print) {
    this.#tell = tell;
  }

  /** Performs a scenario; an exception counts as a failure, and the next scenario runs. */
  async run(work: () => Promise<void>): Promise<void> {
    const start = performance.now();
    try {
      await work();
    } catch (error) {
      this.#fail('the scenario itself', start, error);
    }
  }

  /**
   * Performs a check and tells its result and time. A check fails by an exception; its result is
   * shown with its name.
   */
  async check(name: string, work: () => Promise<string | undefined> | string | undefined): Promise<boolean> {
    const start = performance.now();
    try {
      const detail = await work();
      this.passed++;
      this.#tell({ name, seconds: secondsSince(start), detail });
      return true;
    } catch (error) {
      this.#fail(name, start, error);
      return false;
    }
  }

  #fail(name: string, start: number, error: unknown): void {
    this.failed++;
    const wrong = error instanceof CheckError ? error.message : String((error as Error).stack ?? error);
    this.#tell({ name, seconds: secondsSince(start), wrong });
  }
}

function secondsSince(start: number): number {
  return (performance.now() - start) / 1000;
}

function print({ name, seconds, detail, wrong }: CheckResult): void {
  const verdict = wrong === undefined ? 'ok     ' : 'NOT OK ';
  const more = wrong === undefined ? '' : `${wrong.replace(/^/gm, '        ')}\n`;
  process.stdout.write(
    printableLines(`${verdict} ${name}${detail === undefined ? '' : `: ${detail}`} (${seconds.toFixed(2)} s)\n${more}`),
  );
}

/** Fault that a check found: one sentence, and further lines. */
export class CheckError extends Error {
  override name = 'CheckError';
}

/** Throws CheckError unless `condition` holds. */
export function expect(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new CheckError(sentence);
}

/** Throws CheckError with both lists' differences, unless they hold the same texts in any order. */
export function expectSame(found: readonly string[], wanted: readonly string[], what: string): void {
  const missing = wanted.filter((one) => !found.includes(one));
  const extra = found.filter((one) => !wanted.includes(one));
  if (missing.length === 0 && extra.length === 0 && found.length === wanted.length) return;
  const lines = [`${what} differ: ${found.length} found, ${wanted.length} expected`];
  if (missing.length > 0) lines.push(`missing: ${missing.join(', ')}`);
  if (extra.length > 0) lines.push(`not expected: ${extra.join(', ')}`);
  throw new CheckError(lines.join('\n'));
}
