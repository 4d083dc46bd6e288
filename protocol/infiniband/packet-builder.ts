// SPDX-License-Identifier: Apache-2.0
/**
 * Builds native InfiniBand packets in place. The caller puts the payload at `payloadStart`, by DMA
 * for example; `buildPacket` then writes the headers before it, and pad and CRCs after it.
 * Requester and responder call it for each packet. It allocates nothing and copies no payload.
 */
import { AETH_SIZE, encodeAeth } from './gen/aeth.gen.ts';
import { encodeAtomicAckEth } from './gen/atomic-ack-eth.gen.ts';
import { encodeAtomicEth } from './gen/atomic-eth.gen.ts';
import { BTH_SIZE, encodeBth, newBth } from './gen/bth.gen.ts';
import { encodeDeth } from './gen/deth.gen.ts';
import { encodeFeth } from './gen/feth.gen.ts';
import { copyGrhDgidFrom, copyGrhSgidFrom, encodeGrh, GRH_SIZE, newGrh } from './gen/grh.gen.ts';
import { setIethRKey } from './gen/ieth.gen.ts';
import { encodeImmDt } from './gen/imm-dt.gen.ts';
import { encodeLrh, getLrhLinkNextHeader, LRH_SIZE, newLrh } from './gen/lrh.gen.ts';
import { encodeRdeth } from './gen/rdeth.gen.ts';
import { encodeReth, RETH_SIZE } from './gen/reth.gen.ts';
import { LinkNextHeader } from './gen/values.gen.ts';
import { encodeXrceth } from './gen/xrceth.gen.ts';
import { computeIcrc, setIcrc } from './icrc.ts';
import {
  aethDistance,
  atomicAckEthDistance,
  atomicEthDistance,
  dethDistance,
  fethDistance,
  iethDistance,
  immDtDistance,
  opcodeHeaderBytes,
  rdethDistance,
  rethDistance,
  xrcethDistance,
} from './opcodes.ts';
import { GRH_NEXT_HEADER_IBA, ICRC_SIZE, PacketCheck } from './packet.ts';
import type { PacketFields } from './packet-fields.ts';
import { computeVcrc, setVcrc, VCRC_SIZE } from './vcrc.ts';

const lrh = newLrh();
const grh = newGrh();
const bth = newBth();

/** Bytes from the LRH to the payload of a packet; `opcode` must not be reserved. */
export function payloadStart(opcode: number, hasGrh: number): number {
  return LRH_SIZE + (hasGrh === 0 ? 0 : GRH_SIZE) + opcodeHeaderBytes[opcode];
}

/** Bytes of the whole packet, from LRH to VCRC. */
export function packetLengthBytes(opcode: number, hasGrh: number, payloadLengthBytes: number): number {
  return payloadStart(opcode, hasGrh) + ((payloadLengthBytes + 3) & ~3) + ICRC_SIZE + VCRC_SIZE;
}

/**
 * Writes a packet around the payload at `offset + payloadStart(opcode, hasGrh)`; returns its length
 * in bytes. The view must have room for `packetLengthBytes(...)` bytes at `offset`. `crcs` is a sum
 * of `PacketCheck` values: transport leaves both CRCs to the port, which knows the VL and whether
 * anything checks them. A CRC that is left out is stored as 0.
 */
export function buildPacket(
  view: DataView,
  offset: number,
  fields: Readonly<PacketFields>,
  crcs: number = PacketCheck.ALL,
): number {
  const { opcode, hasGrh, payloadLengthBytes } = fields;
  const padCount = -payloadLengthBytes & 3;
  const payload = offset + payloadStart(opcode, hasGrh);
  const icrcOffset = payload + payloadLengthBytes + padCount;
  for (let at = icrcOffset - padCount; at < icrcOffset; at++) view.setUint8(at, 0);
  writeLrh(view, offset, icrcOffset + ICRC_SIZE - offset, fields);
  const bthOffset = payload - opcodeHeaderBytes[opcode];
  if (hasGrh !== 0) writeGrh(view, offset + LRH_SIZE, icrcOffset + ICRC_SIZE - bthOffset, fields);
  writeBth(view, bthOffset, padCount, fields);
  writeExtensions(view, bthOffset, fields);
  return sealPacket(view, offset, hasGrh, icrcOffset, crcs);
}

/** Stores the CRCs of a packet that is complete up to `icrcOffset`; returns its length in bytes. */
export function sealPacket(
  view: DataView,
  offset: number,
  hasGrh: number,
  icrcOffset: number,
  crcs: number = PacketCheck.ALL,
): number {
  const vcrcOffset = icrcOffset + ICRC_SIZE;
  setIcrc(view, icrcOffset, (crcs & PacketCheck.ICRC) === 0 ? 0 : computeIcrc(view, offset, hasGrh !== 0, icrcOffset));
  setVcrc(view, vcrcOffset, (crcs & PacketCheck.VCRC) === 0 ? 0 : computeVcrc(view, offset, vcrcOffset));
  return vcrcOffset + VCRC_SIZE - offset;
}

/**
 * Stores the CRCs of a packet of `lengthBytes` that is complete except for them. A raw packet has
 * no ICRC (IBTA 7.8.1).
 */
export function sealWhole(view: DataView, offset: number, lengthBytes: number): void {
  const vcrcOffset = offset + lengthBytes - VCRC_SIZE;
  const next = getLrhLinkNextHeader(view, offset);
  if (next < LinkNextHeader.BTH) resealVcrc(view, offset, vcrcOffset);
  else sealPacket(view, offset, next === LinkNextHeader.GRH ? 1 : 0, vcrcOffset - ICRC_SIZE);
}

/**
 * Stores a new VCRC, after a link changed the VL for example; returns the packet length in bytes.
 */
export function resealVcrc(view: DataView, offset: number, vcrcOffset: number): number {
  setVcrc(view, vcrcOffset, computeVcrc(view, offset, vcrcOffset));
  return vcrcOffset + VCRC_SIZE - offset;
}

function writeLrh(view: DataView, at: number, coveredBytes: number, fields: Readonly<PacketFields>): void {
  lrh.virtualLane = fields.virtualLane;
  lrh.serviceLevel = fields.serviceLevel;
  lrh.linkNextHeader = fields.hasGrh === 0 ? LinkNextHeader.BTH : LinkNextHeader.GRH;
  lrh.dlid = fields.dlid;
  lrh.packetLength = coveredBytes >>> 2;
  lrh.slid = fields.slid;
  encodeLrh(view, at, lrh);
}

function writeGrh(view: DataView, at: number, coveredBytes: number, fields: Readonly<PacketFields>): void {
  grh.ipVersion = 6;
  grh.trafficClass = fields.trafficClass;
  grh.flowLabel = fields.flowLabel;
  grh.payloadLength = coveredBytes;
  grh.nextHeader = GRH_NEXT_HEADER_IBA;
  grh.hopLimit = fields.hopLimit;
  encodeGrh(view, at, grh);
  copyGrhSgidFrom(view, at, fields.sgid, 0);
  copyGrhDgidFrom(view, at, fields.dgid, 0);
}

function writeBth(view: DataView, at: number, padCount: number, fields: Readonly<PacketFields>): void {
  bth.opcode = fields.opcode;
  bth.solicited = fields.solicited;
  bth.migration = fields.migration;
  bth.padCount = padCount;
  bth.pKey = fields.pKey;
  bth.fecn = fields.fecn;
  bth.becn = fields.becn;
  bth.destQpn = fields.destQpn;
  bth.ackRequest = fields.ackRequest;
  bth.psn = fields.psn;
  encodeBth(view, at, bth);
}

/** `fields` has a member for each field of these headers, so it serves as the record of each. */
function writeExtensions(view: DataView, at: number, fields: Readonly<PacketFields>): void {
  const { opcode } = fields;
  const extensionBytes = opcodeHeaderBytes[opcode] - BTH_SIZE;
  if (extensionBytes === 0) return;
  // Most packets with extension headers carry just one of these two.
  if (extensionBytes === RETH_SIZE && rethDistance[opcode] !== 0) return encodeReth(view, at + BTH_SIZE, fields);
  if (extensionBytes === AETH_SIZE && aethDistance[opcode] !== 0) return encodeAeth(view, at + BTH_SIZE, fields);
  if (rdethDistance[opcode] !== 0) encodeRdeth(view, at + rdethDistance[opcode], fields);
  if (xrcethDistance[opcode] !== 0) encodeXrceth(view, at + xrcethDistance[opcode], fields);
  if (dethDistance[opcode] !== 0) encodeDeth(view, at + dethDistance[opcode], fields);
  if (fethDistance[opcode] !== 0) encodeFeth(view, at + fethDistance[opcode], fields);
  if (rethDistance[opcode] !== 0) encodeReth(view, at + rethDistance[opcode], fields);
  if (atomicEthDistance[opcode] !== 0) encodeAtomicEth(view, at + atomicEthDistance[opcode], fields);
  if (aethDistance[opcode] !== 0) encodeAeth(view, at + aethDistance[opcode], fields);
  if (atomicAckEthDistance[opcode] !== 0) encodeAtomicAckEth(view, at + atomicAckEthDistance[opcode], fields);
  if (immDtDistance[opcode] !== 0) encodeImmDt(view, at + immDtDistance[opcode], fields);
  if (iethDistance[opcode] !== 0) setIethRKey(view, at + iethDistance[opcode], fields.invalidateRKey);
}
