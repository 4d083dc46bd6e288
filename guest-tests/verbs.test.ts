// SPDX-License-Identifier: Apache-2.0
/**
 * The InfiniBand device of the driver (guest-tests/driver/ib) in a guest with Debian's user space:
 * Debian's tools show it, IPoIB works on it, so do kernel verbs (guest-tests/verbs), and its users
 * leave it under traffic when it is unbound, reset or removed. cases/verbs.sh has the checks.
 */
import t from 'tap';
import { reportPart, runPart } from './verbs-run.ts';

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

t.test('the InfiniBand device among its users', async (t) => {
  reportPart(t, await runPart('life'), 'life');
});
