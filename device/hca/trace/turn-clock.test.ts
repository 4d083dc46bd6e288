// SPDX-License-Identifier: Apache-2.0
/** Which steps of traced messages share a reading of the clock. */
import t from 'tap';
import { SHARED_STEPS, TurnClock } from './turn-clock.ts';

/** A clock that advances by 1 ns whenever it is read, and what makes turns. */
function makeClock() {
  const turns = { given: 0 };
  let readings = 0;
  return { turns, clock: new TurnClock(turns, () => ++readings) };
}

t.test('steps of one turn share a reading, and the next turn has its own', async (t) => {
  const { turns, clock } = makeClock();
  t.equal(clock.now(), 1);
  t.equal(clock.now(), 1);
  turns.given++;
  t.equal(clock.now(), 2);
  t.equal(clock.now(), 2);
});

t.test('a long turn reads the clock again', async (t) => {
  const { clock } = makeClock();
  const times = Array.from({ length: 2 * SHARED_STEPS + 1 }, () => clock.now());
  t.same(times, [...Array(SHARED_STEPS).fill(1), ...Array(SHARED_STEPS).fill(2), 3]);
});

t.test('an exact clock has a reading for each step, also as it becomes exact', async (t) => {
  const { clock } = makeClock();
  t.equal(clock.now(), 1);
  clock.isExact = true;
  t.same([clock.now(), clock.now()], [2, 3]);
  clock.isExact = false;
  t.equal(clock.now(), 3, 'the last reading is still of this turn');
});
