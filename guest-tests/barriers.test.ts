// SPDX-License-Identifier: Apache-2.0
/**
 * The barriers of driver and provider between a tail and the look whether the adapter watches the
 * queue (docs/PROGRAMMING.md, "Shadow tails"): on two processors of the host no tail is lost.
 */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { compileForHost } from './harness/host-program.ts';

t.test('either the driver sees that its queue is watched no more, or the adapter its tail', async (t) => {
  const program = compileForHost(t.testdir(), 'tails', ['-O2']);
  const counts = execFileSync(program, { encoding: 'utf8' }).trim().split(' ').map(Number);
  const [tails, driver, provider, without] = counts as [number, number, number, number];
  t.ok(tails > 0, `${tails} tails of each`);
  t.equal(driver, 0, 'the driver loses none');
  t.equal(provider, 0, 'the provider loses none');
  // One processor, or none that is free, reorders nothing that two threads could see.
  t.comment(`without a barrier ${without} are lost`);
});
