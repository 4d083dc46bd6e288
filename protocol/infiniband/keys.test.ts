// SPDX-License-Identifier: Apache-2.0
/** Matching of P_Keys, and the Q_Key of a datagram. */
import t from 'tap';
import { effectiveQKey, GSI_QKEY, pKeysMatch } from './keys.ts';

t.test('P_Keys: same partition, at least one full member', async (test) => {
  test.ok(pKeysMatch(0xffff, 0xffff));
  test.ok(pKeysMatch(0xffff, 0x7fff));
  test.ok(pKeysMatch(0x7fff, 0xffff));
  test.notOk(pKeysMatch(0x7fff, 0x7fff), 'two limited members');
  test.notOk(pKeysMatch(0x8001, 0x8002));
  test.notOk(pKeysMatch(0x8000, 0x8000), 'the invalid P_Key');
});

t.test('the Q_Key of the QP replaces a controlled one', async (test) => {
  test.equal(effectiveQKey(0x11111111, 5), 0x11111111);
  test.equal(effectiveQKey(GSI_QKEY, 5), 5);
  test.equal(effectiveQKey(0x80000000, GSI_QKEY), GSI_QKEY);
});
