// SPDX-License-Identifier: Apache-2.0
/** The window of polling over sequences of pauses, in simulated time. */
import t from 'tap';
import { SpinWindow } from './spin-window.ts';

const US = 1000;
const SHORTEST_NS = 50 * US;
const LONGEST_NS = 400 * US;

/** The window after so many pauses of that length. */
function afterPauses(window: SpinWindow, pauseUs: number, count: number): number {
  for (let i = 0; i < count; i++) window.pausedFor(pauseUs * US, true);
  return window.ns / US;
}

function newWindow(): SpinWindow {
  return new SpinWindow(SHORTEST_NS, LONGEST_NS);
}

t.test('requests a little farther apart than the short window make it twice their pause', async (t) => {
  for (const pauseUs of [60, 100, 150, 200]) {
    const window = newWindow();
    t.equal(afterPauses(window, pauseUs, 7), 50, `${pauseUs} us: a few prove nothing`);
    t.equal(afterPauses(window, pauseUs, 1), 2 * pauseUs);
  }
  for (const pauseUs of [201, 400]) t.equal(afterPauses(newWindow(), pauseUs, 8), 400, `${pauseUs} us: at most`);
});

t.test('requests at once, and requests far apart, leave it short', async (t) => {
  for (const pauseUs of [0, 50, 401, 10_000, Number.POSITIVE_INFINITY])
    t.equal(afterPauses(newWindow(), pauseUs, 1000), 50, `${pauseUs} us`);
});

t.test('requests at once between the others do not count', async (t) => {
  const window = newWindow();
  for (let i = 0; i < 8; i++) {
    afterPauses(window, 2, 5);
    afterPauses(window, 100, 1);
  }
  t.equal(window.ns, 200 * US);
});

t.test('one long pause is forgiven, two in a row are the end', async (t) => {
  const window = newWindow();
  afterPauses(window, 100, 100);
  t.equal(afterPauses(window, 5000, 1), 200);
  t.equal(afterPauses(window, 100, 4), 200, 'as good as new');
  t.equal(afterPauses(window, 5000, 2), 50);
  t.equal(afterPauses(window, 100, 7), 50, 'and it begins again');
  t.equal(afterPauses(window, 100, 1), 200);
});

t.test('it follows the mean pause', async (t) => {
  const window = newWindow();
  afterPauses(window, 60, 8);
  const grown = afterPauses(window, 150, 4);
  t.ok(grown > 120 && grown < 300, `${grown} us`);
  t.ok(afterPauses(window, 150, 40) > 299);
  t.ok(afterPauses(window, 60, 40) < 121);
});

t.test('polling in vain is bounded by the polling that found something', async (t) => {
  // A guest that is nearly idle: now and then a burst of requests, then silence.
  for (const burst of [1, 3, 4, 8, 20]) {
    const window = newWindow();
    for (let i = 0; i < 1000; i++) {
      afterPauses(window, 100, burst);
      window.pausedFor(Number.POSITIVE_INFINITY, true);
    }
    const { found, missed } = window.counters;
    t.ok(4 * missed <= found + 8, `bursts of ${burst}: ${missed} in vain, ${found} not`);
  }
});

t.test('what a short window would have found is not counted', async (t) => {
  const window = newWindow();
  afterPauses(window, 100, 8);
  t.same(window.counters, { found: 0, missed: 0 }, 'it was short so far');
  afterPauses(window, 100, 10);
  afterPauses(window, 10, 10);
  t.same(window.counters, { found: 10, missed: 0 });
  afterPauses(window, 300, 1);
  t.same(window.counters, { found: 10, missed: 1 }, 'longer than the window, which follows');
  t.equal(window.ns, 250 * US);
});

t.test('a pump that may not poll learns, and counts nothing', async (t) => {
  const window = newWindow();
  for (let i = 0; i < 20; i++) window.pausedFor(100 * US, false);
  t.equal(window.ns, 200 * US);
  window.pausedFor(Number.POSITIVE_INFINITY, false);
  t.same(window.counters, { found: 0, missed: 0 });
});

t.test('equal bounds are a fixed window', async (t) => {
  for (const us of [0, 300]) {
    const window = new SpinWindow(us * US, us * US);
    for (const pauseUs of [10, 299, 301, 5000]) t.equal(afterPauses(window, pauseUs, 20), us, `${us} and ${pauseUs}`);
    t.same(window.counters, { found: 0, missed: 0 });
  }
});
