// SPDX-License-Identifier: Apache-2.0
/**
 * A slow reference for the generated accessors: reads and writes a table's fields bit by bit,
 * straight from the rows, and shares no code with the generator. Called by tests only.
 */
import type { StructTable } from '../../protocol/layout/table.ts';
import type { Random } from '../../protocol/testing/random.ts';

/** The place of each named row, in bits from the start, and its width. */
export function fieldPlaces(table: StructTable): { name: string; first: number; width: number; array: boolean }[] {
  const places = [];
  let first = 0;
  for (const row of table.fields) {
    const width = row.bits ?? 8 * (row.bytes ?? 0);
    if (row.name !== undefined) places.push({ name: row.name, first, width, array: row.bytes !== undefined });
    first += width;
  }
  return places;
}

/** Value of `width` bits that start `first` bits into the structure. */
export function readBits(table: StructTable, bytes: Uint8Array, first: number, width: number): bigint {
  let value = 0n;
  for (let index = 0; index < width; index++) {
    const bit = first + index;
    if (table.endian === 'little') {
      value += BigInt((bytes[bit >> 3] >> (bit & 7)) & 1) << BigInt(index);
    } else {
      value = value * 2n + BigInt((bytes[bit >> 3] >> (7 - (bit & 7))) & 1);
    }
  }
  return value;
}

/** Stores `value` into `width` bits that start `first` bits into the structure; other bits stay. */
export function writeBits(table: StructTable, bytes: Uint8Array, first: number, width: number, value: bigint): void {
  for (let index = 0; index < width; index++) {
    const bit = first + index;
    const little = table.endian === 'little';
    const one = (value >> BigInt(little ? index : width - 1 - index)) & 1n;
    const mask = 1 << (little ? bit & 7 : 7 - (bit & 7));
    bytes[bit >> 3] = one === 1n ? bytes[bit >> 3] | mask : bytes[bit >> 3] & ~mask;
  }
}

/** Random values for every scalar field; 64-bit ones stay below 2^53 unless opaque. */
export function randomValues(table: StructTable, random: Random): Map<string, bigint> {
  const values = new Map<string, bigint>();
  for (const { name, width, array } of fieldPlaces(table)) {
    if (array) continue;
    const opaque = table.fields.find((row) => row.name === name)?.opaque === true;
    const bits = BigInt(width === 64 && !opaque ? 53 : width);
    const drawn = (BigInt(random.uint32()) << 32n) | BigInt(random.uint32());
    // A quarter of the draws are the extremes, which show mistakes of sign and carry.
    const kind = random.below(8);
    values.set(name, kind === 0 ? (1n << bits) - 1n : kind === 1 ? 1n << (bits - 1n) : drawn & ((1n << bits) - 1n));
  }
  return values;
}

/** The bytes of a structure that holds `values`, all else zero. */
export function referenceBytes(table: StructTable, values: ReadonlyMap<string, bigint>): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(table.sizeBytes);
  for (const { name, first, width, array } of fieldPlaces(table)) {
    if (!array) writeBits(table, bytes, first, width, values.get(name) ?? 0n);
  }
  return bytes;
}
