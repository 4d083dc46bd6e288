// SPDX-License-Identifier: Apache-2.0
/**
 * Counts checks and prints each as it ends, as CI expects of a test program. The first line of a
 * failed check says what is wrong; files name what the judges printed. Scenarios use it.
 */

export class Scoreboard {
  passed = 0;
  failed = 0;
  readonly #write: (text: string) => void;

  constructor(write: (text: string) => void = (text) => void process.stdout.write(text)) {
    this.#write = write;
  }

  /** A headline; checks of it follow. */
  begin(title: string): void {
    this.#write(`== ${title}\n`);
  }

  /** Performs a scenario; an error of its own counts as a failure, and the next one goes on. */
  async run(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.failed++;
      this.#write(`NOT OK  the scenario itself\n${describe(error).replace(/^/gm, '        ')}\n`);
    }
  }

  /**
   * Performs a check and prints its result and time. A check fails by an error; what it returns is
   * printed behind its name.
   */
  async check(name: string, work: () => Promise<string | undefined> | string | undefined): Promise<boolean> {
    const start = performance.now();
    const seconds = (): string => `${((performance.now() - start) / 1000).toFixed(2)} s`;
    try {
      const detail = await work();
      this.passed++;
      this.#write(`ok      ${name}${detail === undefined ? '' : `: ${detail}`} (${seconds()})\n`);
      return true;
    } catch (error) {
      this.failed++;
      this.#write(`NOT OK  ${name} (${seconds()})\n${describe(error).replace(/^/gm, '        ')}\n`);
      return false;
    }
  }
}

/** What a check found wrong: one sentence, and further lines. */
export class CheckError extends Error {
  override name = 'CheckError';
}

function describe(error: unknown): string {
  return error instanceof CheckError ? error.message : String((error as Error).stack ?? error);
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
