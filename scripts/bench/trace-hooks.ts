// SPDX-License-Identifier: Apache-2.0
/**
 * What traces cost while nothing is traced: the adapter as it is against a copy of it without the hooks. Two copies of the same code differ by some percent in one process,
 * by how they happen to be compiled, and always in the same direction: so each of many processes is one observation, and a third copy, equal to the second, shows how far
 * equal code differs. Called by transport.ts.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { median } from './statistics.ts';
import { copySources, stripHooks } from './strip-hooks.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const WORKER = join(import.meta.dirname, 'trace-hooks-worker.ts');
const SERVICES = ['rc', 'uc', 'ud'];
const PROCESSES = 12;
/** Names by which the workers sort the copies: each comes first, second and third equally often. */
const PLACES = ['abc', 'bca', 'cab'];

/** Processor time of one against that of the other: the median of all processes, and between what it lies with 95 % confidence. */
export interface Comparison {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/** Prints a line for each service. */
export function compareAbsentHooks(json: boolean): void {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-hooks-'));
  try {
    const copies = PLACES.map((places) => {
      const [absent, present, again] = [...places].map((name) => join(directory, places, name)) as [
        string,
        string,
        string,
      ];
      for (const copy of [absent, present, again]) copySources(ROOT, copy);
      if (stripHooks(absent) === 0) throw new Error('no hook was found in the sources');
      return [absent, present, again] as const;
    });
    for (const service of SERVICES) {
      const found = Array.from({ length: PROCESSES }, (_, number) =>
        runWorker(copies[number % copies.length], service),
      );
      const off = summarize(found.map(({ ratio }) => ratio));
      const control = summarize(found.map((one) => one.control));
      const name = `trace-off ${service}-64`;
      process.stdout.write(
        json
          ? `${JSON.stringify({ name, off, control, processes: PROCESSES })}\n`
          : `${name}: trace off costs ${describe(off)} of no hooks at all; equal code against itself ${describe(control)}; ${PROCESSES} processes\n`,
      );
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

function runWorker(copies: readonly string[], service: string): { ratio: number; control: number } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', 'tsx', WORKER, ...copies, service], {
    encoding: 'utf8',
    cwd: ROOT,
  });
  if (status !== 0) throw new Error(`a process of the comparison failed: ${stderr}`);
  return JSON.parse(stdout) as { ratio: number; control: number };
}

/** The interval is that of the median by order statistics: nothing is assumed of how the values are distributed. */
export function summarize(values: readonly number[]): Comparison {
  const sorted = [...values].sort((one, other) => one - other);
  const outside = countOutside(sorted.length);
  return { ratio: median(sorted), low: sorted[outside], high: sorted[sorted.length - 1 - outside] };
}

/** How many values at either end are left out, so that the true median lies among the others in at least 95 of 100 cases. */
function countOutside(count: number): number {
  let chance = 0.5 ** count;
  let below = chance;
  let outside = 0;
  while (below <= 0.025 && outside < count / 2) {
    outside++;
    chance *= (count - outside + 1) / outside;
    below += chance;
  }
  return Math.max(0, outside - 1);
}

function describe({ ratio, low, high }: Comparison): string {
  return `${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}
