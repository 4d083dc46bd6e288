// SPDX-License-Identifier: Apache-2.0
/**
 * Reads and writes the SL to VL and VL arbitration tables of ports whose links are up (IBTA
 * 14.2.5.8, 14.2.5.9). A switch has a map for each input and output. The sweep writes them where
 * they differ; subnet administration reads all of them for its records.
 */
import {
  getPortInfoOperationalVls,
  getPortInfoVlArbitrationHighCapacity,
  getPortInfoVlArbitrationLowCapacity,
} from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { SL_TO_VL_TABLE_SIZE } from '../../../../protocol/infiniband/mad/gen/sl-to-vl-table.gen.ts';
import { MadStatus, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { sameBytes } from '../guid.ts';
import { get, type SmpJob, set } from '../smp-client.ts';
import type { Blocks, Subnet, SubnetPort } from '../subnet.ts';
import { arbitrationTurns, hasTables, turnBlock, type VlOptions, vlMap, vlsOfCode } from '../vl-options.ts';
import { count, type SweepCounters } from './port-settings.ts';

const ENTRIES_PER_BLOCK = 32;
const BLOCK_SHIFT = 16;
const INPUT_SHIFT = 8;
/** Blocks of the arbitration tables: low priority from 1, high priority from 3. */
const LOW_BLOCK = 1;
const HIGH_BLOCK = 3;

/** A block of a table at a port: where it is read and written, and where it is kept. */
interface TablePlace {
  readonly port: SubnetPort;
  readonly attribute: number;
  readonly modifier: number;
  readonly sizeBytes: number;
  readonly kept: Blocks;
  readonly key: number;
}

/** Reads the tables of all ports that are up. */
export function* readVlTables(subnet: Subnet): SmpJob {
  yield* readPlaces(linkedPorts(subnet).flatMap((port) => [...mapPlaces(port), ...arbitrationPlaces(port)]));
}

/** Writes what differs, at ports with more than one VL, or everywhere if the options say so. */
export function* writeVlTables(subnet: Subnet, options: VlOptions, counters: SweepCounters): SmpJob {
  const wanted: (readonly [place: TablePlace, bytes: Uint8Array])[] = [];
  for (const port of linkedPorts(subnet)) {
    const vls = vlsOfCode(getPortInfoOperationalVls(port.view, 0));
    if (!hasTables(options, vls)) continue;
    const map = vlMap(options, vls);
    for (const place of mapPlaces(port)) wanted.push([place, map]);
    const { low, high } = arbitrationTurns(options, vls);
    for (const place of arbitrationPlaces(port)) {
      const isLow = place.key < HIGH_BLOCK;
      wanted.push([place, turnBlock(isLow ? low : high, place.key - (isLow ? LOW_BLOCK : HIGH_BLOCK))]);
    }
  }
  yield* readPlaces(wanted.map(([place]) => place).filter(({ kept, key }) => !kept.has(key)));
  const writes = wanted.filter(([{ kept, key }, bytes]) => {
    const before = kept.get(key);
    return before === undefined || !sameBytes(before, bytes);
  });
  const answers = yield writes.map(([{ port, attribute, modifier }, bytes]) =>
    set(port.path, attribute, modifier, bytes),
  );
  for (const [index, { status }] of answers.entries()) {
    const [{ kept, key }, bytes] = writes[index];
    if (count(status, counters)) kept.set(key, bytes);
  }
}

function linkedPorts(subnet: Subnet): SubnetPort[] {
  return [...subnet.nodes.values()].flatMap((node) => node.linkedPorts);
}

function* readPlaces(places: readonly TablePlace[]): SmpJob {
  const answers = yield places.map(({ port, attribute, modifier }) => get(port.path, attribute, modifier));
  for (const [index, { status, data }] of answers.entries()) {
    const { kept, key, sizeBytes } = places[index];
    if (status === MadStatus.SUCCESS) kept.set(key, data.slice(0, sizeBytes));
  }
}

/** Maps of a port by input; port 0 of a switch is one of its inputs. */
function mapPlaces(port: SubnetPort): TablePlace[] {
  const { node, number } = port;
  const inputs = node.isSwitch ? [node.ports[0], ...node.linkedPorts].map((input) => input.number) : [0];
  return inputs.map((input) => ({
    port,
    attribute: SubnetAttribute.SL_TO_VL_TABLE,
    modifier: node.isSwitch ? (input << INPUT_SHIFT) | number : 0,
    sizeBytes: SL_TO_VL_TABLE_SIZE,
    kept: port.vlMaps,
    key: input,
  }));
}

function arbitrationPlaces(port: SubnetPort): TablePlace[] {
  const { view, number } = port;
  const blocks = (capacity: number, first: number) =>
    Array.from({ length: Math.min(2, Math.ceil(capacity / ENTRIES_PER_BLOCK)) }, (_, index) => first + index);
  const low = blocks(getPortInfoVlArbitrationLowCapacity(view, 0), LOW_BLOCK);
  const high = blocks(getPortInfoVlArbitrationHighCapacity(view, 0), HIGH_BLOCK);
  return [...low, ...high].map((block) => ({
    port,
    attribute: SubnetAttribute.VL_ARBITRATION_TABLE,
    modifier: (block << BLOCK_SHIFT) | number,
    sizeBytes: ENTRIES_PER_BLOCK * 2,
    kept: port.arbitration,
    key: block,
  }));
}
