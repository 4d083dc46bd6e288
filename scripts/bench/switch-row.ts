// SPDX-License-Identifier: Apache-2.0
/**
 * Switches in a row between the two ports of an adapter, with fixed LIDs and routes. `FlatMachine`
 * calls it for benchmarks of hops.
 */

import { Cable } from '../../device/fabric/link/cable.ts';
import { Fabric } from '../../device/fabric/link/fabric.ts';
import type { LinkEnd } from '../../device/fabric/port/link.ts';
import { parseGuid } from '../../device/fabric/port/port.ts';
import { defaultSwitchOptions, Switch } from '../../device/fabric/switch/switch.ts';
import type { Adapter } from '../../device/hca/adapter/adapter.ts';
import type { AdapterClock } from '../../device/host.ts';

const GUIDS_OF_SWITCH = 64;

/** The adapter and `hops` switches as one fabric. */
export function joinBySwitches(adapter: Adapter, clock: AdapterClock, hops: number): Fabric {
  const [first, second] = adapter.ports;
  const switches = Array.from({ length: hops }, (_, index) => {
    const nodeGuid = parseGuid(((index + 1) * GUIDS_OF_SWITCH).toString(16).padStart(16, '0'));
    const node = new Switch({ ...defaultSwitchOptions, ports: 2, nodeGuid, selfActivating: true }, clock);
    node.switchTables.linear[first.lid] = 1;
    node.switchTables.linear[second.lid] = 2;
    return node;
  });
  let from: LinkEnd = first;
  for (const { ports } of switches) {
    new Cable(from, ports[0]);
    from = ports[1];
  }
  new Cable(from, second);
  return new Fabric([adapter, ...switches]);
}
