// SPDX-License-Identifier: Apache-2.0
/**
 * The causes for which a switch drops a packet, and the counters of a port by cause (IBTA 18.2.4
 * and 18.2.5). Every packet that a switch takes leaves by a port, reaches port 0, or counts once
 * here. The performance management agent reports the counters.
 */
import type { LinkEnd } from '../port/link.ts';

/**
 * Causes; those from `OUTPUT_INACTIVE` count at the port of exit, the others at that of arrival.
 */
export const DropCause = {
  /** The port of arrival is not ACTIVE. */
  INPUT_INACTIVE: 0,
  /** The VCRC is wrong. */
  DAMAGED: 1,
  /** The length or the link version is wrong, or the packet is longer than the MTU. */
  MALFORMED: 2,
  /** The P_Key is not in the table of the port of arrival, which enforces partitions. */
  INPUT_PARTITION: 3,
  /** A raw packet arrived at a port that filters them. */
  INPUT_RAW: 4,
  /** The forwarding table names no port for the DLID. */
  NO_ROUTE: 5,
  /** The forwarding table names the port of arrival. */
  LOOP: 6,
  /** The service level maps to VL15, or to a VL that the port of exit lacks. */
  NO_LANE: 7,
  /** The multicast group has no port besides the port of arrival. */
  NO_MEMBER: 8,
  /** The port of exit is not ACTIVE. */
  OUTPUT_INACTIVE: 9,
  /** The packet waited at its input for longer than the life time of the switch. */
  LIFE_TIME: 10,
  /** The packet is longer than the MTU of the port of exit. */
  TOO_LONG: 11,
  /** The P_Key is not in the table of the port of exit, which enforces partitions. */
  OUTPUT_PARTITION: 12,
  /** A raw packet would leave by a port that filters them. */
  OUTPUT_RAW: 13,
  /** The packet waited at the head of its output queue for longer than the limit of the port. */
  HEAD_OF_QUEUE: 14,
  /** A management packet found no room on VL15. */
  NO_MANAGEMENT_ROOM: 15,
} as const;
export type DropCause = (typeof DropCause)[keyof typeof DropCause];

/** Names of the causes, by number, for reports and messages. */
export const dropCauseNames: readonly string[] = Object.keys(DropCause).map((name) =>
  name.toLowerCase().replaceAll('_', ' '),
);

/**
 * Counts packets dropped at a port as performance management reports them (IBTA 16.1.3.5, 16.1.4).
 */
export function countDrop(port: LinkEnd, cause: DropCause, packets: number): void {
  const { counters } = port;
  switch (cause) {
    case DropCause.DAMAGED:
    case DropCause.MALFORMED:
      for (let packet = 0; packet < packets; packet++) port.noteBadPacket(cause === DropCause.DAMAGED);
      break;
    case DropCause.NO_ROUTE:
      counters.relayErrors += packets;
      counters.unmappedLids += packets;
      break;
    case DropCause.NO_LANE:
      counters.relayErrors += packets;
      counters.unmappedLanes += packets;
      break;
    case DropCause.LOOP:
      counters.relayErrors += packets;
      counters.loopedPackets += packets;
      break;
    case DropCause.INPUT_PARTITION:
    case DropCause.INPUT_RAW:
      counters.receiveConstraintErrors += packets;
      break;
    case DropCause.OUTPUT_PARTITION:
    case DropCause.OUTPUT_RAW:
      counters.transmitConstraintErrors += packets;
      break;
    case DropCause.NO_MANAGEMENT_ROOM:
      counters.vl15Dropped += packets;
      break;
    case DropCause.OUTPUT_INACTIVE:
    case DropCause.LIFE_TIME:
    case DropCause.TOO_LONG:
    case DropCause.HEAD_OF_QUEUE:
      port.transmitDiscards += packets;
      if (cause === DropCause.LIFE_TIME) counters.lifeTimeDiscards += packets;
      if (cause === DropCause.TOO_LONG) counters.mtuDiscards += packets;
      if (cause === DropCause.HEAD_OF_QUEUE) counters.headOfQueueDiscards += packets;
      break;
    default:
  }
}

/** Causes that count as discards of the port of exit. */
export const discardCauses: readonly DropCause[] = [
  DropCause.OUTPUT_INACTIVE,
  DropCause.LIFE_TIME,
  DropCause.TOO_LONG,
  DropCause.HEAD_OF_QUEUE,
];
