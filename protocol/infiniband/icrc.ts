// SPDX-License-Identifier: Apache-2.0
/**
 * The invariant CRC covers the whole packet, with every field that may change on its way replaced
 * by ones (IBTA 7.8.1; RoCEv2: annex A17.3.3). The code masks the headers dword by dword in
 * registers, so it copies nothing; the masks come from the header tables. The ICRC is stored
 * little-endian after the payload. Packet builder and parser call these functions.
 */
import { continueIcrc, continueIcrcDwords } from './crc.ts';
import { BTH_SIZE, setBthBecn, setBthFecn, setBthReserved6 } from './gen/bth.gen.ts';
import { GRH_SIZE, setGrhFlowLabel, setGrhHopLimit, setGrhTrafficClass } from './gen/grh.gen.ts';
import { LRH_SIZE, setLrhVirtualLane } from './gen/lrh.gen.ts';

const ONES = 0xffffffff;

/** State after eight bytes of ones, which replace the LRH of a global or a RoCEv2 packet. */
const AFTER_ABSENT_LRH = continueIcrcDwords(ONES, ONES, ONES);

const mask = new DataView(new ArrayBuffer(GRH_SIZE));
setLrhVirtualLane(mask, 0, ONES);
const LRH_MASK = takeMask(0);
setGrhTrafficClass(mask, 0, ONES);
setGrhFlowLabel(mask, 0, ONES);
setGrhHopLimit(mask, 0, ONES);
const GRH_MASK_0 = takeMask(0);
const GRH_MASK_1 = takeMask(4);
setBthFecn(mask, 0, ONES);
setBthBecn(mask, 0, ONES);
setBthReserved6(mask, 0, ONES);
const BTH_MASK_1 = takeMask(4);

/**
 * Masks of variant IP and UDP fields: TOS; TTL and checksum; UDP checksum (little-endian dwords).
 */
const IPV4_MASK_0 = 0x0000ff00;
const IPV4_MASK_2 = 0xffff00ff;
const UDP_MASK_1 = 0xffff0000;
const UDP_SIZE = 8;
const IPV4_SIZE = 20;
const IPV6_SIZE = 40;

/**
 * ICRC of the native packet whose LRH is at `lrhOffset`, as stored little-endian at `icrcOffset`.
 * Signed, because V8 holds signed 32-bit numbers without allocation. The caller has checked that
 * LRH, GRH (if any) and BTH end before `icrcOffset`.
 */
export function computeIcrc(view: DataView, lrhOffset: number, hasGrh: boolean, icrcOffset: number): number {
  let state: number;
  let at = lrhOffset + LRH_SIZE;
  if (hasGrh) {
    state = maskGrh(AFTER_ABSENT_LRH, view, at);
    at += GRH_SIZE;
  } else {
    state = continueIcrcDwords(ONES, view.getInt32(lrhOffset, true) | LRH_MASK, view.getInt32(lrhOffset + 4, true));
  }
  return finish(maskBth(state, view, at), view, at + 8, icrcOffset);
}

/**
 * ICRC of a RoCEv2 packet whose IP header is at `ipOffset`: IPv4 without options or IPv6 without
 * extension headers, then UDP, then BTH. Signed; undefined for other packets.
 */
export function computeRoceIcrc(view: DataView, ipOffset: number, icrcOffset: number): number | undefined {
  const version = view.getUint8(ipOffset) >>> 4;
  const udp = ipOffset + (version === 6 ? IPV6_SIZE : IPV4_SIZE);
  if (udp + UDP_SIZE + BTH_SIZE > icrcOffset) return undefined;
  let state: number;
  if (version === 6) {
    state = maskGrh(AFTER_ABSENT_LRH, view, ipOffset);
    state = continueIcrcDwords(state, view.getInt32(udp, true), view.getInt32(udp + 4, true) | UDP_MASK_1);
  } else if (view.getUint8(ipOffset) === 0x45) {
    const at = ipOffset;
    state = continueIcrcDwords(AFTER_ABSENT_LRH, view.getInt32(at, true) | IPV4_MASK_0, view.getInt32(at + 4, true));
    state = continueIcrcDwords(state, view.getInt32(at + 8, true) | IPV4_MASK_2, view.getInt32(at + 12, true));
    state = continueIcrcDwords(state, view.getInt32(at + 16, true), view.getInt32(udp, true));
    // IPv4 and UDP are an odd number of dwords: the last one pairs with the first one of the BTH.
    const bth = udp + UDP_SIZE;
    state = continueIcrcDwords(state, view.getInt32(udp + 4, true) | UDP_MASK_1, view.getInt32(bth, true));
    const second = view.getInt32(bth + 4, true) | BTH_MASK_1;
    return finish(continueIcrcDwords(state, second, view.getInt32(bth + 8, true)), view, bth + BTH_SIZE, icrcOffset);
  } else {
    return undefined;
  }
  return finish(maskBth(state, view, udp + UDP_SIZE), view, udp + UDP_SIZE + 8, icrcOffset);
}

/** Reads the ICRC field, which is little-endian; signed. */
export function getIcrc(view: DataView, icrcOffset: number): number {
  return view.getInt32(icrcOffset, true);
}

/** Writes the ICRC field. */
export function setIcrc(view: DataView, icrcOffset: number, icrc: number): void {
  view.setInt32(icrcOffset, icrc, true);
}

function maskGrh(start: number, view: DataView, at: number): number {
  const state = continueIcrcDwords(
    start,
    view.getInt32(at, true) | GRH_MASK_0,
    view.getInt32(at + 4, true) | GRH_MASK_1,
  );
  return continueIcrc(state, view, at + 8, at + GRH_SIZE);
}

/** Adds the first eight bytes of a BTH; the rest of it is invariant. */
function maskBth(state: number, view: DataView, at: number): number {
  return continueIcrcDwords(state, view.getInt32(at, true), view.getInt32(at + 4, true) | BTH_MASK_1);
}

function finish(state: number, view: DataView, from: number, to: number): number {
  return ~continueIcrc(state, view, from, to);
}

function takeMask(offset: number): number {
  const value = mask.getInt32(offset, true);
  mask.setInt32(offset, 0, true);
  return value;
}
