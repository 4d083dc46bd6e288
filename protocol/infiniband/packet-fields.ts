// SPDX-License-Identifier: Apache-2.0
/**
 * All fields that a packet can carry, in one flat record: `buildPacket` writes them and
 * `readPacketFields` reads them back. `hasGrh` and the headers of the opcode decide which of them
 * apply. 64-bit values are two unsigned halves, because addresses and atomic operands of the remote
 * side are opaque.
 */
import { getAethMsn, getAethSyndromeKind, getAethSyndromeValue } from './gen/aeth.gen.ts';
import { getAtomicAckEthOriginalHigh, getAtomicAckEthOriginalLow } from './gen/atomic-ack-eth.gen.ts';
import {
  getAtomicEthCompareHigh,
  getAtomicEthCompareLow,
  getAtomicEthRKey,
  getAtomicEthSwapOrAddHigh,
  getAtomicEthSwapOrAddLow,
  getAtomicEthVirtualAddressHigh,
  getAtomicEthVirtualAddressLow,
} from './gen/atomic-eth.gen.ts';
import { getBthBecn, getBthFecn, getBthMigration } from './gen/bth.gen.ts';
import { getDethQKey, getDethSrcQpn } from './gen/deth.gen.ts';
import { getFethPlacementType, getFethSelectivity } from './gen/feth.gen.ts';
import { copyGrhDgidTo, copyGrhSgidTo, getGrhFlowLabel, getGrhHopLimit, getGrhTrafficClass } from './gen/grh.gen.ts';
import { getIethRKey } from './gen/ieth.gen.ts';
import { getImmDtImmediate } from './gen/imm-dt.gen.ts';
import { getRdethEeContext } from './gen/rdeth.gen.ts';
import { getRethDmaLength, getRethRKey, getRethVirtualAddressHigh, getRethVirtualAddressLow } from './gen/reth.gen.ts';
import { getXrcethXrcSrqn } from './gen/xrceth.gen.ts';
import type { ParsedPacket } from './packet.ts';

/** Fields of a packet; `headers.ts` describes each. */
export interface PacketFields {
  virtualLane: number;
  serviceLevel: number;
  dlid: number;
  slid: number;
  /** 1 for a global packet: the next three fields and both GIDs apply. */
  hasGrh: number;
  trafficClass: number;
  flowLabel: number;
  hopLimit: number;
  readonly sgid: Uint8Array;
  readonly dgid: Uint8Array;
  opcode: number;
  solicited: number;
  migration: number;
  pKey: number;
  fecn: number;
  becn: number;
  destQpn: number;
  ackRequest: number;
  psn: number;
  eeContext: number;
  xrcSrqn: number;
  qKey: number;
  srcQpn: number;
  selectivity: number;
  placementType: number;
  /** The next three fields are in the RETH and in the AtomicETH. */
  virtualAddressHigh: number;
  virtualAddressLow: number;
  rKey: number;
  dmaLength: number;
  swapOrAddHigh: number;
  swapOrAddLow: number;
  compareHigh: number;
  compareLow: number;
  syndromeKind: number;
  syndromeValue: number;
  msn: number;
  originalHigh: number;
  originalLow: number;
  immediate: number;
  invalidateRKey: number;
  /** Payload bytes without pad bytes. */
  payloadLengthBytes: number;
}

/** A new record: zeros, default P_Key, migrated path state. Callers reuse it. */
export function newPacketFields(): PacketFields {
  return {
    virtualLane: 0,
    serviceLevel: 0,
    dlid: 0,
    slid: 0,
    hasGrh: 0,
    trafficClass: 0,
    flowLabel: 0,
    hopLimit: 0,
    sgid: new Uint8Array(16),
    dgid: new Uint8Array(16),
    opcode: 0,
    solicited: 0,
    migration: 1,
    pKey: 0xffff,
    fecn: 0,
    becn: 0,
    destQpn: 0,
    ackRequest: 0,
    psn: 0,
    eeContext: 0,
    xrcSrqn: 0,
    qKey: 0,
    srcQpn: 0,
    selectivity: 0,
    placementType: 0,
    virtualAddressHigh: 0,
    virtualAddressLow: 0,
    rKey: 0,
    dmaLength: 0,
    swapOrAddHigh: 0,
    swapOrAddLow: 0,
    compareHigh: 0,
    compareLow: 0,
    syndromeKind: 0,
    syndromeValue: 0,
    msn: 0,
    originalHigh: 0,
    originalLow: 0,
    immediate: 0,
    invalidateRKey: 0,
    payloadLengthBytes: 0,
  };
}

/**
 * Reads all fields of a packet that parsed without error; fields of absent headers keep their
 * values.
 */
export function readPacketFields(view: DataView, parsed: Readonly<ParsedPacket>, into: PacketFields): PacketFields {
  into.virtualLane = parsed.virtualLane;
  into.serviceLevel = parsed.serviceLevel;
  into.dlid = parsed.dlid;
  into.slid = parsed.slid;
  into.opcode = parsed.opcode;
  into.solicited = parsed.solicited;
  into.pKey = parsed.pKey;
  into.destQpn = parsed.destQpn;
  into.ackRequest = parsed.ackRequest;
  into.psn = parsed.psn;
  into.payloadLengthBytes = parsed.payloadLengthBytes;
  into.migration = getBthMigration(view, parsed.bthOffset);
  into.fecn = getBthFecn(view, parsed.bthOffset);
  into.becn = getBthBecn(view, parsed.bthOffset);
  into.hasGrh = parsed.grhOffset < 0 ? 0 : 1;
  if (parsed.grhOffset >= 0) readGrh(view, parsed.grhOffset, into);
  readRequestHeaders(view, parsed, into);
  readResponseHeaders(view, parsed, into);
  return into;
}

function readGrh(view: DataView, at: number, into: PacketFields): void {
  into.trafficClass = getGrhTrafficClass(view, at);
  into.flowLabel = getGrhFlowLabel(view, at);
  into.hopLimit = getGrhHopLimit(view, at);
  copyGrhSgidTo(view, at, into.sgid, 0);
  copyGrhDgidTo(view, at, into.dgid, 0);
}

function readRequestHeaders(view: DataView, parsed: Readonly<ParsedPacket>, into: PacketFields): void {
  if (parsed.rdethOffset >= 0) into.eeContext = getRdethEeContext(view, parsed.rdethOffset);
  if (parsed.xrcethOffset >= 0) into.xrcSrqn = getXrcethXrcSrqn(view, parsed.xrcethOffset);
  if (parsed.dethOffset >= 0) {
    into.qKey = getDethQKey(view, parsed.dethOffset);
    into.srcQpn = getDethSrcQpn(view, parsed.dethOffset);
  }
  if (parsed.fethOffset >= 0) {
    into.selectivity = getFethSelectivity(view, parsed.fethOffset);
    into.placementType = getFethPlacementType(view, parsed.fethOffset);
  }
  if (parsed.rethOffset >= 0) {
    into.virtualAddressHigh = getRethVirtualAddressHigh(view, parsed.rethOffset);
    into.virtualAddressLow = getRethVirtualAddressLow(view, parsed.rethOffset);
    into.rKey = getRethRKey(view, parsed.rethOffset);
    into.dmaLength = getRethDmaLength(view, parsed.rethOffset);
  }
  if (parsed.atomicEthOffset >= 0) readAtomic(view, parsed.atomicEthOffset, into);
  if (parsed.immDtOffset >= 0) into.immediate = getImmDtImmediate(view, parsed.immDtOffset);
  if (parsed.iethOffset >= 0) into.invalidateRKey = getIethRKey(view, parsed.iethOffset);
}

function readAtomic(view: DataView, at: number, into: PacketFields): void {
  into.virtualAddressHigh = getAtomicEthVirtualAddressHigh(view, at);
  into.virtualAddressLow = getAtomicEthVirtualAddressLow(view, at);
  into.rKey = getAtomicEthRKey(view, at);
  into.swapOrAddHigh = getAtomicEthSwapOrAddHigh(view, at);
  into.swapOrAddLow = getAtomicEthSwapOrAddLow(view, at);
  into.compareHigh = getAtomicEthCompareHigh(view, at);
  into.compareLow = getAtomicEthCompareLow(view, at);
}

function readResponseHeaders(view: DataView, parsed: Readonly<ParsedPacket>, into: PacketFields): void {
  if (parsed.aethOffset >= 0) {
    into.syndromeKind = getAethSyndromeKind(view, parsed.aethOffset);
    into.syndromeValue = getAethSyndromeValue(view, parsed.aethOffset);
    into.msn = getAethMsn(view, parsed.aethOffset);
  }
  if (parsed.atomicAckEthOffset >= 0) {
    into.originalHigh = getAtomicAckEthOriginalHigh(view, parsed.atomicAckEthOffset);
    into.originalLow = getAtomicAckEthOriginalLow(view, parsed.atomicAckEthOffset);
  }
}
