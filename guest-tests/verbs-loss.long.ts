// SPDX-License-Identifier: Apache-2.0
/**
 * Programs on the InfiniBand device of verbs.test.ts: the limits that the device reports can be
 * reached, its counters count the traffic that they must count, and processes post with and without
 * shadow tails. Then its users leave the device when its adapter is lost: a program that polls, and
 * IPoIB, with traffic if VUHCA_LARGE is set.
 */
import t from 'tap';
import { hasQemuAborted, runPastOthersFaults } from './harness/others-faults.ts';
import { reportPart, runPart } from './verbs-run.ts';

/** QEMU may abort by itself when its server vanishes. */
const ATTEMPTS = 2;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('programs of the InfiniBand device, and an adapter that dies under its users', async (t) => {
  const run = await runPastOthersFaults(t, ATTEMPTS, () => runPart('loss'));
  if (hasQemuAborted(run)) t.pass('the driver was not judged', { skip: `QEMU aborted by itself ${ATTEMPTS} times` });
  else reportPart(t, run, 'loss');
});
