// SPDX-License-Identifier: Apache-2.0
/**
 * Packets that never arrive as they were sent: lost at a port or in a switch, or lost or damaged by
 * a link (docs/TOPOLOGY.md). Ports, links and switches report each one to the observer of the port,
 * by which `vuhca trace` tells them.
 */

/** Ways in which a port or link loses a packet, or damages it, so that its receiver drops it. */
export const PacketLoss = {
  DROPPED: 0,
  TOO_LONG: 1,
  DAMAGED: 2,
  /** It was under way, or waited at the port, when the link went down. */
  LINK_DOWN: 3,
  /** The port is not active, has no VL for it, or no room. */
  PORT: 4,
  /** A switch drops it; the cause is added (`DropCause` of device/fabric/switch). */
  SWITCH: 16,
} as const;
export type PacketLoss = (typeof PacketLoss)[keyof typeof PacketLoss];

/** Observes every packet that a port or its link loses. It must not change anything. */
export type LossObserver = (view: DataView, offset: number, lengthBytes: number, loss: PacketLoss) => void;
