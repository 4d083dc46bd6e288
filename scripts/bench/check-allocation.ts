// SPDX-License-Identifier: Apache-2.0
/**
 * Counts in a process of its own what messages of 64 bytes allocate. Called by allocation.test.ts
 * and allocation.long.ts.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Test } from 'tap';
import { ALLOCATION_BOUND } from './allocation-count.ts';
import type { NamedCount } from './allocation-worker.ts';

const WORKER = join(import.meta.dirname, 'allocation-worker.ts');
/**
 * Optimisation in the thread that runs the code: when it is done depends on no other process. The
 * young generation is as large as for in-process.ts: with the default size, objects are soon old,
 * and a store that allocates as long as its object is young was not counted.
 */
const FLAGS = ['--single-threaded', '--min-semi-space-size=128', '--max-semi-space-size=128', '--import=#typescript'];
/** The smallest object. */
const OBJECT_BYTES = 16;

/** Checks that no kind of message allocates, and that an object for each would be found. */
export async function checkAllocation(t: Test, args: readonly string[]): Promise<void> {
  const { stdout } = await promisify(execFile)(process.execPath, [...FLAGS, WORKER, ...args]);
  const counts = JSON.parse(stdout) as NamedCount[];
  const control = counts.pop();
  t.equal(counts.length, 13);
  for (const { name, settled, bytesPerMessage, rounds } of counts)
    t.ok(settled, `${name}: ${bytesPerMessage.toFixed(2)} bytes after ${rounds} rounds, bound ${ALLOCATION_BOUND}`);
  t.notOk(control?.settled, 'an object for each message is found');
  t.ok((control?.bytesPerMessage ?? 0) >= OBJECT_BYTES, `as ${control?.bytesPerMessage} bytes`);
}
