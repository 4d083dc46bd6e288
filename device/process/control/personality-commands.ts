// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of the control socket that only adapters of personalities have: `inject` plants a fault,
 * and `fail` puts one into a fatal error. `ControlCommands` serves them.
 */
import { Refusal } from '../../hca/adapter/refusal.ts';
import type { FunctionPort } from '../../host.ts';
import { Firmware } from '../../personality/shared/firmware.ts';
import { encodeFault, type FaultyDevice, readFault } from '../../personality/shared/injected-faults.ts';
import type { ControlCommand } from './control-server.ts';

/** A device, and its function as hosts call it. */
export interface PersonalityTarget {
  readonly core: { readonly hca: FaultyDevice };
  readonly functions: readonly FunctionPort[];
}

/**
 * `find`: the device of a name; the only adapter when none is named. `wake`: lets it work, when it
 * has something to tell its driver. Faults cross the seam, so a recording has them.
 */
export function makePersonalityCommands(
  find: (name: unknown) => PersonalityTarget,
  wake: () => void,
): ReadonlyMap<string, ControlCommand> {
  const inject = (name: unknown, words: readonly string[]): string => {
    const { core, functions } = find(name);
    const { text } = readFault(core.hca, words);
    functions[0].plantFault(encodeFault(words));
    wake();
    return text;
  };
  return new Map<string, ControlCommand>([
    [
      'fail',
      ({ parameters: { cause = 'internal', adapter } }) => {
        if (typeof cause !== 'string') throw new Refusal('cause must be a string');
        inject(adapter, ['fatal', `cause=${cause}`, `firmware=${Firmware.REFUSES}`]);
        return { cause };
      },
    ],
    [
      'inject',
      ({ parameters: { words, adapter } }) => {
        if (!Array.isArray(words) || !words.every((word) => typeof word === 'string'))
          throw new Refusal('words must be a list of strings');
        return { text: inject(adapter, words) };
      },
    ],
  ]);
}
