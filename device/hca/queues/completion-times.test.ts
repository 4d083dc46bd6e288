// SPDX-License-Identifier: Apache-2.0
/**
 * CompletionTimes against a list of all times: no time is later than that of the completion, none
 * is more than a 64th of the period earlier, and completions of the last period are known.
 */
import t from 'tap';
import { Random } from '../../random.ts';
import { CompletionTimes } from './completion-times.ts';

const PERIOD_NS = 6400;
const PART_NS = PERIOD_NS / 64;

function findFault(seed: number): string | undefined {
  const random = new Random(seed);
  const times = new CompletionTimes();
  const posted: number[] = [];
  // The count wraps within a run.
  const first = 2 ** 32 - random.below(200);
  const gap = random.pick([2, PART_NS, 2 * PART_NS, 40 * PART_NS]);
  for (let now = 0; posted.length < 400; now += random.below(gap)) {
    times.note((first + posted.length) >>> 0, now, PERIOD_NS);
    posted.push(now);
    const index = random.below(posted.length);
    const mark = times.find((first + index) >>> 0);
    const age = now - posted[index];
    if (mark < 0 && age < PERIOD_NS - PART_NS) return `seed ${seed}: a completion ${age} ns old is not known`;
    const early = posted[index] - times.ns[mark];
    if (mark >= 0 && (early < 0 || early >= PART_NS)) return `seed ${seed}: a time is ${early} ns early`;
  }
  return undefined;
}

t.test('times are near, and those of a period are known', async (t) => {
  for (let seed = 1; seed <= 200; seed++) t.equal(findFault(seed), undefined);
});

t.test('without a completion, and before the first one that is known, there is no time', async (t) => {
  const times = new CompletionTimes();
  t.equal(times.find(0), -1);
  times.note(5, 100, PERIOD_NS);
  t.equal(times.find(4), -1);
  t.equal(times.ns[times.find(5)], 100);
});
