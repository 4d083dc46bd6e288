// SPDX-License-Identifier: Apache-2.0
//
// What `npm run demo:interrupts` measures, in a guest, with the loads that show the claim of IPCOM000126453D. Only counts are judged: times depend on the machine.

import t from 'tap';
import type { GuestCount } from './interrupt-report.ts';
import { measureInterrupts } from './interrupt-run.ts';

const IDLE = 10;
const SATURATED = 0;
/** Of a million completions at saturation so many interrupts at most, where one per event would be a million less what a queue's entries share. */
const PER_MILLION_MAX = 50_000;

// The first run on a machine also compiles the kernel modules.
t.setTimeout(300_000);

t.test('an interrupt for each event when idle, far fewer when saturated', { timeout: 300_000 }, async (t) => {
  const begun: string[] = [];
  const onBegin = (text: string): void => void begun.push(text);
  const samples = await measureInterrupts({ loads: [IDLE, SATURATED], measuredMs: 1000, rounds: 1, onBegin });
  t.same(
    samples.map(({ rate, adaptive }) => [rate, adaptive]),
    [
      [IDLE, false],
      [IDLE, true],
      [SATURATED, false],
      [SATURATED, true],
    ],
  );
  t.equal(begun.length, samples.length);
  const [idle, idlePolled, saturated, saturatedPolled] = samples;
  for (const sample of [idle, idlePolled]) {
    t.ok(sample.completions > 0);
    t.equal(sample.polls, 0, 'an idle queue is not polled');
    // One may come in, or be counted, at either end of the time.
    t.ok(Math.abs(sample.interrupts - sample.completions) <= 2, describe(sample));
  }
  t.ok(saturated.interrupts > 0 && saturated.polls === 0, describe(saturated));
  t.ok(saturatedPolled.polls > 0, describe(saturatedPolled));
  t.ok(saturatedPolled.interrupts * 1e6 < PER_MILLION_MAX * saturatedPolled.completions, describe(saturatedPolled));
  t.ok(saturatedPolled.completions > 100 * idle.completions, 'it was saturated');
  for (const { busyProcessors } of samples) t.ok(busyProcessors > 0, 'processor time was measured');
});

function describe({ completions, interrupts, events, polls }: GuestCount): string {
  return `${completions} completions, ${events} events, ${interrupts} interrupts, ${polls} polls`;
}
