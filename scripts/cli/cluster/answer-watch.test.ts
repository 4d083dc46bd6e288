// SPDX-License-Identifier: Apache-2.0
/** When a node counts as silent: not by time alone, but by time that its processes had. */
import t from 'tap';
import { AnswerWatch, readWaitedMs } from './answer-watch.ts';

/** A watch of a node whose processes wait as long as the test says; `told` has its words. */
function watch() {
  const told: boolean[] = [];
  const waits = { ms: 0 };
  const one = new AnswerWatch({
    periodMs: 1000,
    readWaitedMs: () => waits.ms,
    tell: (isSilent) => told.push(isSilent),
  });
  return { one, told, waits };
}

t.test('two silent periods are told once, and an answer ends them', async (t) => {
  const { one, told } = watch();
  one.check();
  t.same(told, []);
  for (let period = 0; period < 5; period++) one.check();
  t.same(told, [true]);
  one.hear();
  one.hear();
  t.same(told, [true, false]);
  // Heard in this period and in every second one.
  for (let period = 0; period < 5; period++) {
    one.check();
    one.check();
    one.hear();
  }
  t.same(told, [true, false]);
});

t.test('periods in which its processes waited for a processor do not count', async (t) => {
  const { one, told, waits } = watch();
  for (let period = 0; period < 10; period++) {
    waits.ms += 600;
    one.check();
  }
  t.same(told, []);
  one.check();
  waits.ms += 400;
  one.check();
  t.same(told, [true]);
});

t.test('the kernel tells how long a process has waited', async (t) => {
  const first = readWaitedMs([process.pid]);
  t.ok(first > 0);
  t.ok(readWaitedMs([process.pid, process.ppid]) >= first);
  t.equal(readWaitedMs([-1]), 0);
});
