// SPDX-License-Identifier: Apache-2.0
/**
 * Counts the innermost test points of a TAP stream
 * (https://testanything.org/tap-version-14-specification.html) and prints a summary of it: one line
 * for each test file, and failures in full. Called by main.ts with each line that tap prints.
 */
import { Parser, type Result } from 'tap-parser';

/** The counts of a run. */
export interface TapCounts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Reads a stream of TAP lines and prints the summary through `print`. */
export class TapSummary {
  readonly counts: TapCounts = { passed: 0, failed: 0, skipped: 0 };
  readonly #parser = new Parser();
  readonly #print: (line: string) => void;

  constructor(print: (line: string) => void) {
    this.#print = print;
    this.#follow(this.#parser, []);
    this.#parser.on('bailout', (reason: string) => this.#fail([], `Bail out! ${reason}`));
  }

  /** Takes the next line. */
  push(line: string): void {
    this.#parser.write(`${line}\n`);
  }

  /** Ends the stream: a last test point without a line behind it is counted, too. */
  finish(): void {
    this.#parser.end();
  }

  /**
   * Reads the test points of a subtest, whose names from the outermost on are `path`, and of its
   * subtests.
   */
  #follow(parser: Parser, path: readonly string[]): void {
    let child: Parser | undefined;
    parser.on('child', (next: Parser) => {
      child = next;
      this.#follow(next, [...path, next.name]);
    });
    parser.on('assert', (result: Result) => {
      // A file may fail without a failed point: it ended early, or with an exit status.
      const hasFailedInside = result.closingTestPoint && (child?.fail ?? 0) > 0;
      if (path.length === 0) this.#print(describe(result));
      if (result.skip !== false || result.todo !== false) this.counts.skipped++;
      else if (!result.ok && !hasFailedInside) this.#fail(path, Parser.stringify([['assert', result]]));
      else if (!result.closingTestPoint) this.counts.passed++;
    });
  }

  #fail(path: readonly string[], text: string): void {
    this.counts.failed++;
    this.#print(`    in ${path.join(' > ') || 'the run'}:`);
    for (const line of text.trimEnd().split('\n')) this.#print(line);
  }
}

function describe({ ok, id, name, skip, todo, time }: Result): string {
  const directive = skip !== false ? ` # SKIP ${skip}` : todo !== false ? ` # TODO ${todo}` : '';
  return `${ok ? 'ok' : 'not ok'} ${id} - ${name}${directive}${time === null ? '' : ` # time=${time}ms`}`;
}
