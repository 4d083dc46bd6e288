// SPDX-License-Identifier: Apache-2.0
/**
 * Bits of a big-endian context of a queue pair. Commands that move a queue pair take over single
 * fields (IBTA 11.2.5.2); each personality has its own list of them.
 */

/** Bits of a dword of the context. */
export type ContextBits = readonly [offset: number, mask: number];

/** A mask of all bits of a dword. */
export const ALL_BITS = 0xffffffff;

const DWORD_BYTES = 4;

/** Offset of the dword that holds a byte. */
export function dwordOf(offset: number): number {
  return offset - (offset % DWORD_BYTES);
}

/** All bits of the dwords from `from` to before `to`. */
export function wholeDwords(from: number, to: number): ContextBits[] {
  return Array.from({ length: (to - from) / DWORD_BYTES }, (_, index) => [from + index * DWORD_BYTES, ALL_BITS]);
}

/** Takes over bits from the context at `at` of `source`. */
export function mergeBits(target: DataView, source: DataView, at: number, bits: readonly ContextBits[]): void {
  for (const [offset, mask] of bits) {
    const kept = target.getUint32(offset) & ~mask;
    target.setUint32(offset, kept | (source.getUint32(at + offset) & mask));
  }
}
