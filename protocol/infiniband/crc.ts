// SPDX-License-Identifier: Apache-2.0
/**
 * The two cyclic redundancy checks of InfiniBand packets (IBTA 7.8), over any range of a DataView.
 * Lookup tables take eight bytes per step. A state is the raw shift register: the caller starts
 * from all ones and complements the result. Long CRC-32 ranges go to the native zlib, long CRC-16
 * ranges to vectors; for short ones the call would cost more than the sum. `icrc.ts` and `vcrc.ts`
 * call these functions.
 */
import * as zlib from 'node:zlib';
import { FOLD_BYTES, FOLD_MAX_BYTES, makeVcrcFold } from './vcrc-fold.ts';

/** CRC-32 polynomial 0x04c11db7, reflected. */
const ICRC_POLYNOMIAL = 0xedb88320;
/** CRC-16 polynomial 0x100b, reflected. */
const VCRC_POLYNOMIAL = 0xd008;

/** Shortest range in bytes for which zlib is faster than the tables (measured). */
const NATIVE_FROM_BYTES = 320;

/** Shortest range in bytes that is folded first (measured). */
const FOLD_FROM_BYTES = 320;

/** Entry 256 * k + b is the effect of byte b with k more bytes after it. */
const icrcTable = slicingTable(ICRC_POLYNOMIAL);
const vcrcTable = slicingTable(VCRC_POLYNOMIAL);

/** Absent where there are no vectors. */
const vcrcFold = makeVcrcFold((word) => {
  let state = word;
  for (let index = 0; index < FOLD_BYTES; index++) state = vcrcTable[state & 0xff] ^ (state >>> 8);
  return state;
});

/** Absent before Node 20.15; the tables then serve every range. */
const nativeCrc32 = (zlib as { crc32?: (data: Uint8Array, value: number) => number }).crc32;

/** CRC-32 state after the bytes [from, to) of the view. */
export function continueIcrc(state: number, view: DataView, from: number, to: number): number {
  if (nativeCrc32 !== undefined && to - from >= NATIVE_FROM_BYTES) {
    return ~nativeCrc32(bytesOf(view, from, to - from), ~state >>> 0);
  }
  return slice(icrcTable, state, view, from, to);
}

/** CRC-16 state after the bytes [from, to) of the view. */
export function continueVcrc(state: number, view: DataView, from: number, to: number): number {
  const lengthBytes = to - from;
  if (vcrcFold === undefined || lengthBytes < FOLD_FROM_BYTES || lengthBytes > FOLD_MAX_BYTES)
    return slice(vcrcTable, state, view, from, to);
  const { bytes, view: folded, at } = vcrcFold;
  bytes.set(bytesOf(view, from, lengthBytes), at);
  folded.setUint16(at, folded.getUint16(at, true) ^ state, true);
  const steps = Math.floor(lengthBytes / FOLD_BYTES) - 1;
  vcrcFold.fold(at, steps);
  return slice(vcrcTable, 0, folded, at + steps * FOLD_BYTES, at + lengthBytes);
}

/** CRC-32 state after eight bytes given as two little-endian dwords. */
export function continueIcrcDwords(state: number, first: number, second: number): number {
  const table = icrcTable;
  const word = state ^ first;
  return (
    table[1792 + (word & 0xff)] ^
    table[1536 + ((word >>> 8) & 0xff)] ^
    table[1280 + ((word >>> 16) & 0xff)] ^
    table[1024 + (word >>> 24)] ^
    table[768 + (second & 0xff)] ^
    table[512 + ((second >>> 8) & 0xff)] ^
    table[256 + ((second >>> 16) & 0xff)] ^
    table[second >>> 24]
  );
}

function slice(table: Int32Array, start: number, view: DataView, from: number, to: number): number {
  let state = start | 0;
  // `| 0` here and below keeps the index a 32-bit integer, which saves a check per step.
  let at = from | 0;
  for (const end = (to - 7) | 0; at < end; at = (at + 8) | 0) {
    const word = state ^ view.getInt32(at, true);
    const next = view.getInt32((at + 4) | 0, true);
    state =
      table[1792 | (word & 0xff)] ^
      table[1536 | ((word >>> 8) & 0xff)] ^
      table[1280 | ((word >>> 16) & 0xff)] ^
      table[1024 | (word >>> 24)] ^
      table[768 | (next & 0xff)] ^
      table[512 | ((next >>> 8) & 0xff)] ^
      table[256 | ((next >>> 16) & 0xff)] ^
      table[next >>> 24];
  }
  if (to - at >= 4) {
    const word = state ^ view.getInt32(at, true);
    state =
      table[768 | (word & 0xff)] ^
      table[512 | ((word >>> 8) & 0xff)] ^
      table[256 | ((word >>> 16) & 0xff)] ^
      table[word >>> 24];
    at += 4;
  }
  for (; at < to; at++) state = table[(state ^ view.getUint8(at)) & 0xff] ^ (state >>> 8);
  return state;
}

function slicingTable(polynomial: number): Int32Array {
  const table = new Int32Array(8 * 256);
  for (let byte = 0; byte < 256; byte++) {
    let state = byte;
    for (let bit = 0; bit < 8; bit++) state = (state & 1) === 1 ? (state >>> 1) ^ polynomial : state >>> 1;
    table[byte] = state;
  }
  for (let index = 256; index < table.length; index++) {
    const before = table[index - 256];
    table[index] = (before >>> 8) ^ table[before & 0xff];
  }
  return table;
}

/**
 * Cache of views by position: bulk traffic reuses packet slots, and a new view per packet
 * allocates.
 */
const views: Uint8Array[] = new Array(64).fill(new Uint8Array(0));

function bytesOf(view: DataView, from: number, lengthBytes: number): Uint8Array {
  const offset = view.byteOffset + from;
  const slot = ((offset >>> 6) ^ lengthBytes) & 63;
  const known = views[slot];
  if (known.byteOffset === offset && known.length === lengthBytes && known.buffer === view.buffer) return known;
  const made = new Uint8Array(view.buffer, offset, lengthBytes);
  views[slot] = made;
  return made;
}
