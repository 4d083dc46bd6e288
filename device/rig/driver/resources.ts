// SPDX-License-Identifier: Apache-2.0
/**
 * Share requests and queries of a driver (US 8,484,392 par. 62-86): for any function on the
 * physical function, or for the QoS levels of its own. Part of `Driver`.
 */
import { RESOURCE_NO_LEVEL, TVL_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeLaneAttributes,
  type LaneAttributes,
  newLaneAttributes,
} from '../../../protocol/layout/gen/lane-attributes.gen.ts';
import {
  encodeResourceChange,
  newResourceChange,
  RESOURCE_CHANGE_SIZE,
  type ResourceChange,
} from '../../../protocol/layout/gen/resource-change.gen.ts';
import {
  decodeResourceShare,
  newResourceShare,
  RESOURCE_SHARE_TVL_MAP_DEDICATED_OFFSET,
  RESOURCE_SHARE_TVL_MAP_LEVEL0_OFFSET,
  RESOURCE_SHARE_TVL_MAP_LEVEL1_OFFSET,
  RESOURCE_SHARE_TVL_MAP_OFFSET,
  type ResourceShare,
} from '../../../protocol/layout/gen/resource-share.gen.ts';
import { ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { ManagementChannel, ManagementResult } from './management-channel.ts';

/** A change of a QoS level or, without `qosLevel`, of a whole function or a lane. */
export type ResourceChangeRequest = Pick<ResourceChange, 'resource' | 'target' | 'amount'> & Partial<ResourceChange>;

/** The share of a function; its lane maps are lists of lane numbers. */
interface DriverShare extends ResourceShare {
  readonly lanes: number[];
  readonly levelLanes: readonly [number[], number[]];
  readonly dedicatedLanes: number[];
}

/** The share commands of one function. */
export class DriverResources {
  readonly #management: ManagementChannel;

  constructor(management: ManagementChannel) {
    this.#management = management;
  }

  /** Requests all changes or none; returns the result, whatever the status. */
  request(changes: readonly ResourceChangeRequest[]): ManagementResult {
    const payload = encodeChanges(changes);
    return this.#management.execute({ opcode: ManagementOpcode.REQUEST_RESOURCES, modifier: changes.length, payload });
  }

  /** The share of a function; throws if refused. */
  query(functionNumber: number): DriverShare {
    const { payload } = this.#management.perform({
      opcode: ManagementOpcode.QUERY_RESOURCES,
      objectNumber: functionNumber,
    });
    return {
      ...decodeResourceShare(payload, 0, newResourceShare()),
      lanes: readMap(payload, RESOURCE_SHARE_TVL_MAP_OFFSET),
      levelLanes: [
        readMap(payload, RESOURCE_SHARE_TVL_MAP_LEVEL0_OFFSET),
        readMap(payload, RESOURCE_SHARE_TVL_MAP_LEVEL1_OFFSET),
      ],
      dedicatedLanes: readMap(payload, RESOURCE_SHARE_TVL_MAP_DEDICATED_OFFSET),
    };
  }

  /** The attributes of a lane; throws if refused. */
  queryLane(lane: number): LaneAttributes {
    const { payload } = this.#management.perform({ opcode: ManagementOpcode.QUERY_LANE, objectNumber: lane });
    return decodeLaneAttributes(payload, 0, newLaneAttributes());
  }
}

/** The payload of a request. */
export function encodeChanges(changes: readonly ResourceChangeRequest[]): Uint8Array {
  const bytes = new Uint8Array(changes.length * RESOURCE_CHANGE_SIZE);
  const view = new DataView(bytes.buffer);
  changes.forEach((change, index) => {
    const whole = { ...newResourceChange(), qosLevel: RESOURCE_NO_LEVEL, ...change };
    encodeResourceChange(view, index * RESOURCE_CHANGE_SIZE, whole);
  });
  return bytes;
}

function readMap(view: DataView, offset: number): number[] {
  const lanes = Array.from({ length: TVL_MAX }, (_, lane) => lane);
  return lanes.filter((lane) => ((view.getUint8(offset + (lane >>> 3)) >>> (lane & 7)) & 1) === 1);
}
