// SPDX-License-Identifier: Apache-2.0
/**
 * The measurement of `npm run demo -- interrupts` in a guest, with loads that show the claim of
 * IPCOM000126453D. A busy host decides how often the driver polls, so rates are not judged, only
 * relations of counters that hold at any speed.
 */
import t, { type Test } from 'tap';
import { type GuestCount, type InterruptSample, summarize, waysAt } from './report.ts';
import { measureInterrupts } from './run.ts';

const IDLE = 10;
const BUSY = 8000;
const SATURATED = 0;
/** As in guest-tests/interrupts/interrupts_queues.h. */
const QUEUES = 8;
/** A CQ that polls look at is armed after this many polls in vain (vuhca_eq_kept.c). */
const POLLS_IN_VAIN = 8;
/** Interrupts on their way, in QEMU and in the guest, when something begins. */
const UNDER_WAY = 2;

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('interrupts alone when idle; under load polls, and interrupts of late ones only', async (t) => {
  const begun: string[] = [];
  const options = { loads: [IDLE, BUSY, SATURATED], measuredMs: 500, rounds: 1 };
  const samples = await measureInterrupts({ ...options, onBegin: (text) => void begun.push(text) });
  t.equal(begun.length, samples.length);
  t.same(
    summarize(samples).map(({ rate, way }) => [rate, way]),
    options.loads.flatMap((rate) => waysAt(rate).map((way) => [rate, way])),
  );
  for (const [index, sample] of samples.entries()) {
    t.ok(sample.completions > 0, 'completions were counted');
    // The guest may have ended when its last line is read.
    if (index + 1 < samples.length) t.ok(sample.busyProcessors > 0, 'processor time was counted');
    if (isInterrupted(sample)) checkInterrupts(t, sample);
    else checkPolls(t, sample);
  }
  const polled = samples.filter((sample) => !isInterrupted(sample));
  t.ok(
    polled.some(({ polls }) => polls > 0),
    'queues are polled under load',
  );
});

/** No queue is polled: when that is forbidden, or when there are few completions. */
function isInterrupted({ way, rate }: InterruptSample): boolean {
  return way === 'each' || way === 'merged' || rate === IDLE;
}

function checkInterrupts(t: Test, sample: InterruptSample): void {
  const { completions, interrupts, notifies, asked } = sample;
  t.equal(sample.polls, 0, `${sample.way} at ${sample.rate}: nothing is polled`);
  t.equal(asked, notifies, 'each handler asks for the next event');
  t.ok(interrupts > 0 && interrupts <= completions + UNDER_WAY, describe(sample));
}

/** While the queue is polled, nothing interrupts and no busy CQ is armed. */
function checkPolls(t: Test, sample: InterruptSample): void {
  const { polls, switches, late, polledInterrupts, askedPolled, notifies, asked } = sample;
  t.ok(polledInterrupts <= late + UNDER_WAY * (switches + 1), describe(sample));
  // The handler that runs when polling begins.
  t.ok(askedPolled <= switches + 1, describe(sample));
  // One store when polls begin to look at a CQ, one when they cease to.
  const turns = polls / POLLS_IN_VAIN + switches + 2;
  t.ok(notifies - asked <= 2 * QUEUES * turns, describe(sample));
}

function describe(sample: GuestCount): string {
  const { completions, events, interrupts, polledInterrupts, late, polls, switches } = sample;
  return [
    `${completions} completions, ${events} events, ${interrupts} interrupts`,
    `${polls} polls begun ${switches} times, with ${polledInterrupts} interrupts, ${late} of them late`,
    `${sample.notifies} notifies, ${sample.asked} by handlers, ${sample.askedPolled} of them polled`,
  ].join('; ');
}
