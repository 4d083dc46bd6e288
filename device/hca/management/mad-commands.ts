// SPDX-License-Identifier: Apache-2.0
/**
 * The management command that gives a datagram to the agents of a port: the door of a driver, which
 * answers datagrams of its own software without a packet (IBTA 13.4, 14.2, 16.1). It is for
 * functions that manage their ports.
 */

import {
  DIRECTED_ROUTE_SMP_M_KEY_OFFSET,
  setDirectedRouteSmpIsReturning,
} from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import { getMadHeaderManagementClass } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import {
  decodeMadRequest,
  encodeMadRequest,
  MAD_REQUEST_BUFFER_ADDRESS_OFFSET,
  newMadRequest,
} from '../../../protocol/layout/gen/mad-request.gen.ts';
import { MadResult, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { generalAddress, type MadAddress, subnetAddress } from '../../fabric/agents/mad-packet.ts';
import type { Port } from '../../fabric/port/port.ts';
import { findPort } from './adapter-commands.ts';
import type { CommandContext } from './command-context.ts';

const BUFFER_ALIGNMENT = 8;
const M_KEY_BYTES = 8;

const request = newMadRequest();
const mad = new Uint8Array(MAD_BYTES);
const view = new DataView(mad.buffer);
const givenKey = new Uint8Array(M_KEY_BYTES);

/** EXECUTE_MAD: the buffer holds the response afterwards, if there is one. */
export function executeMad(context: CommandContext): ManagementStatus {
  const { issuer, command, payload } = context;
  const port = findPort(context);
  if (port === undefined) return ManagementStatus.BAD_FIELD;
  // The opcode, at offset 0, is at fault.
  if (!context.managed.managesPorts) return ManagementStatus.NOT_PERMITTED;
  decodeMadRequest(command, payload, request);
  const { bufferAddress } = request;
  // A buffer that cannot take the response is refused before an agent changes anything.
  const isUsable =
    bufferAddress % BUFFER_ALIGNMENT === 0 &&
    issuer.dma.at(bufferAddress).read(context, MAD_BYTES, mad, 0) &&
    issuer.dma.at(bufferAddress).write(context, mad, 0, MAD_BYTES);
  if (!isUsable) return context.badPayload(ManagementStatus.BAD_ADDRESS, MAD_REQUEST_BUFFER_ADDRESS_OFFSET);
  request.result = serve(context, port);
  if (request.result & MadResult.REPLIED) issuer.dma.at(bufferAddress).write(context, mad, 0, MAD_BYTES);
  encodeMadRequest(context.responseView, 0, request);
  return ManagementStatus.OK;
}

/** Lets the agents take the datagram; returns `MadResult` bits. */
function serve({ managed }: CommandContext, port: Port): number {
  const madClass = getMadHeaderManagementClass(view, 0);
  const isSubnet = madClass === MadClass.SUBNET || madClass === MadClass.SUBNET_DIRECTED_ROUTE;
  const { agents } = managed.mads;
  if (!isSubnet || request.ignoreMkey === 0)
    return resultOf(agents.take(port.number, addressOf(port, isSubnet), mad, true));
  givenKey.set(mad.subarray(DIRECTED_ROUTE_SMP_M_KEY_OFFSET, DIRECTED_ROUTE_SMP_M_KEY_OFFSET + M_KEY_BYTES));
  mad.set(port.subnet.mKey, DIRECTED_ROUTE_SMP_M_KEY_OFFSET);
  const result = resultOf(agents.take(port.number, addressOf(port, isSubnet), mad, true));
  mad.set(givenKey, DIRECTED_ROUTE_SMP_M_KEY_OFFSET);
  return result;
}

/** The address of the datagram as if it had arrived at the port. */
function addressOf(port: Port, isSubnet: boolean): MadAddress {
  const { hasSource, sourceLid, serviceLevel, sourceQpn } = request;
  if (hasSource === 0) return isSubnet ? subnetAddress(port.lid, port.lid) : generalAddress(port.lid, port.lid);
  const address = isSubnet ? subnetAddress(sourceLid, port.lid) : generalAddress(sourceLid, port.lid);
  return { ...address, serviceLevel, sourceQpn };
}

function resultOf(taken: 'answered' | 'software' | 'dropped'): number {
  if (taken === 'software') return 0;
  if (taken === 'dropped') return MadResult.CONSUMED;
  if (getMadHeaderManagementClass(view, 0) === MadClass.SUBNET_DIRECTED_ROUTE)
    setDirectedRouteSmpIsReturning(view, 0, 1);
  return MadResult.CONSUMED | MadResult.REPLIED;
}
