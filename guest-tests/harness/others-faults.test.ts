// SPDX-License-Identifier: Apache-2.0
/**
 * A run that faults of others spoil is repeated, with a message; one with a fault of ours is not.
 */
import t from 'tap';
import type { GuestRun } from './guest-run.ts';
import type { GuestFault } from './guest-session.ts';
import { hasAgentRace, hasQemuAborted, runPastOthersFaults } from './others-faults.ts';

function run(kind: GuestFault['kind'], text: string, log: readonly string[] = []): GuestRun {
  return { results: [], faults: [{ kind, text, logLines: 0 }], seconds: 1, kernelLog: () => log, logBetween: () => [] };
}

const ABORTED = run('guest', 'QEMU ended with SIGABRT; it said: error_setv: Assertion failed');
const RACE = run('kernel', 'complained (warning): refcount_t: addition on 0; use-after-free.', [
  '[ 1.0]  agent_send_response+0xf6/0x170 [ib_core]',
]);
const OURS = run('kernel', 'complained (warning): refcount_t: addition on 0; use-after-free.', [
  '[ 1.0]  vuhca_cq_poll+0xf6/0x170 [vuhca]',
]);

t.test('what is known of others', async (t) => {
  t.same([ABORTED, RACE, OURS].map(hasQemuAborted), [true, false, false]);
  t.same([ABORTED, RACE, OURS].map(hasAgentRace), [false, true, false], 'by what the kernel was doing');
});

t.test('such runs are repeated, with a word, as often as that is allowed', async (t) => {
  const said: string[] = [];
  const told = { comment: (text: string) => void said.push(text) } as unknown as typeof t;
  const play = (...runs: GuestRun[]) => runPastOthersFaults(told, 3, async () => runs.shift() as GuestRun);
  t.equal(await play(ABORTED, RACE, OURS, ABORTED), OURS);
  t.same(said, [
    'QEMU aborted by itself; the test runs again',
    "Linux's ib_core used an agent that it had freed; the test runs again",
  ]);
  t.equal(await play(OURS, RACE), OURS, 'a fault of ours is a result');
  t.equal(await play(RACE, RACE, RACE, OURS), RACE, 'and so is the last run');
});
