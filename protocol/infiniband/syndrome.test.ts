// SPDX-License-Identifier: Apache-2.0
/** Coded timers and credits. */
import t from 'tap';
import { ackTimeoutNs, creditField, creditsOf, rnrTimerNs } from './syndrome.ts';

t.test('coded times and credits', async (test) => {
  test.same([0, 1, 14, 31].map(rnrTimerNs), [655_360_000, 10_000, 1_280_000, 491_520_000]);
  test.same([1, 14].map(ackTimeoutNs), [8192, 67_108_864]);
  test.equal(ackTimeoutNs(0), Number.POSITIVE_INFINITY);
  test.same([0, 1, 2, 3, 4, 5, 6, 7, 8, 29, 30].map(creditsOf), [0, 1, 2, 3, 4, 6, 8, 12, 16, 24576, 32768]);
  test.same([0, 5, 6, 11, 12, 100000].map(creditField), [0, 4, 5, 6, 7, 30]);
});
