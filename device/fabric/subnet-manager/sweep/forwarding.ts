// SPDX-License-Identifier: Apache-2.0
/**
 * Writes the tables of the switches: SwitchInfo, linear and multicast forwarding tables, block by
 * block where they differ (IBTA 14.2.5.4, 14.2.5.10, 14.2.5.12). Called by the sweep, and for
 * multicast after every change of a group.
 */
import { MULTICAST_LID_BASE } from '../../../../protocol/infiniband/addresses.ts';
import {
  getMulticastForwardingTablePorts,
  MULTICAST_FORWARDING_TABLE_PORTS_COUNT,
  setMulticastForwardingTablePorts,
} from '../../../../protocol/infiniband/mad/gen/multicast-forwarding-table.gen.ts';
import {
  setSwitchInfoLifeTime,
  setSwitchInfoLinearTop,
  setSwitchInfoPortStateChange,
} from '../../../../protocol/infiniband/mad/gen/switch-info.gen.ts';
import { MadStatus, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { sameBytes } from '../guid.ts';
import type { GroupMember, SpanningTree } from '../routing/multicast-routing.ts';
import { type LinearTable, NO_PORT } from '../routing/routing-graph.ts';
import { get, type SmpJob, type SmpRequest, set } from '../smp-client.ts';
import type { SubnetNode } from '../subnet.ts';
import { count, type SweepCounters } from './port-settings.ts';

const BLOCK_BYTES = 64;
const MULTICAST_LIDS_PER_BLOCK = MULTICAST_FORWARDING_TABLE_PORTS_COUNT;
const PORTS_PER_POSITION = 16;
/** The upper bits of the modifier of a multicast block choose 16 ports. */
export const POSITION_SHIFT = 28;
/** Time of a packet in a switch, as opensm has it: 4.096 us * 2^18, about 1 s. */
const SWITCH_LIFE_TIME = 18;

/** A multicast LID and the places of its members. */
export interface RoutedGroup {
  readonly mlid: number;
  readonly members: readonly GroupMember[];
}

interface Write {
  readonly node: SubnetNode;
  readonly modifier: number;
  readonly block: Uint8Array;
}

/** Linear tables, then SwitchInfo: the top is raised when the entries below it are right. */
export function* writeLinearTables(
  switches: readonly SubnetNode[],
  tables: readonly LinearTable[],
  counters: SweepCounters,
): SmpJob {
  const wanted = switches.map((node, index) =>
    blocksOf(tables[index]).map((block, modifier): Write => ({ node, modifier, block })),
  );
  yield* readLinearTables(wanted);
  const writes = wanted.flat().filter((write) => !isKept(write, write.node.linear));
  yield* writeBlocks(writes, SubnetAttribute.LINEAR_FORWARDING_TABLE, (node) => node.linear, counters);
  yield* writeSwitchInfo(switches, tables, counters);
}

/** True when the switch has the block already. */
function isKept({ modifier, block }: Write, table: ReadonlyMap<number, Uint8Array>): boolean {
  const before = table.get(modifier);
  return before !== undefined && sameBytes(before, block);
}

function blocksOf(table: LinearTable): Uint8Array[] {
  return Array.from({ length: Math.ceil(table.length / BLOCK_BYTES) }, (_, number) => {
    const block = new Uint8Array(BLOCK_BYTES).fill(NO_PORT);
    block.set(table.subarray(number * BLOCK_BYTES, (number + 1) * BLOCK_BYTES));
    return block;
  });
}

/**
 * Reads the blocks that are to be written and that are not known. Where the first one of a switch
 * is another, so are the others, as in a switch that was reset: they are written without a look.
 */
function* readLinearTables(wanted: readonly (readonly Write[])[]): SmpJob {
  yield* readBlocks(wanted.map(([first]) => first));
  yield* readBlocks(wanted.filter(([first]) => isKept(first, first.node.linear)).flat());
}

/** Reads those of the blocks that are not known. */
function* readBlocks(wanted: readonly Write[]): SmpJob {
  const unknown = wanted.filter(({ node, modifier }) => !node.linear.has(modifier));
  const answers = yield unknown.map(({ node, modifier }) =>
    get(node.ports[0].path, SubnetAttribute.LINEAR_FORWARDING_TABLE, modifier),
  );
  for (const [index, { status, data }] of answers.entries()) {
    const { node, modifier } = unknown[index];
    if (status === MadStatus.SUCCESS) node.linear.set(modifier, data);
  }
}

function* writeSwitchInfo(
  switches: readonly SubnetNode[],
  tables: readonly LinearTable[],
  counters: SweepCounters,
): SmpJob {
  const requests: SmpRequest[] = [];
  const written: SubnetNode[] = [];
  for (const [index, node] of switches.entries()) {
    const after = node.switchInfo.slice();
    const view = viewOf(after);
    // Writing 1 clears the flag: changes until this sweep are known now.
    setSwitchInfoLinearTop(view, 0, tables[index].length - 1);
    setSwitchInfoLifeTime(view, 0, SWITCH_LIFE_TIME);
    if (sameBytes(after, node.switchInfo) && !hasStateChange(node)) continue;
    requests.push(set(node.ports[0].path, SubnetAttribute.SWITCH_INFO, 0, after));
    written.push(node);
  }
  const answers = yield requests;
  for (const [index, { status, data }] of answers.entries()) {
    if (count(status, counters)) written[index].switchInfo = data.slice(0, written[index].switchInfo.length);
  }
}

function hasStateChange({ switchInfo }: SubnetNode): boolean {
  const cleared = switchInfo.slice();
  setSwitchInfoPortStateChange(viewOf(cleared), 0, 0);
  return !sameBytes(cleared, switchInfo);
}

/** Multicast tables of all switches. Empty blocks that no manager has written are left. */
export function* writeMulticastTables(
  switches: readonly SubnetNode[],
  tree: SpanningTree,
  groups: readonly RoutedGroup[],
  counters: SweepCounters,
): SmpJob {
  const wanted = switches.map(() => new Map<number, Uint8Array>());
  for (const { mlid, members } of groups) {
    const index = mlid - MULTICAST_LID_BASE;
    for (const [at, ports] of tree.portsOf(members)) {
      for (const port of ports) addPort(wanted[at], index, port);
    }
  }
  const writes: Write[] = [];
  for (const [at, node] of switches.entries()) {
    const modifiers = new Set([...wanted[at].keys(), ...node.multicast.keys()]);
    for (const modifier of modifiers) {
      const write = { node, modifier, block: wanted[at].get(modifier) ?? new Uint8Array(BLOCK_BYTES) };
      if (!isKept(write, node.multicast)) writes.push(write);
    }
  }
  yield* writeBlocks(writes, SubnetAttribute.MULTICAST_FORWARDING_TABLE, (node) => node.multicast, counters);
}

function addPort(blocks: Map<number, Uint8Array>, index: number, port: number): void {
  const position = Math.floor(port / PORTS_PER_POSITION);
  const modifier = ((position << POSITION_SHIFT) >>> 0) + Math.floor(index / MULTICAST_LIDS_PER_BLOCK);
  const block = blocks.get(modifier) ?? new Uint8Array(BLOCK_BYTES);
  blocks.set(modifier, block);
  const view = viewOf(block);
  const entry = index % MULTICAST_LIDS_PER_BLOCK;
  const ports = getMulticastForwardingTablePorts(view, 0, entry);
  setMulticastForwardingTablePorts(view, 0, entry, ports | (1 << (port % PORTS_PER_POSITION)));
}

function* writeBlocks(
  writes: readonly Write[],
  attributeId: number,
  tableOf: (node: SubnetNode) => Map<number, Uint8Array>,
  counters: SweepCounters,
): SmpJob {
  const answers = yield writes.map(({ node, modifier, block }) =>
    set(node.ports[0].path, attributeId, modifier, block),
  );
  for (const [index, { status }] of answers.entries()) {
    const { node, modifier, block } = writes[index];
    if (count(status, counters)) tableOf(node).set(modifier, block);
  }
}
