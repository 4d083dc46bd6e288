// SPDX-License-Identifier: Apache-2.0
/**
 * Makes a lesson: plays its scene with a recorder, then replays the recording and finds the stops.
 * It takes a fraction of a second, and the same scene gives the same bytes. `vuhca view` calls it
 * in a clone (scripts/cli/view/lessons.ts), `main.ts` for the archive.
 */
import type { Fabric } from '../../device/fabric/link/fabric.ts';
import { Replay } from '../../device/hosts/replay.ts';
import { RecordedFabric } from '../../device/rig/machine/fabric-machine.ts';
import { type Lesson, type LessonName, type LessonStop, lessonEntries } from '../cli/view/lesson.ts';
import type { MadeLesson } from '../cli/view/lessons.ts';
import { type Scene, type SceneStop, Seen } from './scene.ts';
import { creditReturns } from './scenes/credit-returns.ts';
import { doorbellOverflow } from './scenes/doorbell-overflow.ts';
import { guarantees } from './scenes/guarantees.ts';
import { interruptTimer } from './scenes/interrupt-timer.ts';
import { lossyLink } from './scenes/lossy-link.ts';
import { reroutedTrunk } from './scenes/rerouted-trunk.ts';

export const scenes: readonly Scene[] = [
  doorbellOverflow,
  interruptTimer,
  creditReturns,
  guarantees,
  lossyLink,
  reroutedTrunk,
];

/** Makes the lesson of this name. Throws when its session does not match its text. */
export function makeLesson(name: LessonName): MadeLesson {
  const scene = scenes.find((one) => one.name === name);
  const entry = lessonEntries.find((one) => one.name === name);
  if (scene === undefined || entry === undefined) throw new RangeError(`there is no lesson ${name}`);
  const recording = record(scene);
  return { lesson: { ...entry, ...findStops(scene, recording) }, recording };
}

function record({ plan, seed, budget, play }: Scene): Uint8Array {
  const fabric = new RecordedFabric(plan, { seed, budget });
  play(fabric);
  return fabric.takeRecording();
}

/** Replays the recording up to the step of each stop in turn, and then to its end. */
function findStops({ name, plan, makeStops }: Scene, recording: Uint8Array): Pick<Lesson, 'steps' | 'stops'> {
  const replay = new Replay(recording, () => {
    throw new Error('A recording of a fabric brings its plan.');
  });
  const waiting = [...makeStops()];
  const stops: LessonStop[] = [];
  let more = true;
  while (more) {
    more = replay.step();
    const seen = new Seen(plan, replay.adapter as Fabric, replay.result.timeNs, !more);
    // One for each step, so that a step identifies its stop.
    if (waiting[0]?.when(seen)) stops.push(makeStop(waiting.shift() as SceneStop, seen, replay.result.steps));
  }
  const { steps, divergence } = replay.result;
  if (divergence !== undefined) throw new Error(`lesson ${name} does not replay: ${JSON.stringify(divergence)}`);
  if (waiting.length > 0) throw new Error(`lesson ${name} never comes to "${waiting[0].title}"`);
  return { steps, stops };
}

function makeStop({ title, adapter, part, queuePair, says, source }: SceneStop, seen: Seen, step: number): LessonStop {
  const about = queuePair === undefined ? {} : { queuePair: queuePair(seen) };
  return { title, step, adapter, part, ...about, says: says(seen), source };
}
