// SPDX-License-Identifier: Apache-2.0
/**
 * Options of an mthca device, fixed when it is built (docs/verbs/PERSONALITIES.md). They are plain
 * data, as those of `Adapter` are.
 */
import { findLinkOptionError, type PortLinkOptions } from '../../fabric/link/link-options.ts';

export interface MthcaOptions {
  /** 1: MT25204; 2: MT25208 without attached memory. */
  readonly portCount: 1 | 2;
  /** EUI-64 of the node as 16 hex digits; port GUIDs follow it. */
  readonly nodeGuid: string;
  /** Text of NodeDescription, cut to 64 bytes; `vuhca mthca` when absent. */
  readonly nodeDescription?: string;
  /** Base LIDs of the ports before a subnet manager gives others. */
  readonly portLids: readonly [number, number];
  /** Packets a port holds until the link takes them. */
  readonly portQueuePackets: number;
  /** The link between the two ports until another link is plugged in. */
  readonly portLink: PortLinkOptions;
  /** Finds stores that software makes after the access that announces them; costs time. */
  readonly orderCheck?: boolean;
}

export const defaultMthcaOptions: MthcaOptions = {
  portCount: 2,
  nodeGuid: '0056554843415000',
  portLids: [1, 2],
  portQueuePackets: 64,
  portLink: { kind: 'cable' },
};

const LID_MAX = 0xbfff;
const QUEUE_PACKETS_MIN = 2;
const QUEUE_PACKETS_MAX = 1024;

/** Returns a sentence about the first option that is out of range, or undefined. */
export function findMthcaOptionError(options: MthcaOptions): string | undefined {
  const { portCount, nodeGuid, portLids, portQueuePackets, portLink } = options;
  if (portCount !== 1 && portCount !== 2) return `option portCount is ${portCount}; it must be 1 or 2`;
  if (!/^[0-9a-f]{16}$/i.test(nodeGuid)) return `option nodeGuid is ${nodeGuid}; it must be 16 hex digits`;
  if (!portLids.every((lid) => Number.isInteger(lid) && lid > 0 && lid <= LID_MAX))
    return `option portLids is ${portLids}; a unicast LID is 1 to ${LID_MAX}`;
  const isQueue = Number.isInteger(portQueuePackets) && portQueuePackets >= QUEUE_PACKETS_MIN;
  if (!isQueue || portQueuePackets > QUEUE_PACKETS_MAX)
    return `option portQueuePackets is ${portQueuePackets}; it must be ${QUEUE_PACKETS_MIN} to ${QUEUE_PACKETS_MAX}`;
  return portLink.kind === 'faulty' ? findLinkOptionError(portLink) : undefined;
}
