// SPDX-License-Identifier: Apache-2.0
/**
 * The work of a pass of the pump in a live process: alarms, a run of the fabric, and a flush of the
 * recording now and then. Used by `AdapterProcess`.
 */
import type { PassHook } from '../../../protocol/vfio-user/index.ts';
import type { AdapterPort } from '../../host.ts';
import type { Recorder } from '../../hosts/recording.ts';
import type { Stepper } from './stepper.ts';
import type { WallClock } from './wall-clock.ts';

/** Units of work in one run: few enough that the next register access never waits long. */
const PASS_BUDGET = 256;
/**
 * Runs of a pass in which a watch of a tail began or went on: software that gets an answer posts
 * again soon, and a run without work is shorter than the question whether requests have come.
 */
const RUNS_MAX = 16;
/**
 * The longest time after which a pass begins a further run: requests wait meanwhile. A message that
 * crosses a switch needs a run at each node that it or its acknowledgement reaches, and a run is
 * shorter than the question whether requests have come.
 */
const RUNS_NS = 50_000;
/** Period of recorded events that a killed process may lose while busy. */
const FLUSH_INTERVAL_NS = 50_000_000;

/**
 * Called before each wait of the pump; `port` is the fabric as hosts call it. A `stepper` says what
 * a pass does, if there is one.
 */
export function makePassHook(
  port: AdapterPort,
  clock: WallClock,
  recorder: Recorder | undefined,
  stepper?: Stepper,
): PassHook {
  let flushedNs = 0;
  /** As it was after the last run: a find makes it later, and so does a doorbell. */
  let pollUntilNs = 0;
  const run = (): boolean => {
    clock.takeDueAlarm();
    const beganNs = clock.now();
    let more = port.run(PASS_BUDGET);
    let untilNs = port.pollUntilNs ?? 0;
    const hasFound = untilNs > pollUntilNs;
    if (more || hasFound) {
      for (let runs = 1; (more || (hasFound && runs < RUNS_MAX)) && clock.now() - beganNs < RUNS_NS; runs++)
        more = port.run(PASS_BUDGET);
      untilNs = port.pollUntilNs ?? 0;
    }
    pollUntilNs = untilNs;
    return more;
  };
  return {
    pass: () => {
      const more = stepper === undefined ? run() : stepper.pass(PASS_BUDGET);
      if (recorder !== undefined && clock.now() - flushedNs > FLUSH_INTERVAL_NS) {
        flushedNs = clock.now();
        recorder.flush();
      }
      return more;
    },
    nextAlarmNs: () => clock.nextAlarmNs,
    polls: () => stepper === undefined && (port.pollUntilNs ?? 0) > clock.now(),
    rest: () => (port.pollUntilNs ?? 0) > 0 && port.rest?.() === true,
  };
}
