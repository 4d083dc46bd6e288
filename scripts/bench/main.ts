// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- adapter [OPTIONS]`: the cost of the adapter, as ratios to its C twin measured
 * in the same run, and the cost of messages. Prints tables. The figures depend on the machine, so
 * they set the exit status only with `--strict`.
 */
import { loadavg } from 'node:os';
import { provideLibrary } from '../../qemu/setup/library.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { table } from '../console/table.ts';
import { setUp } from '../setup/set-up.ts';
import { measureInGuest } from './guest.ts';
import { measureInProcess } from './in-process.ts';
import { type BenchOptions, parseOptions } from './options.ts';
import { measureRaw } from './raw.ts';
import type { Round } from './samples.ts';
import { type Comparison, compare, comparisonTable, messageRows } from './summary.ts';

await runEntry(async () => {
  const options = parseOptions(process.argv.slice(2));
  const missed: string[] = [];
  if (options.parts.includes('guest')) missed.push(...(await benchGuest(options)));
  if (options.parts.includes('raw')) missed.push(...(await benchRaw(options)));
  if (options.parts.includes('in-process')) missed.push(...(await measureInProcess(print)));
  for (const sentence of missed) print(`MISSED: ${sentence}\n`);
  if (missed.length === 0) print('all targets are met\n');
  if (missed.length > 0 && options.strict) process.exitCode = 1;
});

async function benchGuest(options: BenchOptions): Promise<readonly string[]> {
  const { library, qemu, accelerator } = await setUp('start');
  print(`\nIn one guest (QEMU ${qemu.version}, ${accelerator.toUpperCase()}), ${describeRun(options)}\n`);
  const { registers, messages } = await measureInGuest({ ...options, library });
  const comparison = compare(registers);
  printComparison(comparison, registers);
  print('\n64-byte datagrams from port to port through the driver, from the post to the completion:\n');
  const head = ['', 'sent p50', 'p99', 'received p50', 'p99', 'messages'];
  print(table([head, ...messageRows(messages)], 1));
  return comparison.missed;
}

async function benchRaw(options: BenchOptions): Promise<readonly string[]> {
  const where = options.cpu === undefined ? 'on any CPU' : `on CPU ${options.cpu}`;
  print(`\nOn the socket, without QEMU, all ${where}, ${describeRun(options)}\n`);
  const rounds = await measureRaw({ ...options, library: await provideLibrary() });
  const comparison = compare(rounds);
  printComparison(comparison, rounds);
  return comparison.missed.map((sentence) => `on the socket: ${sentence}`);
}

function printComparison(comparison: Comparison, rounds: readonly Round[]): void {
  print(comparisonTable(comparison));
  print(`medians of ${rounds.length} rounds that take turns; load average afterwards ${loadavg()[0].toFixed(2)}\n`);
}

function describeRun({ rounds }: BenchOptions): string {
  return `${rounds} rounds, load average before ${loadavg()[0].toFixed(2)}:`;
}

function print(text: string): void {
  process.stdout.write(text);
}
