// SPDX-License-Identifier: Apache-2.0
/** What can be chosen when an adapter is built. Part of every recording, so plain data only. */
import { TVL_MAX } from '../protocol/layout/gen/constants.gen.ts';
import { DEDICATED_COLLECT_BUFFERS } from './collect/geometry.ts';
import { findLinkOptionError, type PortLinkOptions } from './fabric/link-options.ts';
import { LANE_COUNTS } from './port/transmit-lanes.ts';

export interface AdapterOptions {
  /** Virtual collect buffers of the function, 1 to 16384. */
  readonly vcbCount: number;
  /** Physical collect buffers of the adapter, 1 to 1024. */
  readonly pcbCount: number;
  /** PCBs guaranteed to QoS level 0 and 1; the rest of `pcbCount` is shared by the levels of the function. */
  readonly pcbGuaranteed: readonly [number, number];
  /** Dedicated collect buffers of the send queue scheduler, 1 to 256. */
  readonly schedulerBufferCount: number;
  /** Transmit virtual lanes of the adapter, 1 to 128. */
  readonly laneCount: number;
  /** Execution credits of all lanes: commands between launch and hand-over to the port. */
  readonly executionCredits: number;
  /** Completion credits of all lanes: commands between launch and completion. */
  readonly completionCredits: number;
  /** EUI-64 of the node as 16 hex digits; port GUIDs follow it. */
  readonly nodeGuid: string;
  /** Base LIDs of the ports. */
  readonly portLids: readonly [number, number];
  /** Packets a port holds until the link takes them. */
  readonly portQueuePackets: number;
  /** Data lanes of a port: 1, 2, 4 or 8; VL15 comes on top. */
  readonly virtualLanes: number;
  /** What joins the two ports until something else is plugged in. */
  readonly portLink: PortLinkOptions;
}

export const defaultAdapterOptions: AdapterOptions = {
  vcbCount: 64,
  pcbCount: 256,
  pcbGuaranteed: [64, 64],
  schedulerBufferCount: 32,
  laneCount: TVL_MAX,
  executionCredits: 64,
  completionCredits: 1024,
  nodeGuid: '0056554843410000',
  portLids: [1, 2],
  portQueuePackets: 64,
  virtualLanes: 1,
  portLink: { kind: 'cable' },
};

/** Returns one sentence for the first option out of range, or undefined. */
export function findOptionError(options: AdapterOptions): string | undefined {
  const ranges: [keyof AdapterOptions, number, number][] = [
    ['vcbCount', 1, 16384 - DEDICATED_COLLECT_BUFFERS],
    ['pcbCount', 1, 1024],
    ['schedulerBufferCount', 1, 256],
    ['laneCount', 1, TVL_MAX],
    ['executionCredits', 1, 1024],
    ['completionCredits', 1, 4096],
    ['portQueuePackets', 2, 1024],
  ];
  for (const [name, low, high] of ranges) {
    const value = options[name] as number;
    if (!Number.isInteger(value) || value < low || value > high)
      return `option ${name} is ${value}; it must be ${low} to ${high}`;
  }
  const guaranteed = options.pcbGuaranteed[0] + options.pcbGuaranteed[1];
  if (!options.pcbGuaranteed.every((count) => Number.isInteger(count) && count >= 0) || guaranteed > options.pcbCount)
    return `option pcbGuaranteed is ${options.pcbGuaranteed}; its sum must not exceed pcbCount (${options.pcbCount})`;
  if (!/^[0-9a-f]{16}$/i.test(options.nodeGuid))
    return `option nodeGuid is ${options.nodeGuid}; it must be 16 hex digits`;
  if (!options.portLids.every((lid) => Number.isInteger(lid) && lid > 0 && lid < 0xc000))
    return `option portLids is ${options.portLids}; a unicast LID is 1 to 49151`;
  if (!LANE_COUNTS.includes(options.virtualLanes))
    return `option virtualLanes is ${options.virtualLanes}; it must be ${LANE_COUNTS.join(', ')}`;
  return options.portLink.kind === 'faulty' ? findLinkOptionError(options.portLink) : undefined;
}
