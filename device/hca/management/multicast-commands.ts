// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that attach queue pairs to multicast groups, detach them, and query their
 * groups (IBTA 10.5.2, 11.3). The group itself is joined at subnet administration, by software.
 */
import { gidsEqual, isMulticastGid, isMulticastLid } from '../../../protocol/infiniband/addresses.ts';
import {
  MANAGEMENT_COMMAND_MODIFIER_OFFSET,
  MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET,
} from '../../../protocol/layout/gen/management-command.gen.ts';
import {
  getMulticastAttributesMlid,
  MULTICAST_ATTRIBUTES_MGID_BYTES,
  MULTICAST_ATTRIBUTES_MGID_OFFSET,
  MULTICAST_ATTRIBUTES_MLID_OFFSET,
  setMulticastAttributesGroups,
  setMulticastAttributesMlid,
} from '../../../protocol/layout/gen/multicast-attributes.gen.ts';
import { ManagementStatus, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { CommandContext } from './command-context.ts';

/** 0xffff is the permissive LID. */
const LAST_MULTICAST_LID = 0xfffe;

const mgid = new Uint8Array(MULTICAST_ATTRIBUTES_MGID_BYTES);

/** ATTACH_MULTICAST: a datagram QP receives the datagrams of a group from now on. */
export function attachMulticast(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  if (qp.serviceType !== ServiceType.UD) {
    context.badOffset = MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET;
    return ManagementStatus.UNSUPPORTED;
  }
  const mlid = readGroup(context);
  if (!isMulticastGid(mgid, 0)) return context.badField(MULTICAST_ATTRIBUTES_MGID_OFFSET);
  if (!isMulticastLid(mlid)) return context.badField(MULTICAST_ATTRIBUTES_MLID_OFFSET, LAST_MULTICAST_LID);
  const isAttached = context.adapter.tables.multicastGroups.attach(qp, mgid, mlid);
  return isAttached ? ManagementStatus.OK : ManagementStatus.NO_RESOURCES;
}

/** DETACH_MULTICAST: a QP leaves a group to which it is attached. */
export function detachMulticast(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  const mlid = readGroup(context);
  const { multicastGroups } = context.adapter.tables;
  if (multicastGroups.detach(qp, mgid, mlid)) return ManagementStatus.OK;
  const isOtherLid = multicastGroups.groupsOf(qp).some((group) => gidsEqual(group.mgid, 0, mgid, 0));
  const blamed = isOtherLid ? MULTICAST_ATTRIBUTES_MLID_OFFSET : MULTICAST_ATTRIBUTES_MGID_OFFSET;
  return context.badPayload(ManagementStatus.BAD_STATE, blamed);
}

/** QUERY_MULTICAST: the number of groups of a QP, and the one whose index is the modifier. */
export function queryMulticast(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  const groups = context.adapter.tables.multicastGroups.groupsOf(qp);
  const { modifier } = context.header;
  const group = groups[modifier];
  if (group === undefined && modifier > 0) {
    context.badOffset = MANAGEMENT_COMMAND_MODIFIER_OFFSET;
    context.limit = Math.max(0, groups.length - 1);
    return ManagementStatus.BAD_FIELD;
  }
  setMulticastAttributesGroups(context.responseView, 0, groups.length);
  if (group === undefined) return ManagementStatus.OK;
  setMulticastAttributesMlid(context.responseView, 0, group.mlid);
  context.response.set(group.mgid, MULTICAST_ATTRIBUTES_MGID_OFFSET);
  return ManagementStatus.OK;
}

function find(context: CommandContext): QueuePair | undefined {
  return context.own(context.adapter.tables.queuePairs.get(context.header.objectNumber));
}

/** Copies the GID of the command to `mgid`, and returns its LID. */
function readGroup({ command, payload }: CommandContext): number {
  for (let at = 0; at < mgid.length; at++) mgid[at] = command.getUint8(payload + MULTICAST_ATTRIBUTES_MGID_OFFSET + at);
  return getMulticastAttributesMlid(command, payload);
}
