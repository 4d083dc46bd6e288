// SPDX-License-Identifier: Apache-2.0
/**
 * Packets with a wrong P_Key or Q_Key: counted by the port (PortInfo, IBTA 14.2.5.6) and, by cause, by the function whose QP they named. What a trap 257 or
 * 258 would tell of the first of them is in the fault record; sending traps is the subnet management agent's.
 */

import type { ParsedPacket } from '../../protocol/infiniband/packet.ts';
import { joinDwords } from '../../protocol/layout/dwords.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../port/port.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

export function notePkeyViolation(port: Port, qp: QueuePair, packet: Readonly<ParsedPacket>): void {
  port.badPkeys++;
  qp.owner.faults.report(FaultKind.PKEY_VIOLATION, qp.number, joinDwords(packet.pKey, packet.slid));
}

export function noteQkeyViolation(port: Port, qp: QueuePair, packet: Readonly<ParsedPacket>, qKey: number): void {
  port.badQkeys++;
  qp.owner.faults.report(FaultKind.QKEY_VIOLATION, qp.number, joinDwords(qKey, packet.slid));
}
