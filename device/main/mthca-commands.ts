// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of the control socket that only adapters of the personality mthca have: `fail` puts one
 * into a fatal error, to see how the driver recovers. `ControlCommands` serves them.
 */
import { FatalKind } from '../../protocol/mthca/gen/values.gen.ts';
import type { MthcaAdapter } from '../personality/mthca/mthca-adapter.ts';
import type { ControlCommand } from './control-server.ts';

const causes: ReadonlyMap<string, FatalKind> = new Map([
  ['internal', FatalKind.INTERNAL],
  ['bus', FatalKind.BUS],
  ['memory', FatalKind.MEMORY],
  ['parity', FatalKind.PARITY],
]);

/** `find`: the device of a name; the only adapter when none is named. */
export function makeMthcaCommands(
  find: (name: unknown) => Pick<MthcaAdapter, 'hca'>,
): ReadonlyMap<string, ControlCommand> {
  return new Map<string, ControlCommand>([
    [
      'fail',
      ({ parameters: { cause = 'internal', adapter } }) => {
        const kind = causes.get(String(cause));
        if (kind === undefined)
          throw new Error(`no cause ${String(cause)}; there are ${[...causes.keys()].join(', ')}`);
        find(adapter).hca.fail(kind);
        return { cause };
      },
    ],
  ]);
}
