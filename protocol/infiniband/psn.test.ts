// SPDX-License-Identifier: Apache-2.0
/** Sequence numbers wrap at 24 bits. */
import t from 'tap';
import { Random } from '../../device/random.ts';
import { testSeed } from '../testing/test-seed.ts';
import { addPsn, isPsnWithin, psnDistance } from './psn.ts';

t.test('PSNs wrap at 24 bits', async (test) => {
  test.equal(addPsn(0xffffff, 1), 0);
  test.equal(addPsn(0, -1), 0xffffff);
  test.equal(psnDistance(0xfffffe, 3), 5);
  test.equal(psnDistance(3, 0xfffffe), -5);
  test.equal(psnDistance(0, 0x800000), -0x800000, 'half the number space away is behind');
  test.ok(isPsnWithin(1, 0xffffff, 3));
  test.notOk(isPsnWithin(2, 0xffffff, 3));
  const random = new Random(testSeed());
  for (let round = 0; round < 1000; round++) {
    const psn = random.below(1 << 24);
    const count = random.below(1 << 24) - (1 << 23);
    if (psnDistance(psn, addPsn(psn, count)) !== count) test.fail(`${psn} + ${count}, seed ${testSeed()}`);
  }
});
