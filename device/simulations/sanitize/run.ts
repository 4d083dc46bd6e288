// SPDX-License-Identifier: Apache-2.0
/**
 * One sanitizer run: a driver, clean or with a planted bug, works against a device whose writes become visible as late and as disordered as PCIe allows, while the device,
 * another processor and time come in between any two accesses of the driver. The oracle is `Messages`; besides, nothing may be left stuck, and the device reports no error.
 */
import { Trace } from '../chaos/trace.ts';
import { makePlan, type RoundPlan, type SanitizePlan } from './plan.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { SanitizeWorld } from './world.ts';

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
    const world = new SanitizeWorld(plan, trace, bug?.classes ?? {});
    world.warmUp();
    for (const round of plan.rounds) runRound(world, round);
    world.close();
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown);
  }
  return { plan, trace, error };
}

function runRound(world: SanitizeWorld, round: RoundPlan): void {
  world.begin(round);
  const { target } = world;
  let before = -1;
  let turns = 0;
  while (world.messages.count < target || !world.messages.isComplete) {
    world.act();
    turns = world.messages.progress + world.messages.count === before ? turns + 1 : 0;
    before = world.messages.progress + world.messages.count;
    if (turns > PATIENCE) waitQuietly(world, target);
  }
}

/** Nothing has moved for long: everything the device has to do is done, and the driver looks as it does when it is idle. */
function waitQuietly(world: SanitizeWorld, target: number): void {
  const before = world.messages.progress + world.messages.count;
  for (let look = 0; look < LOOKS; look++) {
    world.idle(ALARMS);
    if (world.messages.progress + world.messages.count !== before) return;
  }
  throw new Error(`stuck after ${world.messages.count} of ${target} messages; ${world.messages.describe()}`);
}
