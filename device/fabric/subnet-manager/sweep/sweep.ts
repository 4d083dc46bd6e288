// SPDX-License-Identifier: Apache-2.0
/**
 * The parts of a sweep that a master carries out (IBTA 14.4.2 to 14.4.4): the configuration of a
 * discovered subnet, the tables of multicast groups, and the light sweep, which only looks for
 * changes. `SubnetManager` starts them.
 */

import { getPortInfoPortState } from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { getSwitchInfoPortStateChange } from '../../../../protocol/infiniband/mad/gen/switch-info.gen.ts';
import { MadStatus, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { Guid } from '../guid.ts';
import type { SubnetManagerOptions } from '../options.ts';
import { type GroupMember, SpanningTree } from '../routing/multicast-routing.ts';
import { linearTables } from '../routing/routing.ts';
import { routingGraphOf } from '../routing/routing-graph.ts';
import { get, type SmpJob } from '../smp-client.ts';
import type { Subnet } from '../subnet.ts';
import { type RoutedGroup, writeLinearTables, writeMulticastTables } from './forwarding.ts';
import type { LidAssignment } from './lids.ts';
import { activate, reregister, type SweepCounters, writePartitions, writePortSettings } from './port-settings.ts';
import { writeVlTables } from './vl-tables.ts';

/** A multicast group as subnet administration keeps it. */
export interface Group {
  readonly mlid: number;
  /** Port GUIDs, and whether the member receives. */
  readonly members: ReadonlyMap<Guid, boolean>;
}

/** Writes everything that differs from what the subnet should be, up to ACTIVE ports. */
export function* configure(
  subnet: Subnet,
  options: SubnetManagerOptions,
  lids: LidAssignment,
  groups: () => readonly Group[],
  isNewMaster: boolean,
  counters: SweepCounters,
): SmpJob {
  yield* writePortSettings(subnet, lids.assign(subnet, options.lmc), options, counters);
  yield* writePartitions(subnet, options, counters);
  yield* writeVlTables(subnet, options.lanes, counters);
  const { graph, switches } = routingGraphOf(subnet);
  yield* writeLinearTables(switches, linearTables(graph, options.routing), counters);
  yield* routeGroups(subnet, groups(), counters);
  yield* activate(subnet, counters);
  if (isNewMaster) yield* reregister(subnet, counters);
}

/** Writes the multicast tables for the groups. */
export function* routeGroups(subnet: Subnet, groups: readonly Group[], counters: SweepCounters): SmpJob {
  const { graph, switches } = routingGraphOf(subnet);
  const numbers = new Map(switches.map((node, index) => [node, index]));
  const routed = groups.map(({ mlid, members }): RoutedGroup => {
    const places: GroupMember[] = [];
    for (const [guid, receives] of members) {
      const port = subnet.portOfGuid(guid);
      const place = port?.node.isSwitch ? port : port?.peer;
      const home = place === undefined ? undefined : numbers.get(place.node);
      if (place !== undefined && home !== undefined) places.push({ home, port: place.number, receives });
    }
    return { mlid, members: places };
  });
  yield* writeMulticastTables(switches, new SpanningTree(graph), routed, counters);
}

/** Returns true if the subnet has changed since the last sweep, so that it must be swept again. */
export function* lookForChanges(subnet: Subnet): SmpJob<boolean> {
  const { switches, ownPort } = subnet;
  const infos = yield switches.map((node) => get(node.ports[0].path, SubnetAttribute.SWITCH_INFO));
  const isChanged = infos.some(
    ({ status, view }) => status !== MadStatus.SUCCESS || getSwitchInfoPortStateChange(view, 0) === 1,
  );
  if (isChanged || ownPort === undefined || ownPort.node.isSwitch) return isChanged;
  const [own] = yield [get(ownPort.path, SubnetAttribute.PORT_INFO, ownPort.number)];
  return own.status !== MadStatus.SUCCESS || getPortInfoPortState(own.view, 0) !== ownPort.state;
}
