// SPDX-License-Identifier: Apache-2.0
/**
 * Two adapters in one machine, joined at their first ports, as places for the cases of two ends.
 */

import { Fabric } from '../../../fabric/link/fabric.ts';
import { FaultyLink } from '../../../fabric/link/faulty-link.ts';
import type { FaultyLinkOptions } from '../../../fabric/link/link-options.ts';
import type { Port } from '../../../fabric/port/port.ts';
import { Adapter } from '../../../hca/adapter/adapter.ts';
import { Random } from '../../../random.ts';
import { InProcessAccess } from '../../machine/access.ts';
import { InProcessMachine } from '../../machine/machine.ts';
import type { EndPlace } from './ends.ts';

const MEMORY_BYTES = 4 * 1024 * 1024;

/** A place in a machine. */
interface MachinePlace extends EndPlace {
  readonly access: InProcessAccess;
}

/** Two adapters whose first ports `join` connects. */
export function twoAdapters(join: (first: Port, second: Port) => void): [MachinePlace, MachinePlace] {
  const machine = new InProcessMachine({
    functionCount: 2,
    memoryBytes: MEMORY_BYTES,
    build: (options, clock, hosts) => {
      const [first, second] = hosts.map((host, index) => {
        const portLids: [number, number] = [index * 2 + 1, index * 2 + 2];
        const own = {
          portLids,
          nodeGuid: `005655484341${index}000`,
          functionCount: 1,
          portLink: { kind: 'none' },
        } as const;
        return new Adapter({ ...options, ...own }, clock, [host]);
      });
      join(first.ports[0], second.ports[0]);
      return new Fabric([first, second]);
    },
  });
  return [endPlaceOf(machine, 0, 1), endPlaceOf(machine, 1, 1)];
}

/** Two adapters on a `FaultyLink`. */
export function onFaultyLink(options: Partial<FaultyLinkOptions>, seed: number): [MachinePlace, MachinePlace] {
  return twoAdapters((first, second) => new FaultyLink(first, second, options, new Random(seed)));
}

/** A port, used through a function of a machine. */
export function endPlaceOf(machine: InProcessMachine, functionIndex: number, port: 1 | 2): MachinePlace {
  return { access: new InProcessAccess(machine, functionIndex), port };
}
