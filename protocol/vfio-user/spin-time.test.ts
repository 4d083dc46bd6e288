// SPDX-License-Identifier: Apache-2.0
/** Times at which the pump polls, for given numbers of runnable threads, in simulated time. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { openRunnableCounter, SpinTime } from './spin-time.ts';
import { SpinWindow } from './spin-window.ts';

const SPIN_NS = 50_000;
const MS = 1e6;

/** A machine with two CPUs and as many runnable threads as a test says. */
function machine() {
  const state = { runnable: 1, asked: 0, window: new SpinWindow(SPIN_NS, 4 * SPIN_NS) };
  const count = (): number => {
    state.asked++;
    return state.runnable;
  };
  const spin = new SpinTime(state.window, 2, { count, close: () => {} });
  return Object.assign(state, {
    spin,
    /** Lets the pump ask in each tenth of a millisecond, from one millisecond to another. */
    pass: (fromMs: number, toMs: number): void => {
      for (let tenth = 10 * fromMs; tenth < 10 * toMs; tenth++) spin.update(tenth * (MS / 10));
    },
  });
}

t.test('the pump polls while each thread has a CPU of its own', async (t) => {
  const host = machine();
  for (const runnable of [1, 2]) {
    host.runnable = runnable;
    host.spin.update(runnable * MS);
    t.equal(host.spin.ns, SPIN_NS, `${runnable} of 2`);
  }
  host.runnable = 3;
  host.pass(3, 6);
  t.equal(host.spin.ns, 0, 'a third thread waits for a CPU');
});

t.test('a thread that runs for a moment is no crowd', async (t) => {
  const host = machine();
  for (let ms = 0; ms < 1000; ms++) {
    host.runnable = 3;
    host.pass(ms, ms + 0.9);
    host.runnable = 2;
    host.pass(ms + 0.9, ms + 1);
    if (host.spin.ns === 0) return t.fail(`the pump does not poll after ${ms} ms`);
  }
  host.runnable = 3;
  host.pass(1000, 1003);
  t.equal(host.spin.ns, 0, 'it stays');
});

t.test('a window that grows counts at once, but not in a crowd', async (t) => {
  const host = machine();
  host.spin.update(0);
  for (let i = 0; i < 10; i++) host.window.pausedFor(2 * SPIN_NS, true);
  t.equal(host.spin.ns, 4 * SPIN_NS);
  host.runnable = 3;
  host.pass(1, 4);
  t.equal(host.spin.ns, 0);
});

t.test('a crowd is looked for often while the pump polls, and seldom while it does not', async (t) => {
  const host = machine();
  for (let turn = 0; turn < 10; turn++) host.spin.update(turn * MS);
  t.equal(host.asked, 10, 'once in a millisecond');
  host.runnable = 3;
  for (let quarter = 40; quarter < 45; quarter++) host.spin.update((quarter * MS) / 4);
  t.equal(host.asked, 15, 'each quarter of a millisecond while others may want the CPU');
  host.runnable = 2;
  for (let turn = 12; turn < 31; turn++) {
    host.spin.update(turn * MS);
    t.equal(host.spin.ns, 0, `${turn - 11} ms later`);
  }
  t.equal(host.asked, 15, 'not asked again for 20 ms');
  host.spin.update(31 * MS);
  t.equal(host.spin.ns, SPIN_NS, 'polls again');
});

t.test('a pump that shall not poll asks for nothing', async (t) => {
  let asked = 0;
  const spin = new SpinTime(new SpinWindow(0, 0), 2, { count: () => ++asked, close: () => {} });
  spin.update(1);
  t.equal(spin.ns, 0);
  t.equal(asked, 0);
});

t.test('after its end it asks for nothing', async (t) => {
  const spin = new SpinTime(new SpinWindow(SPIN_NS, SPIN_NS), 2);
  spin.close();
  spin.update(Number.MAX_SAFE_INTEGER);
  t.equal(spin.ns, SPIN_NS);
});

t.test('runnable threads as the kernel tells them', async (t) => {
  const path = join(t.testdir(), 'loadavg');
  writeFileSync(path, '12.34 5.60 0.78 107/4912 88123\n');
  const counter = openRunnableCounter(path);
  t.equal(counter.count(), 107);
  writeFileSync(path, '0.00 0.00 0.00 3/99 7\n');
  t.equal(counter.count(), 3, 'read anew each time');
  counter.close();
  const here = openRunnableCounter();
  t.ok(here.count() >= 1, 'this thread runs');
  here.close();
  const nowhere = openRunnableCounter(join(t.testdir(), 'absent'));
  t.equal(nowhere.count(), 0, 'no such file: none is known to wait');
  nowhere.close();
});
