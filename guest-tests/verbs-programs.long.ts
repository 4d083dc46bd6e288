// SPDX-License-Identifier: Apache-2.0
/**
 * Programs of guest-tests/foreign on the InfiniBand device of verbs.test.ts: the limits that it
 * tells can be reached, and its counters move by what must move them.
 */
import t from 'tap';
import { reportPart, runPart } from './verbs-run.ts';

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('limits and counters of the InfiniBand device', async (t) => {
  reportPart(t, await runPart('programs'), 'programs');
});
