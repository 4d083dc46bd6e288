// SPDX-License-Identifier: Apache-2.0
/**
 * Counts packets with a wrong P_Key or Q_Key: by port (PortInfo, IBTA 14.2.5.6), and as a fault of
 * the function whose QP they named. The fault record holds the contents of trap 257 or 258 for the
 * first one; sending traps is up to a subnet management agent. Called by `PacketReceiver` and
 * `UdResponder`.
 */
import { getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { GRH_DGID_OFFSET, GRH_SGID_OFFSET, GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import type { ParsedPacket } from '../../../protocol/infiniband/packet.ts';
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { KeyViolation } from '../../fabric/port/key-violation.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** The detail of the fault is SLID and P_Key. `qp`: undefined when agents took the packet. */
export function notePkeyViolation(
  port: Port,
  qp: QueuePair | undefined,
  view: DataView,
  packet: Readonly<ParsedPacket>,
): void {
  port.badPkeys++;
  port.onKeyViolation?.(port, false, describe(view, packet, packet.pKey));
  qp?.owner.faults.report(FaultKind.PKEY_VIOLATION, qp, joinDwords(packet.pKey, packet.slid));
}

/** The detail of the fault is SLID and Q_Key. */
export function noteQkeyViolation(
  port: Port,
  qp: QueuePair | undefined,
  view: DataView,
  packet: Readonly<ParsedPacket>,
  qKey: number,
): void {
  port.badQkeys++;
  port.onKeyViolation?.(port, true, describe(view, packet, qKey));
  qp?.owner.faults.report(FaultKind.QKEY_VIOLATION, qp, joinDwords(qKey, packet.slid));
}

/** Packets of connections do not say which QP sent them. */
function describe(view: DataView, packet: Readonly<ParsedPacket>, key: number): KeyViolation {
  const { slid, dlid, serviceLevel, destQpn, dethOffset, grhOffset } = packet;
  const sourceQpn = dethOffset < 0 ? 0 : getDethSrcQpn(view, dethOffset);
  const local: KeyViolation = { slid, dlid, serviceLevel, sourceQpn, destQpn, key };
  if (grhOffset < 0) return local;
  const grh = new Uint8Array(view.buffer, view.byteOffset + grhOffset, GRH_SIZE).slice();
  return { ...local, sgid: grh.subarray(GRH_SGID_OFFSET, GRH_DGID_OFFSET), dgid: grh.subarray(GRH_DGID_OFFSET) };
}
