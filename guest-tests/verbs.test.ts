// SPDX-License-Identifier: Apache-2.0
/**
 * The InfiniBand device of the driver (guest-tests/driver/ib) in a guest with Debian's user space:
 * Debian's tools show it, IPoIB and kernel verbs (guest-tests/verbs) work on it, and its users
 * leave it under traffic when it is unbound, reset or removed. cases/verbs.sh has the checks.
 */
import t from 'tap';
import { reportPart, runPart } from './verbs-run.ts';

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the InfiniBand device among its users', async (t) => {
  reportPart(t, await runPart('life'), 'life');
});
