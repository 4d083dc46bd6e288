// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the ledger comments in a test's TAP output, gives each the outcome of its test at the top
 * level, and writes all as a document. Called by main.ts.
 */
import { Parser, type Result } from 'tap-parser';
import { LEDGER_MARK } from '../../device/rig/fixtures/ledger.ts';
import { FILE_MARK } from '../test-runner/test-processes.ts';

/** One statement and the test that shows it. */
export interface LedgerEntry {
  readonly section: string;
  readonly statement: string;
  /** File and name of the test. */
  readonly path: string;
  readonly test: string;
  readonly passed: boolean;
}

/** A test of a file's top level, and how it ended. */
export interface TestOutcome {
  readonly path: string;
  readonly test: string;
  readonly passed: boolean;
}

/** Line of a process before the tests of each of several files. */
const FILE = new RegExp(`^# ${FILE_MARK} (.*)\n$`);
/** Results of tests. */
export interface RunResults {
  readonly entries: readonly LedgerEntry[];
  readonly outcomes: readonly TestOutcome[];
}

const COMMENT = new RegExp(`^# ${LEDGER_MARK} (A?[\\d.]+) \\| (.*)\n$`);

export class LedgerReader {
  readonly entries: LedgerEntry[] = [];
  readonly outcomes: TestOutcome[] = [];
  #path: string;
  readonly #parser: Parser;
  /** The statements of the test that is running. */
  #open: { section: string; statement: string }[] = [];

  /** Reads the output of the test file `path`: what push() takes, or what reaches `parser`. */
  constructor(path: string, parser: Parser = new Parser()) {
    this.#path = path;
    this.#parser = parser;
    parser.on('comment', (line: string) => {
      this.#path = FILE.exec(line)?.[1] ?? this.#path;
    });
    this.#parser.on('child', (test: Parser) => this.#followComments(test));
    this.#parser.on('assert', (result: Result) => this.#close(result));
  }

  /** Takes the next line. */
  push(line: string): void {
    this.#parser.write(`${line}\n`);
  }

  /** Ends the output: an outcome without a later line counts, too. */
  finish(): void {
    this.#parser.end();
  }

  #followComments(test: Parser): void {
    test.on('child', (inner: Parser) => this.#followComments(inner));
    test.on('comment', (line: string) => {
      const [, section, statement] = COMMENT.exec(line) ?? [];
      if (statement !== undefined) this.#open.push({ section, statement: unescapeTap(statement) });
    });
  }

  #close({ name, ok, skip, todo }: Result): void {
    const passed = ok && skip === false && todo === false;
    this.outcomes.push({ path: this.#path, test: unescapeTap(name), passed });
    for (const open of this.#open) this.entries.push({ ...open, path: this.#path, test: name, passed });
    this.#open = [];
  }
}

/**
 * Results of the files `paths` in the output of a run of tests, for instance `build/test.tap`. A
 * process that ran several files names each before its tests.
 */
export function readRun(text: string, paths: readonly string[]): RunResults {
  const readers: LedgerReader[] = [];
  const parser = new Parser();
  parser.on('child', (file: Parser) => readers.push(new LedgerReader(file.name, file)));
  parser.end(text);
  const isWanted = ({ path }: { readonly path: string }): boolean => paths.includes(path);
  return {
    entries: readers.flatMap(({ entries }) => entries.filter(isWanted)),
    outcomes: readers.flatMap(({ outcomes }) => outcomes.filter(isWanted)),
  };
}

/** The ledger as a table, in the order of the specification. */
export function formatLedger(entries: readonly LedgerEntry[]): string {
  const sorted = [...entries].sort(compareEntries);
  const lines = [
    `${sorted.length} statements.`,
    '',
    '| Section | Statement | Shown by |',
    '|---|---|---|',
    ...sorted.map(
      ({ section, statement, path, test }) => `| ${section} | ${cell(statement)} | \`${path}\`: ${cell(test)} |`,
    ),
  ];
  return lines.join('\n');
}

function compareEntries(left: LedgerEntry, right: LedgerEntry): number {
  const [a, b] = [left.section, right.section].map(numbersOf) as [number[], number[]];
  for (let index = 0; index < Math.max(a.length, b.length); index++) {
    const difference = (a[index] ?? -1) - (b[index] ?? -1);
    if (difference !== 0) return difference;
  }
  return order(left.path, right.path) || order(left.statement, right.statement);
}

/** Annexes come after the chapters. */
function numbersOf(section: string): number[] {
  const numbers = section.replace('A', '').split('.').map(Number);
  return section.startsWith('A') ? [Number.MAX_SAFE_INTEGER, ...numbers] : numbers;
}

function order(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|');
}

/** TAP escapes some characters; the parser leaves comments as they are. */
function unescapeTap(text: string): string {
  return text.replaceAll('\\#', '#').replaceAll('\\\\', '\\');
}
