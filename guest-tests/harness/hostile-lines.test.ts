// SPDX-License-Identifier: Apache-2.0
/**
 * Lines that a guest may write, up to the length that the line splitter passes on: reading one
 * takes time in proportion to its length. A pattern whose parts share characters takes the square
 * or the cube: minutes instead of milliseconds. A line of 16 times the length may take 64 times as
 * long here, by processor time, where a square would be 256 times. Times that a reader of single
 * characters could need are not compared.
 */
import { Script } from 'node:vm';
import t from 'tap';
import { printable } from '../../protocol/system/printable.mjs';
import { findComplaint } from '../../qemu/kernel-log.ts';
import { KernelRecords } from '../../qemu/kernel-records.ts';
import { LineSplitter } from '../../qemu/line-splitter.ts';
import { KtapParser } from './ktap.ts';
import { KtapStreams } from './ktap-streams.ts';

const SHORT = 1 << 12;
const LONG = 1 << 16;
/** 1.5 us for each character of a long line. The square of its length is 4 * 10^9 steps. */
const NOISE_MS = 100;
/** Ends a reader that would take hours, so that the test fails. */
const PATIENCE_MS = 60_000;

const TAP = [
  '',
  'ok 1',
  'ok 1 - a #',
  'ok 1 - a # SKIP',
  'not ok',
  '1..1',
  '1..1 # SKIP',
  '# Subtest:',
  '# duration_ms 1',
  'KTAP version 1',
];
/** Texts that a line repeats: those that patterns look for, and those that they skip. */
const REPEATED = [
  ' ',
  '#',
  '# ',
  ' #',
  '# SKIP',
  '1',
  '-',
  '- ',
  ' -',
  'ok ',
  '\t',
  'TAP version 1 ',
  'watchdog: ',
  'workqueue: ',
  'WARNING: ',
  'WARNING: a:1 ',
  'WARNING: CPU: 1 ',
  ' at a',
  ' at a:',
  'INFO: task ',
  ' blocked for more than 1',
  'rcu',
  'DMA-API: ',
  'vuhca: ib_mthca ',
  'irq 1',
  '\\x1b',
  '\x1b',
  '\x1b[',
  '\x1b[1;',
  ';?',
  '\x9b',
  '\u202e',
];
/** After these a pattern that expects the end of the line fails. */
const ENDS = ['x', '\u2028x'];

interface Reader {
  readonly name: string;
  /** Texts that its lines may begin with. */
  readonly beginnings: readonly string[];
  read(line: string): void;
}

const readers: readonly Reader[] = [
  { name: 'printable', beginnings: ['', '\x1b[', '\x1b]'], read: printable },
  {
    name: 'line splitter',
    beginnings: [''],
    read: (line) => new LineSplitter(() => {}).push(Buffer.from(`${line}\n`)),
  },
  {
    name: 'kernel records',
    beginnings: ['', '6,0,0,-;', '6,1'],
    read: (line) =>
      new KernelRecords(
        () => {},
        () => {},
      ).push(line),
  },
  { name: 'kernel complaints', beginnings: ['', 'BUG: '], read: findComplaint },
  { name: 'KTAP', beginnings: TAP, read: (line) => new KtapParser().push(line) },
  {
    name: 'KTAP among lines',
    beginnings: TAP,
    read: (line) => new KtapStreams(() => {}, { plansBegin: true }).push(line),
  },
];

const work = { read: (_line: string): void => {}, line: '' };
Object.assign(globalThis, { hostileLines: work });
const script = new Script('hostileLines.read(hostileLines.line)');

/** Processor time of this process, which other processes do not affect. */
function time({ read }: Reader, line: string): number {
  Object.assign(work, { read, line });
  const { user: before } = process.cpuUsage();
  script.runInThisContext({ timeout: PATIENCE_MS });
  return (process.cpuUsage().user - before) / 1000;
}

for (const reader of readers) {
  t.test(`${reader.name}: no line takes longer than its length warrants`, (t) => {
    for (const beginning of reader.beginnings)
      for (const repeated of REPEATED)
        for (const end of ENDS) {
          const make = (length: number): string => `${beginning}${repeated.repeat(length / repeated.length)}${end}`;
          const long = time(reader, make(LONG));
          if (long < NOISE_MS) continue;
          const short = time(reader, make(SHORT));
          if (long < (short * 4 * LONG) / SHORT) continue;
          t.fail(`${printable(JSON.stringify([beginning, repeated, end]))}: ${short} ms, then ${long} ms`);
        }
    t.pass('all lines');
    t.end();
  });
}
