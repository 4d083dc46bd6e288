// SPDX-License-Identifier: Apache-2.0
/**
 * The exit statuses of all commands, in one table: the code takes its numbers from here, `--help`
 * of each command prints its rows, and docs/DEBUGGING.md has the same rows.
 */

/** Statuses that any command may have. */
export const ExitStatus = {
  DONE: 0,
  FAILED: 1,
  USAGE: 2,
  /** A shell's status for a signal is the signal's number and this. */
  SIGNAL: 128,
} as const;

/** Exit statuses of `vuhca test`; the most serious of all jobs counts. */
export const TestStatus = {
  PASSED: 0,
  FAILED: 1,
  USAGE: 2,
  NOT_COMPILED: 3,
  NOT_LOADED: 4,
  KERNEL_COMPLAINED: 5,
  SILENT: 6,
  ADAPTER_FAILED: 7,
} as const;
export type TestStatus = (typeof TestStatus)[keyof typeof TestStatus];

/** Statuses of `vuhca run` beside that of its case. */
export const RunStatus = {
  /** Same as that of timeout(1). */
  SILENT: 124,
  /** A module did not load, or the driver bound nothing. */
  OBSTACLE: 125,
} as const;

/** Statuses of `vuhca cluster exec` beside that of its command. */
export const ClusterExec = {
  /** Same as that of ssh(1): the node or the way to it failed. */
  LOST: 255,
} as const;

/** A replay that differs. */
export const DIVERGED_STATUS = 3;
/** An adapter that has failed: EX_SOFTWARE of sysexits.h. */
export const ADAPTER_FAILED_STATUS = 70;

/** A status, and its meaning. */
type Row = readonly [status: number | string, meaning: string];

const DONE: Row = [ExitStatus.DONE, 'done'];
const FAILED: Row = [ExitStatus.FAILED, 'it failed, and a sentence says why'];
const USAGE: Row = [ExitStatus.USAGE, 'wrong arguments'];
const SIGNAL: Row = ['128 + N', 'signal N ended it: 130 Ctrl-C, 141 nobody reads its output any more'];

const rows: Readonly<Record<string, readonly Row[]>> = {
  run: [
    [0, 'the guest ended; with --case, the status of the case'],
    [1, 'guest or adapter failed, its kernel complained, or the KTAP of a case has failures though it ended with 0'],
    USAGE,
    [RunStatus.SILENT, 'the guest was silent for --timeout'],
    [
      RunStatus.OBSTACLE,
      "a module did not load, the driver bound nothing, or a file of --files has no place in Debian's file system",
    ],
    SIGNAL,
  ],
  test: [
    [TestStatus.PASSED, 'all passed'],
    [TestStatus.FAILED, 'a test failed, its output is broken KTAP, or a store came too late'],
    [TestStatus.USAGE, 'wrong arguments'],
    [TestStatus.NOT_COMPILED, 'a module did not compile'],
    [TestStatus.NOT_LOADED, 'a module did not load, or a driver bound nothing'],
    [TestStatus.KERNEL_COMPLAINED, 'the kernel complained (WARN, BUG, oops, panic, leak), at whatever log level'],
    [TestStatus.SILENT, 'the guest was silent for --timeout, or ended early'],
    [TestStatus.ADAPTER_FAILED, 'adapter or QEMU failed'],
    SIGNAL,
  ],
  device: [
    [0, 'SIGINT, SIGTERM or SIGHUP asked it to end'],
    [1, 'it could not start, and a sentence says why'],
    USAGE,
    [ADAPTER_FAILED_STATUS, 'something in it failed: the log says what, no socket is left, and guests read ones'],
    ['128 + N', 'signal N came before it had begun, or a second time'],
  ],
  capture: [
    [0, 'its count, time or limit is reached, or a signal ended it: the file is whole'],
    [1, 'it failed, and a sentence says why'],
    USAGE,
    ['128 + N', 'signal N came before the capture had begun, or a second time'],
  ],
  view: [
    [0, 'a signal ended it, or the process that it shows has ended'],
    FAILED,
    USAGE,
    ['128 + N', 'signal N came before the page was served, or a second time'],
  ],
  cluster: [
    [0, 'done; exec, shell and test: the command ended with 0'],
    [1, 'it failed, and a sentence says why; up: a node is not up, and the others go on'],
    USAGE,
    ['N', 'exec, shell, test: the status of the command; of several nodes the highest'],
    [ClusterExec.LOST, 'exec in several nodes: a node could not be reached, or the way to it broke'],
    SIGNAL,
  ],
  replay: [
    [0, 'identical'],
    [1, 'no usable recording'],
    USAGE,
    [DIVERGED_STATUS, 'the adapter behaved differently; the first difference is printed'],
    SIGNAL,
  ],
};

/** The rows of a command. */
export function statusesOf(name: string): readonly Row[] {
  return Object.hasOwn(rows, name) ? rows[name] : [DONE, FAILED, USAGE, SIGNAL];
}

/** Commands with rows of their own. */
export const commandsWithStatuses = Object.keys(rows);

const COLUMNS = 100;

/** The rows of a command as lines of its help. */
export function describeStatuses(name: string): string[] {
  const lines = statusesOf(name).flatMap(([status, meaning]) => wrap(`  ${status}  ${meaning}`.split(' '), '    '));
  return ['Exit status:', ...lines];
}

/** Lines of at most COLUMNS; all but the first are indented. */
function wrap(words: readonly string[], indent: string): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined) lines.push(word);
    else if (last.length + 1 + word.length <= COLUMNS) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`${indent}${word}`);
  }
  return lines;
}
