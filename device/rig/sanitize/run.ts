// SPDX-License-Identifier: Apache-2.0
/**
 * One run of the driver sanitizer (docs/HAZARDS.md): a driver, clean or with a planted bug, uses a
 * device whose writes become visible as late and as reordered as PCIe allows, while device, another
 * processor and time interrupt it between any two accesses. The oracle is `Messages`; the run must
 * also make progress and see no error of the device. Called by the test, `npm run simulate --
 * sanitize` and `npm run simulate -- digests`.
 */
import { Trace } from '../chaos/trace.ts';
import { makeSanitizePlan, type RoundPlan, type SanitizePlan } from './plan.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { SystemUnderTest } from './system-under-test.ts';

/** The result of a run. */
interface SanitizeResult {
  readonly plan: SanitizePlan;
  readonly trace: Trace;
  /** Message of the error; undefined if the run passed. */
  readonly error: string | undefined;
}

/** Turns without progress after which the driver only polls. */
const PATIENCE = 400;
/** Polls without progress after which the run is stuck, and alarms before each poll. */
const POLLS = 6;
const ALARMS = 4;

/** Runs one seed. `keep`: the trace keeps its lines. Never throws: the result holds the error. */
export function runSanitize(seed: number, bug?: PlantedBug, keep = false): SanitizeResult {
  const plan = makeSanitizePlan(seed);
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

/** After turns without progress: the device finishes its work, and the driver polls as if idle. */
function waitQuietly(system: SystemUnderTest, target: number): void {
  const before = system.messages.progress + system.messages.count;
  for (let look = 0; look < POLLS; look++) {
    system.idle(ALARMS);
    if (system.messages.progress + system.messages.count !== before) return;
  }
  throw new Error(`stuck after ${system.messages.count} of ${target} messages; ${system.messages.describe()}`);
}
