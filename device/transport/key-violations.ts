// SPDX-License-Identifier: Apache-2.0
/**
 * Counts packets with a wrong P_Key or Q_Key: by port (PortInfo, IBTA 14.2.5.6), and as a fault of
 * the function whose QP they named. The fault record holds the contents of trap 257 or 258 for the
 * first one; sending traps is up to a subnet management agent. Called by `PacketReceiver` and
 * `UdResponder`.
 */
import type { ParsedPacket } from '../../protocol/infiniband/packet.ts';
import { joinDwords } from '../../protocol/layout/dwords.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../port/port.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** The detail of the fault is SLID and P_Key. `qp`: undefined when agents took the packet. */
export function notePkeyViolation(port: Port, qp: QueuePair | undefined, packet: Readonly<ParsedPacket>): void {
  port.badPkeys++;
  qp?.owner.faults.report(FaultKind.PKEY_VIOLATION, qp, joinDwords(packet.pKey, packet.slid));
}

/** The detail of the fault is SLID and Q_Key. */
export function noteQkeyViolation(
  port: Port,
  qp: QueuePair | undefined,
  packet: Readonly<ParsedPacket>,
  qKey: number,
): void {
  port.badQkeys++;
  qp?.owner.faults.report(FaultKind.QKEY_VIOLATION, qp, joinDwords(qKey, packet.slid));
}
