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
 * has something to tell its driver.
 */
export function makeMthcaCommands(
  find: (name: unknown) => FaultyDevice,
  wake: () => void,
): ReadonlyMap<string, ControlCommand> {
  return new Map<string, ControlCommand>([
    [
      'fail',
      ({ parameters: { cause = 'internal', adapter } }) => {
        const kind = findCause(String(cause));
        find(adapter).hca.fail(kind);
        return { cause };
      },
    ],
    [
      'inject',
      ({ parameters: { words, adapter } }) => {
        if (!Array.isArray(words) || !words.every((word) => typeof word === 'string'))
          throw new Error('words must be a list of strings');
        const text = injectFault(find(adapter), words);
        wake();
        return { text };
      },
    ],
    ['objects', ({ parameters: { adapter } }) => countObjects(find(adapter).hca)],
  ]);
}
