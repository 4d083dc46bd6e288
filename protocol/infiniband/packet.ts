// SPDX-License-Identifier: Apache-2.0
/**
 * Parses native InfiniBand packets, from LRH to VCRC, into a reused record of offsets and of the
 * fields that every receiver needs (IBTA 7.3 and 9.6). Malformed bytes give a cause of the
 * `packet-error` table, never an exception. Ports and transport call it for each packet; it
 * allocates nothing.
 */
import { BTH_SIZE, type Bth, decodeBth } from './gen/bth.gen.ts';
import { GRH_SIZE, getGrhIpVersion, getGrhNextHeader, getGrhPayloadLength } from './gen/grh.gen.ts';
import { decodeLrh, LRH_SIZE, type Lrh } from './gen/lrh.gen.ts';
import { LinkNextHeader, PacketError } from './gen/values.gen.ts';
import { computeIcrc, getIcrc } from './icrc.ts';
import {
  aethDistance,
  atomicAckEthDistance,
  atomicEthDistance,
  dethDistance,
  fethDistance,
  iethDistance,
  immDtDistance,
  OpcodeFlag,
  opcodeFlags,
  opcodeHeaderBytes,
  rareHeaders,
  rdethDistance,
  rethDistance,
  xrcethDistance,
} from './opcodes.ts';
import { computeVcrc, getVcrc, VCRC_SIZE } from './vcrc.ts';

export { PacketError, packetErrorName } from './gen/values.gen.ts';

/** Size of the ICRC field in bytes. */
export const ICRC_SIZE = 4;

/** Value of GRH NxtHdr in an InfiniBand transport packet. */
export const GRH_NEXT_HEADER_IBA = 0x1b;

/** Size of the smallest packet in bytes: LRH, BTH, ICRC, VCRC. */
const SMALLEST = LRH_SIZE + BTH_SIZE + ICRC_SIZE + VCRC_SIZE;

/** Checks of the parser besides those of structure; the values add up. */
export const PacketCheck = { NONE: 0, ICRC: 1, VCRC: 2, ALL: 3 } as const;

/** Offset of each part in the view, -1 if absent, and the fields of LRH and BTH. */
export interface ParsedPacket extends Lrh, Bth {
  /** A `PacketError`; fields that the parser did not reach hold old values. */
  error: number;
  lrhOffset: number;
  lengthBytes: number;
  grhOffset: number;
  bthOffset: number;
  rdethOffset: number;
  xrcethOffset: number;
  dethOffset: number;
  fethOffset: number;
  rethOffset: number;
  atomicEthOffset: number;
  aethOffset: number;
  atomicAckEthOffset: number;
  immDtOffset: number;
  iethOffset: number;
  /** True when one of the offsets of rare headers is not -1. */
  hasRareHeader: boolean;
  payloadOffset: number;
  /** Payload bytes without pad bytes. */
  payloadLengthBytes: number;
  icrcOffset: number;
  vcrcOffset: number;
  /** `OpcodeFlag` bits of the opcode. */
  flags: number;
}

/** A new record, which callers reuse. */
export function newParsedPacket(): ParsedPacket {
  return {
    error: PacketError.TRUNCATED,
    lrhOffset: 0,
    lengthBytes: 0,
    grhOffset: -1,
    bthOffset: -1,
    rdethOffset: -1,
    xrcethOffset: -1,
    dethOffset: -1,
    fethOffset: -1,
    rethOffset: -1,
    atomicEthOffset: -1,
    aethOffset: -1,
    atomicAckEthOffset: -1,
    immDtOffset: -1,
    iethOffset: -1,
    hasRareHeader: false,
    payloadOffset: -1,
    payloadLengthBytes: 0,
    icrcOffset: -1,
    vcrcOffset: -1,
    flags: 0,
    virtualLane: 0,
    linkVersion: 0,
    serviceLevel: 0,
    linkNextHeader: 0,
    dlid: 0,
    packetLength: 0,
    slid: 0,
    opcode: 0,
    solicited: 0,
    migration: 0,
    padCount: 0,
    transportVersion: 0,
    pKey: 0,
    fecn: 0,
    becn: 0,
    reserved6: 0,
    destQpn: 0,
    ackRequest: 0,
    reserved7: 0,
    psn: 0,
  };
}

/**
 * Parses the `lengthBytes` bytes at `offset` (LRH to VCRC) into `into` and returns `into.error`.
 * `checks` is a sum of `PacketCheck` values: a link inside one process skips the check of CRCs that
 * the sender has just computed.
 */
export function parsePacket(
  view: DataView,
  offset: number,
  lengthBytes: number,
  into: ParsedPacket,
  checks: number = PacketCheck.ALL,
): number {
  into.lrhOffset = offset;
  into.lengthBytes = lengthBytes;
  let error: number = parseLink(view, into, checks);
  if (error === PacketError.NONE) error = checkNetwork(view, into);
  if (error === PacketError.NONE) error = parseTransport(view, into);
  into.error = error;
  return error;
}

function parseLink(view: DataView, into: ParsedPacket, checks: number): number {
  const { lrhOffset, lengthBytes } = into;
  if (lengthBytes < SMALLEST || lrhOffset < 0 || lrhOffset + lengthBytes > view.byteLength)
    return PacketError.TRUNCATED;
  decodeLrh(view, lrhOffset, into);
  if (into.linkVersion !== 0) return PacketError.BAD_LINK_VERSION;
  const next = into.linkNextHeader;
  if (next < LinkNextHeader.BTH) return PacketError.BAD_LINK_NEXT_HEADER;
  const hasGrh = next === LinkNextHeader.GRH;
  const covered = into.packetLength * 4;
  if (covered + VCRC_SIZE !== lengthBytes) return PacketError.BAD_PACKET_LENGTH;
  into.grhOffset = hasGrh ? lrhOffset + LRH_SIZE : -1;
  into.bthOffset = lrhOffset + LRH_SIZE + (hasGrh ? GRH_SIZE : 0);
  into.vcrcOffset = lrhOffset + covered;
  into.icrcOffset = into.vcrcOffset - ICRC_SIZE;
  if (into.bthOffset + BTH_SIZE > into.icrcOffset) return PacketError.TRUNCATED;
  if (
    (checks & PacketCheck.VCRC) !== 0 &&
    computeVcrc(view, lrhOffset, into.vcrcOffset) !== getVcrc(view, into.vcrcOffset)
  ) {
    return PacketError.BAD_VCRC;
  }
  if (
    (checks & PacketCheck.ICRC) !== 0 &&
    computeIcrc(view, lrhOffset, hasGrh, into.icrcOffset) !== getIcrc(view, into.icrcOffset)
  ) {
    return PacketError.BAD_ICRC;
  }
  return PacketError.NONE;
}

function checkNetwork(view: DataView, { grhOffset, vcrcOffset }: ParsedPacket): number {
  if (grhOffset < 0) return PacketError.NONE;
  if (getGrhIpVersion(view, grhOffset) !== 6) return PacketError.BAD_IP_VERSION;
  if (getGrhNextHeader(view, grhOffset) !== GRH_NEXT_HEADER_IBA) return PacketError.BAD_NEXT_HEADER;
  if (getGrhPayloadLength(view, grhOffset) !== vcrcOffset - grhOffset - GRH_SIZE) return PacketError.BAD_PAYLOAD_LENGTH;
  return PacketError.NONE;
}

function parseTransport(view: DataView, into: ParsedPacket): number {
  const bth = into.bthOffset;
  const { opcode } = decodeBth(view, bth, into);
  into.flags = opcodeFlags[opcode];
  if (into.transportVersion !== 0) return PacketError.BAD_TRANSPORT_VERSION;
  if (into.flags === 0) return PacketError.UNKNOWN_OPCODE;
  locateExtensions(bth, opcode, into);
  into.payloadOffset = bth + opcodeHeaderBytes[opcode];
  const padded = into.icrcOffset - into.payloadOffset;
  if (padded < 0) return PacketError.MISSING_HEADER;
  into.payloadLengthBytes = padded - into.padCount;
  if (into.payloadLengthBytes < 0) return PacketError.BAD_PAD;
  if (padded > 0 && (into.flags & OpcodeFlag.PAYLOAD) === 0) return PacketError.UNEXPECTED_PAYLOAD;
  return PacketError.NONE;
}

/** Most packets have at most a DETH, a RETH or an AETH; offsets of others stay at -1 then. */
function locateExtensions(bth: number, opcode: number, into: ParsedPacket): void {
  into.dethOffset = place(bth, dethDistance[opcode]);
  into.rethOffset = place(bth, rethDistance[opcode]);
  into.aethOffset = place(bth, aethDistance[opcode]);
  const hasRareHeader = rareHeaders[opcode] !== 0;
  if (!hasRareHeader && !into.hasRareHeader) return;
  into.hasRareHeader = hasRareHeader;
  into.rdethOffset = place(bth, rdethDistance[opcode]);
  into.xrcethOffset = place(bth, xrcethDistance[opcode]);
  into.fethOffset = place(bth, fethDistance[opcode]);
  into.atomicEthOffset = place(bth, atomicEthDistance[opcode]);
  into.atomicAckEthOffset = place(bth, atomicAckEthDistance[opcode]);
  into.immDtOffset = place(bth, immDtDistance[opcode]);
  into.iethOffset = place(bth, iethDistance[opcode]);
}

function place(bth: number, distance: number): number {
  return distance === 0 ? -1 : bth + distance;
}
