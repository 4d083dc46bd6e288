// SPDX-License-Identifier: Apache-2.0
/**
 * Options of a device of any personality, fixed when it is built (docs/verbs/PERSONALITIES.md).
 * They are plain data, as those of `Adapter` are. Each personality has its own defaults.
 */
import { findLinkOptionError, type PortLinkOptions } from '../../fabric/link/link-options.ts';

export interface PersonalityOptions {
  /** Numbers of ports that a device can have differ between personalities. */
  readonly portCount: 1 | 2;
  /** EUI-64 of the node as 16 hex digits; port GUIDs follow it. */
  readonly nodeGuid: string;
  /** EUI-64 that the functions of one device have in common; that of the node when absent. */
  readonly systemImageGuid?: string;
  /** Text of NodeDescription, cut to 64 bytes; `vuhca` and the personality when absent. */
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

const GUID = /^[0-9a-f]{16}$/i;
const LID_MAX = 0xbfff;
const QUEUE_PACKETS_MIN = 2;
const QUEUE_PACKETS_MAX = 1024;

/**
 * Returns a sentence about the first option that is out of range, or undefined. `portCounts`: the
 * numbers of ports that the personality knows.
 */
export function findPersonalityOptionError(
  options: PersonalityOptions,
  portCounts: readonly number[],
): string | undefined {
  const { portCount, nodeGuid, systemImageGuid = nodeGuid, portLids, portQueuePackets, portLink } = options;
  if (!portCounts.includes(portCount)) return `option portCount is ${portCount}; it must be ${portCounts.join(' or ')}`;
  if (!GUID.test(nodeGuid)) return `option nodeGuid is ${nodeGuid}; it must be 16 hex digits`;
  if (!GUID.test(systemImageGuid)) return `option systemImageGuid is ${systemImageGuid}; it must be 16 hex digits`;
  if (!portLids.every((lid) => Number.isInteger(lid) && lid > 0 && lid <= LID_MAX))
    return `option portLids is ${portLids}; a unicast LID is 1 to ${LID_MAX}`;
  const isQueue = Number.isInteger(portQueuePackets) && portQueuePackets >= QUEUE_PACKETS_MIN;
  if (!isQueue || portQueuePackets > QUEUE_PACKETS_MAX)
    return `option portQueuePackets is ${portQueuePackets}; it must be ${QUEUE_PACKETS_MIN} to ${QUEUE_PACKETS_MAX}`;
  return portLink.kind === 'faulty' ? findLinkOptionError(portLink) : undefined;
}
