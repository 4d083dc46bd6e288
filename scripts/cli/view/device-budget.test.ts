// SPDX-License-Identifier: Apache-2.0
/** The share of a device's time that polls take, whatever an answer costs, in simulated time. */
import t from 'tap';
import { Random } from '../../../device/random.ts';
import { partOf } from '../../../device/rig/fixtures/seeds.ts';
import { DEVICE_SHARE, DeviceBudget } from './device-budget.ts';

const MINIMUM_MS = 100;

/** Polls as live-source.ts does until `endMs`; returns the times and costs of the polls. */
function poll(costMs: () => number, endMs: number, budget = new DeviceBudget(MINIMUM_MS)) {
  const times: number[] = [];
  const costs: number[] = [];
  let nowMs = 0;
  let spentMs = 0;
  while (nowMs < endMs) {
    for (let waitMs = budget.waitMs(nowMs, spentMs); waitMs > 0; waitMs = budget.waitMs(nowMs, spentMs))
      nowMs += waitMs;
    budget.begin(nowMs);
    times.push(nowMs);
    const cost = costMs();
    costs.push(cost);
    spentMs += cost;
    nowMs += cost;
  }
  return { times, costs, spentMs, nowMs };
}

t.test('cheap answers come ten times a second', (t) => {
  const { times } = poll(() => 1, 9901);
  t.equal(times[0], 0, 'the first one at once');
  t.equal(times.length, 100);
  t.end();
});

t.test('dear answers come as often as the share allows', (t) => {
  for (const cost of [4, 20, 500]) {
    const { times, nowMs } = poll(() => cost, 100_000);
    const most = (nowMs * DEVICE_SHARE + 10) / cost + 1;
    t.ok(times.length <= most, `${cost} ms: ${times.length} polls`);
    t.ok(times.length >= most - 3, `${cost} ms: ${times.length} polls are not much fewer than allowed`);
  }
  t.end();
});

t.test('the share holds for any costs', (t) => {
  for (const seed of partOf(
    Array.from({ length: 200 }, (_, one) => one),
    2,
  )) {
    const random = new Random(seed);
    const { spentMs, nowMs, costs, times } = poll(() => random.below(3) * random.below(10) ** random.below(4), 50_000);
    const allowed = nowMs * DEVICE_SHARE + 10 + Math.max(...costs);
    t.ok(spentMs <= allowed, `seed ${seed}: ${spentMs} ms of ${allowed}`);
    const gaps = times.slice(1).map((time, index) => time - (times[index] as number));
    t.ok(Math.min(...gaps) >= MINIMUM_MS, `seed ${seed}: never more than ten a second`);
  }
  t.end();
});

t.test('other requests are paid from the same account, and a pause earns no more than it holds', (t) => {
  const budget = new DeviceBudget(MINIMUM_MS);
  t.equal(budget.waitMs(0, 0), 0);
  t.equal(budget.waitMs(0, 110), 10_000, 'a snapshot of traces that took 110 ms, of which 10 were in the account');
  t.equal(budget.waitMs(4000, 110), 6000);
  t.equal(budget.waitMs(1e9, 110), 0);
  t.equal(budget.waitMs(1e9, 130), 1000, 'a long pause has filled the account only');
  t.end();
});
