// SPDX-License-Identifier: Apache-2.0
/**
 * Counts the innermost test points of test files
 * (https://testanything.org/tap-version-14-specification.html), prints failures in full as they
 * occur, and collects skipped tests with their reasons. Called by main.ts with the parser of each
 * file.
 */
import { Parser, type Result } from 'tap-parser';

/** The counts of a run. */
export interface TapCounts {
  passed: number;
  failed: number;
  skipped: number;
}

/** Test points that did not run for one reason. */
export interface Skip {
  readonly reason: string;
  /** The file of the first of them. */
  readonly file: string;
  count: number;
}

/** How a file ended. */
export interface FileEnd {
  readonly file: string;
  readonly ok: boolean;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The reason for which the whole file was skipped. */
  readonly skipped?: string | undefined;
}

/** Follows the files of a run and prints failures through `print`. */
export class TapSummary {
  readonly counts: TapCounts = { passed: 0, failed: 0, skipped: 0 };
  readonly #print: (line: string) => void;
  readonly #skips = new Map<string, Skip>();
  /** Files with a failed test point. */
  readonly #blamed = new Set<string>();

  constructor(print: (line: string) => void) {
    this.#print = print;
  }

  /** What was skipped, by reason. */
  get skips(): readonly Skip[] {
    return [...this.#skips.values()];
  }

  /** Follows the output of `file`. */
  begin(file: string, parser: Parser): void {
    this.#follow(parser, [file]);
    parser.on('bailout', (reason: string) => this.#fail([file], `Bail out! ${reason}`));
  }

  /** Counts a file that failed without a failed test point, or was skipped as a whole. */
  end({ file, ok, exitCode, signal, skipped }: FileEnd): void {
    if (skipped !== undefined) this.#skip(file, skipped);
    else if (!ok && !this.#blamed.has(file))
      this.#fail([file], `not ok - the file ended with ${signal ?? `status ${exitCode}`}`);
  }

  /** Reads the test points of a subtest, `path` being the names from the file on. */
  #follow(parser: Parser, path: readonly string[]): void {
    let child: Parser | undefined;
    parser.on('child', (next: Parser) => {
      child = next;
      this.#follow(next, [...path, next.name]);
    });
    parser.on('assert', (result: Result) => {
      // A subtest may fail without a failed point: it ended early.
      const hasFailedInside = result.closingTestPoint && (child?.fail ?? 0) > 0;
      const directive = result.skip || result.todo;
      if (directive) this.#skip(path[0] as string, directive === true ? 'no reason given' : directive);
      else if (!result.ok && !hasFailedInside) this.#fail(path, Parser.stringify([['assert', result]]));
      else if (!result.closingTestPoint) this.counts.passed++;
    });
  }

  #skip(file: string, reason: string): void {
    this.counts.skipped++;
    const skip = this.#skips.get(reason);
    if (skip === undefined) this.#skips.set(reason, { reason, file, count: 1 });
    else skip.count++;
  }

  #fail(path: readonly string[], text: string): void {
    this.counts.failed++;
    this.#blamed.add(path[0] as string);
    this.#print(`    in ${path.join(' > ')}:`);
    for (const line of text.trimEnd().split('\n')) this.#print(line);
  }
}
