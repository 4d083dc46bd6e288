// SPDX-License-Identifier: Apache-2.0
/** Numbers as the page shows them. */
import t from 'tap';
import { bitRate, count, duration, percentage, pointOfTime, words } from './numbers.ts';

const plain = (text: string): string => text.replaceAll('\u2009', '_');

t.test('times and counts in groups of three digits', async (t) => {
  t.equal(plain(pointOfTime(0)), '0.000_000_000 s');
  t.equal(plain(pointOfTime(1_234_000_000_007)), '1_234.000_000_007 s');
  t.equal(plain(count(999)), '999');
  t.equal(plain(count(1000)), '1_000');
  t.equal(plain(count(1_234_567)), '1_234_567');
  t.equal(plain(count(1234.5)), '1_234.5');
});

t.test('units that leave few digits', async (t) => {
  t.equal(duration(999), '999 ns');
  t.equal(duration(1250), '1.25 us');
  t.equal(duration(-2_500_000), '-2.5 ms');
  t.equal(duration(61e9), '61 s');
  t.equal(bitRate(0), '0 b/s');
  t.equal(bitRate(1.234e9), '1.23 Gb/s');
  t.equal(bitRate(5e4), '50 kb/s');
  t.equal(percentage(0.2345), '23 %');
  t.equal(percentage(1), '100 %');
  t.equal(percentage(0), '0 %');
  t.equal(percentage(0.00001), '< 0.01 %');
});

t.test('names of counters and states as words', async (t) => {
  t.equal(words('vl15Dropped'), 'vl15 dropped');
  t.equal(words('LINK_UP'), 'link up');
  t.equal(words('no route'), 'no route');
});
