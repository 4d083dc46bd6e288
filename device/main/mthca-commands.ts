// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of the control socket that only an mthca device has: `fail` puts it into a fatal error,
 * to see how the driver recovers. `vuhca device --personality mthca` serves them beside those of
 * every process.
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

export function makeMthcaCommands(device: Pick<MthcaAdapter, 'hca'>): ReadonlyMap<string, ControlCommand> {
  return new Map<string, ControlCommand>([
    [
      'fail',
      ({ parameters: { cause = 'internal' } }) => {
        const kind = causes.get(String(cause));
        if (kind === undefined)
          throw new Error(`no cause ${String(cause)}; there are ${[...causes.keys()].join(', ')}`);
        device.hca.fail(kind);
        return { cause };
      },
    ],
  ]);
}
