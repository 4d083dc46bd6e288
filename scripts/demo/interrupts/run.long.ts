// SPDX-License-Identifier: Apache-2.0
/**
 * The measurement of `npm run demo:interrupts` in a guest, with loads that show the claim of
 * IPCOM000126453D. Only counts are judged: times depend on the machine.
 */
import t, { type Test } from 'tap';
import { FULL, type GuestCount, type InterruptFigure, type InterruptSample, PLAIN, summarize, WAYS } from './report.ts';
import { measureInterrupts } from './run.ts';

const IDLE = 10;
const BUSY = 8000;
const SATURATED = 0;
/** The most interrupts per million completions at saturation. */
const PER_MILLION_MAX = 50_000;
/**
 * The completions per second with which the driver begins to poll: 20 in 20 ms. With more
 * interrupts than that, polling must at least halve them.
 */
const TOLERATED_PER_SECOND = 1000;

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('an interrupt for each event when idle, fewer under load, far fewer when saturated', async (t) => {
  const begun: string[] = [];
  const options = { loads: [IDLE, BUSY, SATURATED], measuredMs: 700, rounds: 3 };
  const samples = await measureInterrupts({ ...options, onBegin: (text) => void begun.push(text) });
  t.equal(begun.length, samples.length);
  const figures = summarize(samples);
  t.same(
    figures.map(({ rate, way }) => [rate, way]),
    options.loads.flatMap((rate) => WAYS.map((way) => [rate, way])),
  );
  for (const sample of samples) {
    t.ok(sample.completions > 0 && sample.busyProcessors > 0, 'completions and processor time were counted');
    const polls = sample.way !== 'each' && sample.way !== 'merged';
    if (!polls) t.equal(sample.polls, 0, `${sample.way}: nothing is polled`);
    if (sample.rate === IDLE) checkIdle(t, sample);
    if (sample.rate !== SATURATED || sample.way !== FULL) continue;
    t.ok(sample.interrupts * 1e6 < PER_MILLION_MAX * sample.completions, describe(sample));
    // Busy CQs are not asked for events.
    t.ok(sample.notifies * 1e6 < PER_MILLION_MAX * sample.completions, describe(sample));
  }
  const busy = figures.filter(({ rate }) => rate === BUSY);
  const [each, polled] = [PLAIN, FULL].map((wanted) => busy.find(({ way }) => way === wanted) as InterruptFigure);
  const perSecond = (figure: InterruptFigure) => (figure.interruptsPerMillion * figure.completionsPerSecond) / 1e6;
  t.ok(
    perSecond(polled) <= Math.max(perSecond(each) / 2, TOLERATED_PER_SECOND),
    `${perSecond(polled).toFixed(0)} interrupts per second instead of ${perSecond(each).toFixed(0)}`,
  );
});

function checkIdle(t: Test, sample: InterruptSample): void {
  t.equal(sample.polls, 0, 'an idle queue is not polled');
  // One interrupt may be counted at either end, and on a busy machine several events arrive at
  // once.
  t.ok(sample.interrupts <= sample.completions + 2 && 2 * sample.interrupts >= sample.completions, describe(sample));
}

function describe({ completions, interrupts, events, polls, notifies }: GuestCount): string {
  return `${completions} completions, ${events} events, ${notifies} notifies, ${interrupts} interrupts, ${polls} polls`;
}
