// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands for the GID tables of the ports: software adds GIDs to the one made of subnet
 * prefix and GUID (IBTA 4.1.1, 14.2.5.5). Only functions that manage their ports change the tables,
 * and all functions that use the port are notified.
 */
import { gidsEqual, isMulticastGid } from '../../../protocol/infiniband/addresses.ts';
import { GID_TABLE_ENTRIES } from '../../../protocol/layout/gen/constants.gen.ts';
import { GID_ATTRIBUTES_GID_OFFSET, GID_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/gid-attributes.gen.ts';
import { EventType, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../fabric/port/port.ts';
import { findPort } from './adapter-commands.ts';
import type { CommandContext } from './command-context.ts';
import { blameObject } from './share-commands.ts';

/** Entry 0 is made of prefix and GUID; software may write the entries from here on. */
const FIRST_OWN_ENTRY = 1;
const LAST_BYTE = GID_ATTRIBUTES_SIZE - 1;

const requested = new Uint8Array(GID_ATTRIBUTES_SIZE);

/** QUERY_GID: returns one entry of a port's table. */
export function queryGid(context: CommandContext): ManagementStatus {
  const port = findPort(context);
  if (port === undefined) return ManagementStatus.BAD_FIELD;
  const index = context.header.objectNumber;
  if (index >= GID_TABLE_ENTRIES) return blameObject(context, ManagementStatus.BAD_OBJECT, GID_TABLE_ENTRIES - 1);
  context.response.set(gidOf(port, index), GID_ATTRIBUTES_GID_OFFSET);
  return ManagementStatus.OK;
}

/** MODIFY_GID: sets or clears one entry of a port's table. */
export function modifyGid(context: CommandContext): ManagementStatus {
  const { adapter, managed, command, payload } = context;
  const port = findPort(context);
  if (port === undefined) return ManagementStatus.BAD_FIELD;
  const index = context.header.objectNumber;
  // The opcode, at offset 0, is at fault.
  if (!managed.managesPorts) return ManagementStatus.NOT_PERMITTED;
  if (index < FIRST_OWN_ENTRY || index >= GID_TABLE_ENTRIES)
    return blameObject(context, ManagementStatus.BAD_OBJECT, GID_TABLE_ENTRIES - 1);
  for (let at = 0; at < requested.length; at++)
    requested[at] = command.getUint8(payload + GID_ATTRIBUTES_GID_OFFSET + at);
  if (!isAcceptable(port, index)) return context.badField(GID_ATTRIBUTES_GID_OFFSET);
  port.gids.set(requested, index * requested.length);
  for (const { underlying } of adapter.functions)
    if (port.serves(underlying.number)) underlying.postPortEvent(EventType.GID_CHANGE, port.number);
  return ManagementStatus.OK;
}

function gidOf(port: Port, index: number): Uint8Array {
  return port.gids.subarray(index * GID_ATTRIBUTES_SIZE, (index + 1) * GID_ATTRIBUTES_SIZE);
}

/** True when `requested` is empty, or a unicast GID that no other entry has; ::1 is refused. */
function isAcceptable(port: Port, index: number): boolean {
  const first = requested.findIndex((byte) => byte !== 0);
  if (first < 0) return true;
  if (isMulticastGid(requested, 0) || (first === LAST_BYTE && requested[LAST_BYTE] === 1)) return false;
  for (let other = 0; other < GID_TABLE_ENTRIES; other++)
    if (other !== index && gidsEqual(port.gids, other * GID_ATTRIBUTES_SIZE, requested, 0)) return false;
  return true;
}
