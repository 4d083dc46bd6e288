// SPDX-License-Identifier: Apache-2.0
/**
 * The rules that make management datagrams of the datagrams of QP0 and QP1: lane, keys and source
 * (IBTA 7.6.3, 3.9.3, 9.6.1.1). `UdRequester` applies them.
 */
import { PERMISSIVE_LID, SUBNET_MANAGEMENT_QPN } from '../../../../protocol/infiniband/addresses.ts';
import { DEFAULT_PKEY, effectiveQKey, GSI_QKEY } from '../../../../protocol/infiniband/keys.ts';
import type { PacketFields } from '../../../../protocol/infiniband/packet-fields.ts';
import { PKEY_TABLE_ENTRIES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET } from '../../../../protocol/layout/gen/send-command.gen.ts';
import { getUdTargetPkeyIndex, getUdTargetQkey } from '../../../../protocol/layout/gen/ud-target.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import { MANAGEMENT_VL } from '../../../fabric/port/transmit-queues.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { Path } from '../path.ts';

/** True when a special QP may send a command by this path: QP0 has no GRH, QP1 names a P_Key. */
export function isManagementAllowed(qp: QueuePair, command: DataView, path: Readonly<Path>): boolean {
  if (qp.wireNumber === SUBNET_MANAGEMENT_QPN) return path.globalRoute === 0;
  return getUdTargetPkeyIndex(command, SEND_COMMAND_TARGET_OFFSET) < PKEY_TABLE_ENTRIES;
}

/** Sets the fields in which a packet of a special QP differs from that of other QPs. */
export function setManagementFields(qp: QueuePair, command: DataView, port: Port, fields: PacketFields): void {
  if (qp.wireNumber === SUBNET_MANAGEMENT_QPN) {
    fields.virtualLane = MANAGEMENT_VL;
    fields.pKey = DEFAULT_PKEY;
    fields.qKey = 0;
    if (fields.dlid === PERMISSIVE_LID) fields.slid = PERMISSIVE_LID;
    return;
  }
  fields.pKey = port.pkeys[getUdTargetPkeyIndex(command, SEND_COMMAND_TARGET_OFFSET)];
  fields.qKey = effectiveQKey(getUdTargetQkey(command, SEND_COMMAND_TARGET_OFFSET), GSI_QKEY);
}
