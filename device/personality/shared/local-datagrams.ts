// SPDX-License-Identifier: Apache-2.0
/**
 * MAD_IFC of all personalities: software of the node hands a management datagram to the agents of
 * the device and has their answer at once (IBTA 13.5.3). Command handlers call it.
 */
import { PERMISSIVE_LID } from '../../../protocol/infiniband/addresses.ts';
import { DIRECTED_ROUTE_SMP_M_KEY_OFFSET } from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import {
  getMadHeaderManagementClass,
  getMadHeaderMethod,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass, MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { madView } from '../../../protocol/infiniband/mad/mad-head.ts';
import type { Agents } from '../../fabric/agents/agents.ts';
import { generalAddress, type MadAddress, subnetAddress } from '../../fabric/agents/mad-packet.ts';
import type { Port } from '../../fabric/port/port.ts';

/** Where a datagram comes from, and what software of the node vouches for. */
export interface DatagramOrigin {
  /** LID of the sender; 0: the node itself. */
  readonly slid: number;
  /** The M_Key is not checked. Its bytes are reserved in datagrams that have none. */
  readonly ignoresKey: boolean;
}

/**
 * Has the agents answer the datagram `mad` in place. Returns false when it has no answer, and ought
 * to have one.
 */
export function answerLocally(agents: Agents, port: Port, mad: Uint8Array, origin: DatagramOrigin): boolean {
  const view = madView(mad);
  const method = getMadHeaderMethod(view, 0);
  const address = addressOf(getMadHeaderManagementClass(view, 0), origin.slid || PERMISSIVE_LID);
  const given = mad.slice(DIRECTED_ROUTE_SMP_M_KEY_OFFSET, DIRECTED_ROUTE_SMP_M_KEY_OFFSET + port.subnet.mKey.length);
  if (origin.ignoresKey) mad.set(port.subnet.mKey, DIRECTED_ROUTE_SMP_M_KEY_OFFSET);
  const taken = agents.take(port.number, address, mad, false);
  if (origin.ignoresKey) mad.set(given, DIRECTED_ROUTE_SMP_M_KEY_OFFSET);
  // A repressed trap has no answer, and is not a bad packet either.
  return taken === 'answered' || method === MadMethod.TRAP_REPRESS;
}

function addressOf(managementClass: number, slid: number): MadAddress {
  const isSubnet = managementClass === MadClass.SUBNET || managementClass === MadClass.SUBNET_DIRECTED_ROUTE;
  return isSubnet ? subnetAddress(slid, PERMISSIVE_LID) : generalAddress(slid, PERMISSIVE_LID);
}
