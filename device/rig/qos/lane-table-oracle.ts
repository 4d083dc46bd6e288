// SPDX-License-Identifier: Apache-2.0
/**
 * A lane table in memory of the physical function under random load, and its required effects (US
 * 8,484,392 par. 74): an entry is read only after it was marked, at most once for each mark, with
 * the contents of that moment; a taken entry gives the function its lanes, and a refused one
 * changes no lane. Used by `AdapterLoad`.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import { RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  LANE_TABLE_ENTRY_LANES_OFFSET,
  LANE_TABLE_ENTRY_LEVEL0_OFFSET,
  LANE_TABLE_ENTRY_LEVEL1_OFFSET,
  LANE_TABLE_ENTRY_SIZE,
} from '../../../protocol/layout/gen/lane-table-entry.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import type { ResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import type { Random } from '../../random.ts';
import type { Tenant } from './tenant.ts';

/** Most lanes of an entry. */
const LANES_MAX = 5;
/** Lanes in the table beyond those of the adapter: such entries are refused. */
const ABSENT = 2;

/** Lanes of a function and of its levels. */
type Entry = readonly [lanes: readonly number[], level0: readonly number[], level1: readonly number[]];
const OFFSETS = [LANE_TABLE_ENTRY_LANES_OFFSET, LANE_TABLE_ENTRY_LEVEL0_OFFSET, LANE_TABLE_ENTRY_LEVEL1_OFFSET];

export class LaneTableOracle {
  /** Entries that were read, and those of them that were refused. */
  read = 0;
  refused = 0;
  readonly #adapter: Adapter;
  readonly #physical: Tenant;
  readonly #stored: Entry[];
  /** Functions whose entry is marked and has not been read. */
  readonly #marked = new Set<number>();
  #table!: Uint8Array;
  /** Counters of the adapter at the last check. */
  #readBefore = 0;
  #refusedBefore = 0;
  #wrong: string | undefined;

  constructor(adapter: Adapter, physical: Tenant) {
    this.#adapter = adapter;
    this.#physical = physical;
    this.#stored = adapter.functions.map(() => [[], [], []] as const);
    this.#watch();
    this.install();
  }

  /** Gives the adapter a table; at the start and after each reset of the physical function. */
  install(): void {
    const { access, driver } = this.#physical;
    const { address, bytes } = driver.createBuffer(this.#stored.length * LANE_TABLE_ENTRY_SIZE);
    this.#table = bytes;
    access.writeRegister(CSR.LANE_TABLE, 8, lowDword(address), highDword(address));
    this.#marked.clear();
    this.#readBefore = this.#adapter.laneTable.reads;
    this.#refusedBefore = this.#adapter.laneTable.refused;
    for (const [target, entry] of this.#stored.entries()) this.#write(target, entry);
  }

  /** The physical function was reset: no entry is marked. */
  noteReset(): void {
    this.#marked.clear();
  }

  /** Writes a random entry without telling the adapter. */
  store(target: number, random: Random): void {
    const count = this.#adapter.lanes.count + (random.oneIn(8) ? ABSENT : 0);
    const lanes = Array.from({ length: random.below(LANES_MAX + 1) }, () => random.below(count));
    const entry = [lanes, lanes.slice(0, random.below(3)), lanes.slice(3)] as const;
    this.#stored[target] = entry;
    this.#write(target, entry);
  }

  /** A request was granted: it may mark an entry, or take the mark back. */
  note({ resource, target, amount }: ResourceChange): void {
    if (resource !== ResourceKind.TVL_TABLE_ENTRY) return;
    if (amount === 1) this.#marked.add(target);
    else this.#marked.delete(target);
  }

  /** Describes the first violation; undefined if there is none. */
  check(): string | undefined {
    const { map } = this.#adapter.lanes;
    for (let target = 0; target < this.#stored.length; target++)
      if (map.isInvalid(target) !== this.#marked.has(target))
        this.#wrong ??= `the lane table entry of function ${target} is ${map.isInvalid(target) ? '' : 'not '}invalid`;
    return this.#wrong;
  }

  #write(target: number, entry: Entry): void {
    const bytes = this.#table.subarray(target * LANE_TABLE_ENTRY_SIZE, (target + 1) * LANE_TABLE_ENTRY_SIZE);
    bytes.fill(0);
    for (const [index, lanes] of entry.entries())
      for (const lane of lanes) bytes[OFFSETS[index] + (lane >> 3)] |= 1 << (lane & 7);
  }

  /** Follows each entry that the adapter reads, at once or with a latency. */
  #watch(): void {
    const { map } = this.#adapter.lanes;
    const onInvalid = map.onInvalid;
    map.onInvalid = (target) => {
      if (!this.#marked.delete(target)) this.#wrong ??= `the entry of function ${target} is read without a mark`;
      const before = this.#lanesOf(target);
      const isDone = onInvalid(target);
      if (isDone) this.#look(target, before);
      return isDone;
    };
    const noteRead = map.noteRead.bind(map);
    map.noteRead = (target) => {
      this.#look(target);
      noteRead(target);
    };
  }

  /** An entry has been read. `before`: the lanes that a refused entry must leave. */
  #look(target: number, before?: readonly string[]): void {
    const { laneTable } = this.#adapter;
    const isRefused = laneTable.refused > this.#refusedBefore;
    if (laneTable.reads !== this.#readBefore + 1) this.#wrong ??= `the entry of function ${target} is not read once`;
    this.#readBefore = laneTable.reads;
    this.#refusedBefore = laneTable.refused;
    this.read++;
    if (isRefused) this.refused++;
    const now = this.#lanesOf(target);
    const wanted = isRefused ? (before ?? now) : this.#stored[target].map((lanes) => listOf(lanes));
    if (now.join('; ') !== wanted.join('; '))
      this.#wrong ??= `function ${target} has lanes ${now.join('; ')}; its entry says ${wanted.join('; ')}`;
  }

  /** Lanes of the function and of its levels, as they are configured. */
  #lanesOf(target: number): string[] {
    const { map, count } = this.#adapter.lanes;
    const all = Array.from({ length: count }, (_, lane) => lane);
    return [map.getOwned(target), map.getMap(target, 0), map.getMap(target, 1)].map((set) =>
      listOf(all.filter((lane) => set.has(lane))),
    );
  }
}

/** A change that marks an entry. */
export function markEntry(target: number, amount: number) {
  return { resource: ResourceKind.TVL_TABLE_ENTRY, target, qosLevel: RESOURCE_NO_LEVEL, amount };
}

function listOf(lanes: readonly number[]): string {
  return [...new Set(lanes)].sort((first, second) => first - second).join();
}
