// SPDX-License-Identifier: Apache-2.0
/**
 * The TVL mapping table in memory of the physical function (US 8,484,392 par. 74-75, first method):
 * a request marks an entry as invalid, and the entry is read before the next command of its
 * function gets a lane. What it asks for passes the share plan like a request of the host, so a
 * table in memory cannot give away what other functions own. While reads take time, commands of
 * the function wait for the entry in their send queues. `TransmitVirtualLanes` calls it.
 */
import { QOS_LEVELS, RESOURCE_NO_LEVEL } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  LANE_TABLE_ENTRY_LANES_OFFSET,
  LANE_TABLE_ENTRY_LEVEL0_OFFSET,
  LANE_TABLE_ENTRY_LEVEL1_OFFSET,
  LANE_TABLE_ENTRY_SIZE,
} from '../../../protocol/layout/gen/lane-table-entry.gen.ts';
import { newResourceChange, type ResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { FaultKind, FaultObject, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { DmaTiming } from '../function/dma-timing.ts';
import { isHere, type PendingReads, TimedReads } from '../function/timed-reads.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { LANE_WORDS } from '../lane/lane-set.ts';
import { LANES_PER_WORD } from './lane-changes.ts';
import { HOST } from './share-changes.ts';
import type { ShareManager } from './share-manager.ts';

/** Maps of an entry: of the function, and of each level. */
const maps: readonly (readonly [offset: number, qosLevel: number])[] = [
  [LANE_TABLE_ENTRY_LANES_OFFSET, RESOURCE_NO_LEVEL],
  [LANE_TABLE_ENTRY_LEVEL0_OFFSET, 0],
  [LANE_TABLE_ENTRY_LEVEL1_OFFSET, QOS_LEVELS - 1],
];

/** An entry that is being read. */
class EntryRead implements PendingReads {
  active = false;
  readsLeft = 0;
  readsOutstanding = 0;
  readRound = 0;
  readonly functionNumber: number;

  constructor(functionNumber: number) {
    this.functionNumber = functionNumber;
  }
}

/** What the lane table uses of the adapter. */
export interface LaneTableParts {
  readonly physical: UnderlyingFunction;
  readonly manager: ShareManager;
  readonly timing: DmaTiming;
  /** The entry of a function, which took time, has been read: its commands may get lanes. */
  noteRead(functionNumber: number): void;
}

export class LaneTable {
  /** Guest address in memory of the physical function; 0: there is no table. */
  address = 0;
  /** Entries read, and those that asked for lanes that their function cannot have. */
  reads = 0;
  refused = 0;
  readonly #parts: LaneTableParts;
  readonly #timed: TimedReads<EntryRead>;
  readonly #entry = new Uint8Array(LANE_TABLE_ENTRY_SIZE);
  /** Entries that are being read. */
  readonly #outstanding: EntryRead[] = [];

  constructor(parts: LaneTableParts) {
    this.#parts = parts;
    this.#timed = new TimedReads(parts.timing);
  }

  /** True when there is something to take in, now or later. */
  get busy(): boolean {
    return this.#outstanding.length > 0 || this.#timed.contextsUsed > 0;
  }

  /** Arrival of the next entry, or of a read that another waits for; Infinity for none. */
  get nextNs(): number {
    return this.#timed.nextNs(this.#outstanding.length > 0);
  }

  /**
   * Reads the entry of a function and gives the function its lanes, or none of them. Returns false
   * when that takes time.
   */
  apply(functionNumber: number): boolean {
    if (this.address === 0 || this.#timed.instant) {
      this.#read(functionNumber);
      return true;
    }
    const read = new EntryRead(functionNumber);
    read.active = true;
    this.#outstanding.push(read);
    this.#timed.add(read, 1);
    return false;
  }

  /** Takes in entries that have arrived. */
  land(): void {
    this.#timed.land();
    for (let left = this.#outstanding.length; left > 0; left--) {
      const read = this.#outstanding.shift() as EntryRead;
      if (isHere(read)) {
        this.#read(read.functionNumber);
        this.#parts.noteRead(read.functionNumber);
      } else this.#outstanding.push(read);
    }
  }

  /**
   * An entry that cannot be read, or is refused, is a counted fault of the physical function.
   */
  #read(functionNumber: number): void {
    if (this.address === 0) return;
    const { dma, faults } = this.#parts.physical;
    const subject = { number: functionNumber, faultObject: FaultObject.FUNCTION };
    const address = this.address + functionNumber * LANE_TABLE_ENTRY_SIZE;
    if (!dma.at(address).read(subject, LANE_TABLE_ENTRY_SIZE, this.#entry, 0)) return;
    this.reads++;
    if (this.#parts.manager.request(HOST, this.#decode(functionNumber)) === undefined) return;
    this.refused++;
    faults.report(FaultKind.LANE_TABLE_ENTRY, subject, address);
  }

  /** Reset of the physical function. */
  reset(): void {
    this.address = 0;
    this.reads = 0;
    this.refused = 0;
    for (const read of this.#outstanding.splice(0)) {
      read.active = false;
      this.#timed.drop(read);
    }
  }

  /** The entry as changes of a request, the lanes of the function first. */
  #decode(target: number): ResourceChange[] {
    const view = new DataView(this.#entry.buffer);
    const words = Math.ceil(this.#parts.manager.plan.lanes.length / LANES_PER_WORD);
    const changes = maps.flatMap(([offset, qosLevel]) =>
      Array.from({ length: LANE_WORDS }, (_, word) => {
        const amount = view.getUint32(offset + word * Uint32Array.BYTES_PER_ELEMENT, true);
        return { ...newResourceChange(), resource: ResourceKind.TVL_MAP, qosLevel, word, target, amount };
      }),
    );
    // Words beyond the lanes of the adapter name none; one that does is refused.
    return changes.filter(({ word, amount }) => word < words || amount !== 0);
  }
}
