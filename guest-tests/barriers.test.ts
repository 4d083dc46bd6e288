// SPDX-License-Identifier: Apache-2.0
/**
 * The barriers of driver and provider beside an adapter, on two processors of the host: between a
 * tail and the look whether the adapter watches the queue (docs/PROGRAMMING.md, "Shadow tails"),
 * and between summary bytes and what they announce.
 */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { compileForHost } from './harness/host-program.ts';

/** Headers of the kernel that vuhca_eq.h includes; bytes.c has the parts that are needed. */
const HEADERS = ['completion', 'hrtimer', 'list', 'spinlock', 'workqueue'];

/** Numbers that the program prints: of stores, then of those that each way of looking has lost. */
function count(folder: string, name: string, headers: readonly string[] = []): number[] {
  const program = compileForHost(folder, name, ['-O2'], headers);
  return execFileSync(program, { encoding: 'utf8' }).trim().split(' ').map(Number);
}

t.test('either the driver sees that its queue is watched no more, or the adapter its tail', async (t) => {
  const [tails, driver, provider, without] = count(t.testdir(), 'tails');
  t.ok(tails > 0, `${tails} tails of each`);
  t.equal(driver, 0, 'the driver loses none');
  t.equal(provider, 0, 'the provider loses none');
  // One processor, or none that is free, reorders nothing that two threads could see.
  t.comment(`without a barrier ${without} are lost`);
});

t.test('a driver that clears summary bytes sees what was posted, or finds them set again', async (t) => {
  const [events, completions, entries, without] = count(t.testdir(), 'bytes', HEADERS);
  t.ok(events > 0, `${events} events of each kind`);
  t.equal(completions, 0, 'no completion of a CQ with a byte of its own is lost');
  t.equal(entries, 0, 'no entry that the shared byte announces is lost');
  t.comment(`without barriers ${without} are lost`);
});
