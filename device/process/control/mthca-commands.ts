// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of the control socket that only adapters of the personality mthca have: `inject` plants
 * a fault, and `fail` puts one into a fatal error; and the counts for `objects`, which all adapters
 * have. `ControlCommands` serves them.
 */
import { Refusal } from '../../hca/adapter/refusal.ts';
import type { FunctionPort } from '../../host.ts';
import type { Hca } from '../../personality/mthca/hca/hca.ts';
import { Firmware } from '../../personality/shared/firmware.ts';
import { encodeFault, readFault } from '../../personality/shared/injected-faults.ts';
import type { ControlCommand } from './control-server.ts';

/** A device, and its function as hosts call it. */
export interface MthcaTarget {
  readonly core: { readonly hca: Hca };
  readonly functions: readonly FunctionPort[];
}

/**
 * `find`: the device of a name; the only adapter when none is named. `wake`: lets it work, when it
 * has something to tell its driver. Faults cross the seam, so a recording has them.
 */
export function makeMthcaCommands(
  find: (name: unknown) => MthcaTarget,
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

/** Objects that the HCA owns, by kind. */
type ObjectCounts = Readonly<Record<'qps' | 'cqs' | 'srqs' | 'eqs' | 'mrs' | 'groups' | 'icmPages', number>>;

/**
 * Counts the objects that a device has for drivers and processes: what is left when all of them are
 * gone was leaked. Adapters of our own have `ObjectTables.counts`.
 */
export function countMthcaObjects(hca: Hca): ObjectCounts {
  return {
    qps: hca.queuePairs.count,
    cqs: hca.completionQueues.count,
    srqs: hca.sharedReceiveQueues.count,
    eqs: hca.eventQueues.count,
    mrs: hca.regions.table.count,
    groups: hca.groups.count,
    icmPages: hca.icm.mappedPages,
  };
}
