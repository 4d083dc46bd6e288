// SPDX-License-Identifier: Apache-2.0
/** MTU codes, and packets of a message. */
import t from 'tap';
import { mtuBytes, mtuCode, packetCount } from './mtu.ts';

t.test('MTU codes', async (test) => {
  test.same([0, 1, 2, 3, 4, 5, 6].map(mtuBytes), [0, 256, 512, 1024, 2048, 4096, 0]);
  test.same([255, 256, 1500, 4096, 9000].map(mtuCode), [0, 1, 3, 5, 5]);
  test.same(
    [0, 1, 256, 257, 1024].map((bytes) => packetCount(bytes, 256)),
    [1, 1, 1, 2, 4],
  );
});
