// SPDX-License-Identifier: Apache-2.0
/**
 * The packet that carries a management datagram: an unreliable datagram with a payload of 256 bytes
 * (IBTA 13.5, 9.8.3). Subnet management uses VL15, QP0 and Q_Key 0; general services use QP1 on a
 * data VL. Agents, switches and doors for software build and read such packets with it.
 */
import { GENERAL_SERVICES_QPN, PERMISSIVE_LID, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import { getDethQKey, getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import {
  GRH_DGID_OFFSET,
  GRH_SGID_OFFSET,
  GRH_SIZE,
  getGrhFlowLabel,
  getGrhHopLimit,
  getGrhTrafficClass,
} from '../../../protocol/infiniband/gen/grh.gen.ts';
import { BthOpcode, PacketError } from '../../../protocol/infiniband/gen/values.gen.ts';
import { DEFAULT_PKEY, GSI_QKEY } from '../../../protocol/infiniband/keys.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import { MANAGEMENT_VL } from '../port/transmit-queues.ts';

/** Source and destination of a datagram, besides its own contents. */
export interface MadAddress {
  slid: number;
  dlid: number;
  serviceLevel: number;
  sourceQpn: number;
  destQpn: number;
  qKey: number;
  /** The partition key itself, not its index. */
  pKey: number;
  /** A subnet management packet: VL15, QP0. */
  isVl15: boolean;
  /** The GRH of a datagram of general services that has one: 40 bytes. */
  grh?: Uint8Array | undefined;
}

const fields = newPacketFields();
const parsed = newParsedPacket();

/** An address of a subnet management packet with permissive LIDs. */
export function newMadAddress(): MadAddress {
  return {
    slid: PERMISSIVE_LID,
    dlid: PERMISSIVE_LID,
    serviceLevel: 0,
    sourceQpn: SUBNET_MANAGEMENT_QPN,
    destQpn: SUBNET_MANAGEMENT_QPN,
    qKey: 0,
    pKey: DEFAULT_PKEY,
    isVl15: true,
  };
}

/** Address of a subnet management packet. */
export function subnetAddress(slid: number, dlid: number, serviceLevel = 0): MadAddress {
  return { ...newMadAddress(), slid, dlid, serviceLevel };
}

/** Address of a datagram from QP1 to QP1. */
export function generalAddress(slid: number, dlid: number, pKey = DEFAULT_PKEY, serviceLevel = 0): MadAddress {
  const qpns = { sourceQpn: GENERAL_SERVICES_QPN, destQpn: GENERAL_SERVICES_QPN };
  return { slid, dlid, serviceLevel, ...qpns, qKey: GSI_QKEY, pKey, isVl15: false };
}

/**
 * Turns the address of a request into that of its response (IBTA 13.5.4). A request with a GRH has
 * a response with one, its GIDs exchanged.
 */
export function answerAddress(request: Readonly<MadAddress>): MadAddress {
  return {
    ...request,
    slid: request.dlid,
    dlid: request.slid,
    sourceQpn: request.destQpn,
    destQpn: request.sourceQpn,
    qKey: request.isVl15 ? 0 : GSI_QKEY,
    grh: request.grh && exchangeGids(request.grh),
  };
}

function exchangeGids(grh: Readonly<Uint8Array>): Uint8Array {
  const answer = grh.slice();
  answer.copyWithin(GRH_SGID_OFFSET, GRH_DGID_OFFSET, GRH_SIZE);
  answer.set(grh.subarray(GRH_SGID_OFFSET, GRH_DGID_OFFSET), GRH_DGID_OFFSET);
  return answer;
}

/**
 * Writes the packet at `offset` and returns its length in bytes. `virtualLane` is that of the ring;
 * both CRCs are right for it.
 */
export function writeMadPacket(
  view: DataView,
  offset: number,
  address: Readonly<MadAddress>,
  mad: Uint8Array,
  virtualLane: number = address.isVl15 ? MANAGEMENT_VL : 0,
): number {
  fields.opcode = BthOpcode.UD_SEND_ONLY;
  fields.virtualLane = virtualLane;
  fields.serviceLevel = address.serviceLevel;
  fields.slid = address.slid;
  fields.dlid = address.dlid;
  fields.pKey = address.pKey;
  fields.qKey = address.qKey;
  fields.srcQpn = address.sourceQpn;
  fields.destQpn = address.destQpn;
  fields.payloadLengthBytes = MAD_BYTES;
  fields.hasGrh = address.grh === undefined ? 0 : 1;
  if (address.grh !== undefined) setGrhFields(address.grh);
  const start = view.byteOffset + offset + payloadStart(BthOpcode.UD_SEND_ONLY, fields.hasGrh);
  new Uint8Array(view.buffer, start, MAD_BYTES).set(mad.subarray(0, MAD_BYTES));
  return buildPacket(view, offset, fields);
}

function setGrhFields(grh: Readonly<Uint8Array>): void {
  const view = new DataView(grh.buffer, grh.byteOffset, GRH_SIZE);
  fields.trafficClass = getGrhTrafficClass(view, 0);
  fields.flowLabel = getGrhFlowLabel(view, 0);
  fields.hopLimit = getGrhHopLimit(view, 0);
  fields.sgid.set(grh.subarray(GRH_SGID_OFFSET, GRH_DGID_OFFSET));
  fields.dgid.set(grh.subarray(GRH_DGID_OFFSET, GRH_SIZE));
}

/**
 * Reads the packet of `lengthBytes` at `offset` into `address` and `mad`. Returns false, and leaves
 * both alone, when it is not a datagram of 256 bytes to QP0 on VL15, or to QP1 on a data VL. CRCs
 * are not checked: the receiver of the packet has done that.
 */
export function readMadPacket(
  view: DataView,
  offset: number,
  lengthBytes: number,
  address: MadAddress,
  mad: Uint8Array,
): boolean {
  if (parsePacket(view, offset, lengthBytes, parsed, PacketCheck.NONE) !== PacketError.NONE) return false;
  if (parsed.opcode !== BthOpcode.UD_SEND_ONLY || parsed.payloadLengthBytes !== MAD_BYTES) return false;
  const isVl15 = parsed.virtualLane === MANAGEMENT_VL;
  if (parsed.destQpn !== (isVl15 ? SUBNET_MANAGEMENT_QPN : GENERAL_SERVICES_QPN)) return false;
  address.isVl15 = isVl15;
  address.slid = parsed.slid;
  address.dlid = parsed.dlid;
  address.serviceLevel = parsed.serviceLevel;
  address.pKey = parsed.pKey;
  address.destQpn = parsed.destQpn;
  address.sourceQpn = getDethSrcQpn(view, parsed.dethOffset);
  address.qKey = getDethQKey(view, parsed.dethOffset);
  address.grh = parsed.grhOffset < 0 || isVl15 ? undefined : copyBytes(view, parsed.grhOffset, GRH_SIZE);
  mad.set(new Uint8Array(view.buffer, view.byteOffset + parsed.payloadOffset, MAD_BYTES));
  return true;
}

function copyBytes(view: DataView, offset: number, lengthBytes: number): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset + offset, lengthBytes).slice();
}
