// SPDX-License-Identifier: Apache-2.0
/** The rate of connections, in simulated time. */
import t from 'tap';
import { ConnectionRate } from './connection-rate.ts';

const count = (rate: ConnectionRate, times: readonly number[]): number => times.filter((ms) => rate.take(ms)).length;
const storm = (ms: number): number[] => Array.from({ length: 1000 }, () => ms);

t.test('a storm gets the limit, and then as much as time has passed', async (t) => {
  const rate = new ConnectionRate(100, 5000);
  t.equal(count(rate, storm(5000)), 100);
  t.equal(count(rate, storm(5500)), 50);
  t.equal(count(rate, storm(5509)), 0, 'less than one');
  t.equal(count(rate, storm(5510)), 1, 'parts add up');
  t.equal(count(rate, storm(99_000)), 100, 'no more is kept');
});

t.test('refused ones use nothing up', async (t) => {
  const rate = new ConnectionRate(10, 0);
  count(rate, storm(0));
  const times = Array.from({ length: 1000 }, (_, ms) => ms);
  t.equal(count(rate, times), 9);
});
