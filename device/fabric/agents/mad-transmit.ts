// SPDX-License-Identifier: Apache-2.0
/**
 * Sends management datagrams of a node (IBTA 13.5.3 and 14.2.2): by a port, by the LID of the
 * destination, or back to the node itself. `MadInterface` calls it.
 */
import { isLidOfPort } from '../../../protocol/infiniband/addresses.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { LinkEnd } from '../port/link.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';
import { type MadAddress, writeMadPacket } from './mad-packet.ts';
import { endPortOf, type ManagedNode } from './managed-node.ts';

/** The way of a datagram from a node: a port number, or one of these. */
export const MadEgress = { OWN_NODE: 0, NOWHERE: -1 } as const;

/** The port by which a datagram of `portNumber` leaves for the LID `dlid`. */
export function egressOf(node: ManagedNode, portNumber: number, dlid: number): number {
  const endPort = endPortOf(node, portNumber);
  if (isLidOfPort(dlid, endPort.lid, endPort.lmc)) return MadEgress.OWN_NODE;
  const { switchTables } = node;
  if (switchTables === undefined) return portNumber;
  const out = dlid <= switchTables.linearTop ? switchTables.linear[dlid] : undefined;
  return out === undefined || out > node.ports.length ? MadEgress.NOWHERE : out;
}

/**
 * Sends a datagram by an external port. Returns false when the port is down, not active (QP1), has
 * no VL for the service level, or has no room.
 */
export function transmitMad(
  node: ManagedNode,
  outPort: number,
  address: Readonly<MadAddress>,
  mad: Uint8Array,
): boolean {
  const end = node.ports[outPort - 1];
  if (end.state === PortState.DOWN || (!address.isVl15 && !end.active)) return false;
  const ring = ringOf(node, outPort, end, address);
  if (ring === undefined || ring.full) return false;
  end.transmit(ring, writeMadPacket(ring.view, ring.writeOffset, address, mad, ring.virtualLane));
  end.onWork?.();
  return true;
}

function ringOf(
  node: ManagedNode,
  outPort: number,
  end: LinkEnd,
  address: Readonly<MadAddress>,
): PacketRing | undefined {
  const queues = end.transmitQueues;
  if (address.isVl15) return queues.vl15;
  const { switchTables } = node;
  if (switchTables === undefined) return queues.ringOf(address.serviceLevel);
  const virtualLane = switchTables.getVirtualLane(0, outPort, address.serviceLevel);
  return virtualLane === MANAGEMENT_VL ? undefined : queues.rings[virtualLane];
}
