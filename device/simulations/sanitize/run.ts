// SPDX-License-Identifier: Apache-2.0
/**
 * One sanitizer run: a driver, clean or with a planted bug, works against a device whose writes become visible as late and as disordered as PCIe allows, while the device,
 * another processor and time come in between any two accesses of the driver. The oracle is `Messages`; besides, nothing may be left stuck, and the device reports no error.
 */
import { Trace } from '../chaos/trace.ts';
import { makePlan, type RoundPlan, type SanitizePlan } from './plan.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { SystemUnderTest } from './system-under-test.ts';

export interface SanitizeResult {
  readonly plan: SanitizePlan;
  readonly trace: Trace;
  /** What went wrong; undefined when nothing did. */
  readonly error: string | undefined;
}

/** Turns without progress after which the driver only waits; and how often it then looks. */
const PATIENCE = 400;
const LOOKS = 6;
const ALARMS = 4;

/** Runs a seed. `keep`: the trace keeps its lines. Never throws: what a planted bug breaks is the result. */
export function runSanitize(seed: number, bug?: PlantedBug, keep = false): SanitizeResult {
  const plan = makePlan(seed);
  const trace = new Trace(keep);
  let error: string | undefined;
  try {
    const system = new SystemUnderTest(plan, trace, bug?.classes ?? {});
    system.warmUp();
    for (const round of plan.rounds) runRound(system, round);
    system.close();
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  return { plan, trace, error };
}

function runRound(system: SystemUnderTest, round: RoundPlan): void {
  system.begin(round);
  const { target } = system;
  let before = -1;
  let turns = 0;
  while (system.messages.count < target || !system.messages.isComplete) {
    system.act();
    turns = system.messages.progress + system.messages.count === before ? turns + 1 : 0;
    before = system.messages.progress + system.messages.count;
    if (turns > PATIENCE) waitQuietly(system, target);
  }
}

/** Nothing has moved for long: everything the device has to do is done, and the driver looks as it does when it is idle. */
function waitQuietly(system: SystemUnderTest, target: number): void {
  const before = system.messages.progress + system.messages.count;
  for (let look = 0; look < LOOKS; look++) {
    system.idle(ALARMS);
    if (system.messages.progress + system.messages.count !== before) return;
  }
  throw new Error(`stuck after ${system.messages.count} of ${target} messages; ${system.messages.describe()}`);
}
