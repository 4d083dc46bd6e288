// SPDX-License-Identifier: Apache-2.0
/** Numbers and addresses in the fields of queues. */
import t from 'tap';
import { compact, packAddress, unpackAddress } from './compact-number.ts';

t.test('an address is unpacked as it was packed', async (t) => {
  const addresses = [0, 8, 0x1000, 2 ** 31, 2 ** 34 - 8, 2 ** 34, 2 ** 40 + 64, Number.MAX_SAFE_INTEGER - 7];
  for (const address of [...addresses, 1, 12, 2 ** 34 + 1, Number.MAX_SAFE_INTEGER])
    t.equal(unpackAddress(packAddress(address)), address);
});

t.test('multiples of 8 below 16 GiB are packed into small integers', async (t) => {
  for (const address of [0, 8, 2 ** 32, 2 ** 34 - 8]) {
    const packed = packAddress(address);
    t.equal(packed, packed | 0);
  }
});

t.test('every number stays what it is', async (t) => {
  for (const value of [0, 1, -1, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 40, 0.5]) t.equal(compact(value), value);
});
