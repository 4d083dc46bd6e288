// SPDX-License-Identifier: Apache-2.0
/**
 * The TVL mapping table in memory of the physical function (US 8,484,392 par. 74-75, first method):
 * a request marks an entry as invalid, and the entry is read before the next command of its
 * function gets a lane. What it asks for passes the share plan like a request of the host, so a
 * table in memory cannot give away what other functions own. `TransmitVirtualLanes` calls it.
 */
import { QOS_LEVELS, RESOURCE_NO_LEVEL } from '../../protocol/layout/gen/constants.gen.ts';
import {
  LANE_TABLE_ENTRY_LANES_OFFSET,
  LANE_TABLE_ENTRY_LEVEL0_OFFSET,
  LANE_TABLE_ENTRY_LEVEL1_OFFSET,
  LANE_TABLE_ENTRY_SIZE,
} from '../../protocol/layout/gen/lane-table-entry.gen.ts';
import { newResourceChange, type ResourceChange } from '../../protocol/layout/gen/resource-change.gen.ts';
import { FaultKind, FaultObject, ResourceKind } from '../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { LANES_PER_WORD } from './lane-changes.ts';
import { HOST } from './share-changes.ts';
import type { ShareManager } from './share-manager.ts';

/** Maps of an entry: of the function, and of each level. */
const maps: readonly (readonly [offset: number, qosLevel: number])[] = [
  [LANE_TABLE_ENTRY_LANES_OFFSET, RESOURCE_NO_LEVEL],
  [LANE_TABLE_ENTRY_LEVEL0_OFFSET, 0],
  [LANE_TABLE_ENTRY_LEVEL1_OFFSET, QOS_LEVELS - 1],
];

export class LaneTable {
  /** Guest address in memory of the physical function; 0: there is no table. */
  address = 0;
  /** Entries read, and those that asked for lanes that their function cannot have. */
  reads = 0;
  refused = 0;
  readonly #physical: UnderlyingFunction;
  readonly #manager: ShareManager;
  readonly #entry = new Uint8Array(LANE_TABLE_ENTRY_SIZE);

  constructor(physical: UnderlyingFunction, manager: ShareManager) {
    this.#physical = physical;
    this.#manager = manager;
  }

  /**
   * Reads the entry of a function and gives the function its lanes, or none of them. An entry that
   * cannot be read, or is refused, is a counted fault of the physical function.
   */
  apply(functionNumber: number): void {
    if (this.address === 0) return;
    const { dma, faults } = this.#physical;
    const subject = { number: functionNumber, faultObject: FaultObject.FUNCTION };
    const address = this.address + functionNumber * LANE_TABLE_ENTRY_SIZE;
    if (!dma.at(address).read(subject, LANE_TABLE_ENTRY_SIZE, this.#entry, 0)) return;
    this.reads++;
    if (this.#manager.request(HOST, this.#decode(functionNumber)) === undefined) return;
    this.refused++;
    faults.report(FaultKind.LANE_TABLE_ENTRY, subject, address);
  }

  /** Reset of the physical function. */
  reset(): void {
    this.address = 0;
    this.reads = 0;
    this.refused = 0;
  }

  /** The entry as changes of a request, the lanes of the function first. */
  #decode(target: number): ResourceChange[] {
    const view = new DataView(this.#entry.buffer);
    const words = Math.ceil(this.#manager.plan.lanes.length / LANES_PER_WORD);
    return maps.flatMap(([offset, qosLevel]) =>
      Array.from({ length: words }, (_, word) => {
        const amount = view.getUint32(offset + word * Uint32Array.BYTES_PER_ELEMENT, true);
        return { ...newResourceChange(), resource: ResourceKind.TVL_MAP, qosLevel, word, target, amount };
      }),
    );
  }
}
