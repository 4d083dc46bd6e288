// SPDX-License-Identifier: Apache-2.0
/**
 * Programs of guest-tests/foreign on the InfiniBand device of verbs.test.ts: the limits that the
 * device reports can be reached, and its counters count the traffic that they must count.
 */
import t from 'tap';
import { reportPart, runPart } from './verbs-run.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('limits and counters of the InfiniBand device', async (t) => {
  reportPart(t, await runPart('programs'), 'programs');
});
