// SPDX-License-Identifier: Apache-2.0
/**
 * Thresholds of spilling alone: clamping and adaptation (US 9,069,485 par. 92).
 */
import t from 'tap';
import { OverflowThresholds } from './overflow-thresholds.ts';

t.test('values of software are clamped to 1 <= low < high <= entries', async (t) => {
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

t.test(
  'adaptive: a deadlock detected by reads raises the low threshold to the free entries of that moment',
  async (t) => {
    const thresholds = new OverflowThresholds(16);
    thresholds.set(2, 12);
    thresholds.begin(7, false);
    t.equal(thresholds.low, 2, 'only in adaptive mode');
    thresholds.begin(7, true);
    t.equal(thresholds.low, 8);
    thresholds.begin(16, true);
    t.equal(thresholds.low, 11, 'it stays below the high threshold');
  },
);

t.test('adaptive: an episode without reads at their limit lowers the low threshold by one', async (t) => {
  const thresholds = new OverflowThresholds(16);
  thresholds.set(2, 12);
  thresholds.begin(1, true);
  thresholds.noteReads(true);
  thresholds.end(true);
  t.equal(thresholds.low, 2, 'reads were at their limit');
  for (const expected of [1, 1]) {
    thresholds.begin(0, true);
    thresholds.noteReads(false);
    thresholds.end(true);
    t.equal(thresholds.low, expected);
  }
});

t.test('adaptive: a deadlock that reads have shown raises the low threshold above the free entries', async (t) => {
  for (const [free, low] of [
    [1, 2],
    [2, 3],
    [5, 6],
    [8, 7],
  ]) {
    const thresholds = new OverflowThresholds(16);
    thresholds.set(2, 8);
    thresholds.begin(free, true);
    t.equal(thresholds.low, low, `${free} free`);
  }
});
