// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of the control socket that only adapters of the personality mthca have: `inject` plants
 * a fault, `fail` puts one into a fatal error, `objects` counts what drivers and processes have.
 * `ControlCommands` serves them.
 */
import type { ControlCommand } from './control-server.ts';
import { type FaultyDevice, findCause, injectFault } from './injected-faults.ts';
import { countObjects } from './mthca-objects.ts';

/**
 * `find`: the device of a name; the only adapter when none is named. `wake`: lets it work, when it
 * has something to tell its driver. `isRecorded`: faults do not cross the seam that a recording
 * holds, so they are refused.
 */
export function makeMthcaCommands(
  find: (name: unknown) => FaultyDevice,
  wake: () => void,
  isRecorded = false,
): ReadonlyMap<string, ControlCommand> {
  const findToChange = (name: unknown): FaultyDevice => {
    const device = find(name);
    if (isRecorded) throw new Error('a recording has nothing of injected faults; run without --record');
    return device;
  };
  return new Map<string, ControlCommand>([
    [
      'fail',
      ({ parameters: { cause = 'internal', adapter } }) => {
        const kind = findCause(String(cause));
        findToChange(adapter).hca.fail(kind);
        return { cause };
      },
    ],
    [
      'inject',
      ({ parameters: { words, adapter } }) => {
        if (!Array.isArray(words) || !words.every((word) => typeof word === 'string'))
          throw new Error('words must be a list of strings');
        const text = injectFault(findToChange(adapter), words);
        wake();
        return { text };
      },
    ],
    ['objects', ({ parameters: { adapter } }) => countObjects(find(adapter).hca)],
  ]);
}
