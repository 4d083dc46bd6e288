// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- --in-process`: messages per second through the device core alone, and the bytes
 * that a message allocates there, which must be none. Each way of posting runs in a process of its
 * own, so that V8 compiles for one only. Guest memory lies once below 2 GiB and once above 4 GiB:
 * an address of 2^31 or more is a heap number of 16 bytes in each call that takes or returns it and
 * is not inlined. `allocation.test.ts` counts the same with fewer messages.
 */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import { table } from '../console/table.ts';

const WORKER = join(dirname(fileURLToPath(import.meta.url)), 'in-process-worker.ts');
const MESSAGES = 1_000_000;
export const LOW_MEMORY = 0x1000_0000;
export const HIGH_MEMORY = 0x12_3456_0000;
/**
 * A message that allocates needs 16 bytes. One number that V8 boxes in each pass of the adapter is
 * 1, for passes of 16 messages, and depends on what V8 inlines in one process;
 * allocation.test.ts counts with a bound of 1 under fixed conditions.
 */
const BOUND_BYTES = 2;
const FLAGS = ['--expose-gc', '--min-semi-space-size=128', '--max-semi-space-size=128', '--import=#typescript'];

/** The line that the worker prints. */
export interface CoreSample {
  readonly device: string;
  readonly count: number;
  readonly totalNs: number;
  readonly grownBytes: number;
}

/** Measures, prints a table, and returns a sentence for each target that is missed. */
export async function measureInProcess(print: (text: string) => void): Promise<string[]> {
  print(`\nIn one process, without a guest, ${MESSAGES} datagrams of 64 bytes from port to port:\n`);
  const samples: CoreSample[] = [];
  for (const [where, base] of [
    ['memory below 2 GiB', LOW_MEMORY],
    ['above 4 GiB', HIGH_MEMORY],
  ] as const) {
    for (const by of ['collect', 'doorbell']) {
      const sample = await runWorker(base, by);
      samples.push({ ...sample, device: `${by}, ${where}` });
    }
  }
  const summary = summarizeCore(samples);
  print(summary.table);
  return summary.missed;
}

/** The table, and a sentence for each target that is missed. */
export function summarizeCore(samples: readonly CoreSample[]): { table: string; missed: string[] } {
  const missed: string[] = [];
  const lines = samples.map(({ device, count, totalNs, grownBytes }) => {
    const perMessage = Math.max(0, grownBytes / count);
    const met = perMessage < BOUND_BYTES;
    if (!met) missed.push(`in one process, ${device}: a message allocates ${perMessage.toFixed(1)} bytes`);
    const target = `< ${BOUND_BYTES} bytes ${met ? 'met' : 'MISSED'}`;
    const rate = `${Math.round((count / totalNs) * 1e9)}/s`;
    return [device, `${(totalNs / count / 1000).toFixed(2)} us`, rate, `${perMessage.toFixed(2)} bytes`, target];
  });
  return { table: table([['', 'per message', 'messages', 'allocated', 'target'], ...lines], 1), missed };
}

async function runWorker(memoryBase: number, by: string): Promise<CoreSample> {
  const args = [...FLAGS, WORKER, String(MESSAGES), String(memoryBase), by];
  const { stdout } = await promisify(execFile)(process.execPath, args).catch((error: Error) => {
    throw new SetupError(`the in-process benchmark failed; correct the cause it reports: ${error.message}`);
  });
  return JSON.parse(stdout) as CoreSample;
}
