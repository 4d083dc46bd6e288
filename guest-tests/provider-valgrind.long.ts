// SPDX-License-Identifier: Apache-2.0
/**
 * The provider under valgrind: the ping-pongs of libibverbs, tests of pyverbs, and a program whose
 * device is reset, in a guest with Debian's valgrind. An invalid access or a leak counts when a
 * file of the provider is in its trace. `VALGRIND_TESTS` names other test files of pyverbs. A
 * program takes minutes to start in an emulated guest: it runs if VUHCA_LARGE is set.
 */
import t from 'tap';
import { runStress } from './stress-run.ts';

const TESTS = process.env.VALGRIND_TESTS ?? 'test_cq test_cqex test_qpex';
/**
 * Results: active ports, seven pairs of programs, pyverbs, and the program whose device is reset.
 */
const CHECKS = 10;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

const isLarge = process.env.VUHCA_LARGE !== undefined;
const large = isLarge ? {} : { skip: 'minutes for each program: set VUHCA_LARGE' };

t.test('the provider under valgrind', large, async (t) => {
  await runStress(t, {
    script: 'valgrind.sh',
    files: ['dead-device.py'],
    settings: { TESTS },
    checks: CHECKS,
    device: { arguments: ['--fabric=switch'] },
    set: 'valgrind',
    hasVerbs: true,
  });
});
