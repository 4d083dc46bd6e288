// SPDX-License-Identifier: Apache-2.0
import t from 'tap';
import { OverflowThresholds } from './overflow-thresholds.ts';

t.test('what software writes is taken as far as it makes sense', async (t) => {
  const thresholds = new OverflowThresholds(16);
  for (const [low, high, expected] of [
    [2, 8, [2, 8]],
    [0, 0, [1, 2]],
    [9, 3, [9, 10]],
    [0xffff, 0xffff, [15, 16]],
  ] as const) {
    thresholds.set(low, high);
    t.same([thresholds.low, thresholds.high], expected, `${low} and ${high}`);
  }
});

t.test('adaptive: a deadlock seen by reads raises the low threshold to where it was seen', async (t) => {
  const thresholds = new OverflowThresholds(16);
  thresholds.set(2, 12);
  thresholds.begin(7, false);
  t.equal(thresholds.low, 2, 'only when it is adaptive');
  thresholds.begin(7, true);
  t.equal(thresholds.low, 8);
  thresholds.begin(16, true);
  t.equal(thresholds.low, 11, 'and stays below the high one');
});

t.test('adaptive: an episode without a read at its limit lowers it by one', async (t) => {
  const thresholds = new OverflowThresholds(16);
  thresholds.set(2, 12);
  thresholds.begin(1, true);
  thresholds.noteReads(true);
  thresholds.end(true);
  t.equal(thresholds.low, 2, 'it was needed');
  for (const expected of [1, 1]) {
    thresholds.begin(0, true);
    thresholds.noteReads(false);
    thresholds.end(true);
    t.equal(thresholds.low, expected);
  }
});
