// SPDX-License-Identifier: Apache-2.0
/**
 * Measures the worked example (US8484392, figure 11) with real guests: each keeps as many commands
 * in flight at QoS level 1 as are guaranteed to it, and floods at level 0, alone and with others.
 * Called by `npm run demo -- qos` and by the test of three guests.
 */

import type { ControlClient } from '../../device/process/control/control-client.ts';
import { GUESTS } from '../../device/rig/qos/worked-example.ts';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import type { Tenant } from '../harness/tenant-guest.ts';
import { isShown } from './judge.ts';
import { type Measurement, type PhaseResult, type Sample, summarise, takeSample } from './samples.ts';
import { giveShares, tell, weightLanes } from './shares.ts';

/** A phase: the active guests, and the weight of each of their lanes, by function. */
export interface Phase {
  readonly name: string;
  readonly active: readonly boolean[];
  readonly weights?: readonly number[];
}

/** In the last phase weights make service follow what was paid. */
export const PHASES: readonly Phase[] = [
  { name: 'control alone', active: [true, false, false] },
  { name: 'weather alone', active: [false, true, false] },
  { name: 'ocean alone', active: [false, false, true] },
  { name: 'weather, ocean', active: [false, true, true] },
  { name: 'all flood', active: [true, true, true] },
  { name: 'weights as paid', active: [true, true, true], weights: GUESTS.map(({ paidWeight }) => paidWeight) },
];

/** Commands under way at level 0: far more than there are PCBs when several guests flood. */
const FLOOD = 256;
const SAMPLE_MS = 50;
/**
 * Bound of waits that a busy machine may delay: for guests that launch commands, and for a phase
 * that shows what it should. It ends only waits that would never end.
 */
const WAIT_BOUND_MS = 240_000;
/** The fewest samples of a phase. */
const SAMPLES_MIN = 20;

/**
 * Gives the shares and runs all phases. Throws SetupError with the guest and the step that failed.
 */
export async function measureShares(
  tenants: readonly Tenant[],
  client: ControlClient,
  seconds: number,
  say: (text: string) => void = () => {},
): Promise<Measurement> {
  await giveShares(tenants, client);
  say('the control machine has given out the shares, and each machine has divided its own');
  const phases: PhaseResult[] = [];
  for (const phase of PHASES) {
    say(`${phase.name}, ${seconds} s`);
    phases.push(await runPhase(phase, tenants, client, seconds));
  }
  await setLoads(tenants, [false, false, false]);
  const counts = await Promise.all(tenants.map(readCounts));
  return {
    phases,
    completed: counts.reduce((total, { completed }) => total + completed, 0),
    failed: counts.reduce((total, { failed }) => total + failed, 0),
  };
}

async function runPhase(
  { name, active, weights }: Phase,
  tenants: readonly Tenant[],
  client: ControlClient,
  seconds: number,
): Promise<PhaseResult> {
  if (weights !== undefined) await weightLanes(tenants[0], client, weights);
  await setLoads(tenants, active);
  const samples = [await waitForLoad(client, active)];
  const startMs = performance.now();
  for (;;) {
    await pause(SAMPLE_MS);
    samples.push(await sample(client));
    const lastedMs = performance.now() - startMs;
    if (lastedMs < seconds * 1000) continue;
    const phase = { name, active, ...(weights && { weights }), ...summarise(samples, active), samples };
    if ((samples.length >= SAMPLES_MIN && isShown(phase)) || lastedMs > WAIT_BOUND_MS) return phase;
  }
}

/** A guest floods, and keeps as many commands in flight at level 1 as are guaranteed to it. */
export function floodOf(number: number): string {
  return `load ${FLOOD} ${GUESTS[number].levelPcbs[1]}`;
}

/** Guests that become idle come first: they wait until none of their commands is in flight. */
async function setLoads(tenants: readonly Tenant[], active: readonly boolean[]): Promise<void> {
  const set = (number: number): Promise<unknown> =>
    tell(tenants[number], active[number] ? floodOf(number) : 'load 0 0');
  const numbers = tenants.map((_, number) => number);
  await Promise.all(numbers.filter((number) => !active[number]).map(set));
  await Promise.all(numbers.filter((number) => active[number]).map(set));
}

/** Resolves when every active guest has launched commands at both levels. */
export async function waitForLoad(client: ControlClient, active: readonly boolean[]): Promise<Sample> {
  const first = await sample(client);
  const endMs = performance.now() + WAIT_BOUND_MS;
  for (;;) {
    await pause(SAMPLE_MS);
    const now = await sample(client);
    const moved = now.functions.map(({ levels }, number) =>
      levels.every(({ launches }, level) => launches > first.functions[number].levels[level].launches),
    );
    if (active.every((is, number) => !is || moved[number])) return now;
    if (performance.now() > endMs)
      throw new SetupError(`${GUESTS[moved.indexOf(false)].name} launched nothing for ${WAIT_BOUND_MS / 1000} s`);
  }
}

async function readCounts(tenant: Tenant): Promise<{ completed: number; failed: number }> {
  const lines = (await tell(tenant, 'loaded')).map((line) => /completed (\d+) errors (\d+)/.exec(line));
  return {
    completed: lines.reduce((total, match) => total + Number(match?.[1] ?? 0), 0),
    failed: lines.reduce((total, match) => total + Number(match?.[2] ?? 0), 0),
  };
}

async function sample(client: ControlClient): Promise<Sample> {
  return takeSample(await client.request('status'));
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}
