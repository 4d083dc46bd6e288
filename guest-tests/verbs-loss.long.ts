// SPDX-License-Identifier: Apache-2.0
/**
 * Users of the InfiniBand device of verbs.test.ts leave it when its adapter is lost, including a
 * program that polls.
 */
import t from 'tap';
import { hasQemuAborted, runPastOthersFaults } from './harness/others-faults.ts';
import { reportPart, runPart } from './verbs-run.ts';

/** Under load QEMU aborts by itself nearly each time its server vanishes. */
const ATTEMPTS = 2;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

for (const [part, name] of [
  ['loss', 'an adapter that dies under the users of the InfiniBand device'],
  ['program', 'an adapter that dies under a program that polls'],
] as const)
  t.test(name, async (t) => {
    const run = await runPastOthersFaults(t, ATTEMPTS, () => runPart(part));
    if (hasQemuAborted(run)) t.pass('the driver was not judged', { skip: `QEMU aborted by itself ${ATTEMPTS} times` });
    else reportPart(t, run, part);
  });
