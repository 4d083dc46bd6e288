// SPDX-License-Identifier: Apache-2.0
/**
 * Reads and writes the fields of a structure table bit by bit, straight from its rows. It shares no
 * code with the generator and is slow. The tests of the generated accessors and the test of the
 * management command fields use it.
 */
import type { FieldRow, StructTable } from '../layout/table.ts';

/** Offset of a row in bits from the start, and its width. */
export interface RowPlace {
  /** Undefined: reserved. */
  readonly name: string | undefined;
  readonly first: number;
  readonly width: number;
  /** A byte array. */
  readonly array: boolean;
  /** For a row of an array: its name in the table, without the index. */
  readonly element?: { readonly name: string | undefined; readonly index: number };
}

/** The place of a row that has a name. */
export interface FieldPlace extends RowPlace {
  readonly name: string;
}

/** Place of each row, including reserved ones. */
export function rowPlaces(table: StructTable): RowPlace[] {
  const places: RowPlace[] = [];
  let first = 0;
  const add = ({ name, bits, bytes }: FieldRow, index?: number): void => {
    const width = bits ?? 8 * (bytes ?? 0);
    const place = { name, first, width, array: bytes !== undefined };
    if (index === undefined) places.push(place);
    else places.push({ ...place, name: name && `${name}${index}`, element: { name, index } });
    first += width;
  };
  for (const row of table.fields) {
    if (!('element' in row)) add(row);
    else for (let index = 0; index < row.count; index++) for (const field of row.element) add(field, index);
  }
  return places;
}

/** Place of each field. */
export function fieldPlaces(table: StructTable): FieldPlace[] {
  return rowPlaces(table).filter((place): place is FieldPlace => place.name !== undefined);
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

/** The part of `Random` (`device/random.ts`) that this file needs. */
interface RandomNumbers {
  /** 32 bits, unsigned. */
  next(): number;
  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number;
}

/** Random values for every scalar field; 64-bit ones stay below 2^53 unless opaque. */
export function randomValues(table: StructTable, random: RandomNumbers): Map<string, bigint> {
  const values = new Map<string, bigint>();
  for (const { name, width, array } of fieldPlaces(table)) {
    if (array) continue;
    const opaque = isOpaque(table, name);
    const bits = BigInt(width === 64 && !opaque ? 53 : width);
    const drawn = (BigInt(random.next()) << 32n) | BigInt(random.next());
    // A quarter of the draws are the extremes, which show mistakes of sign and carry.
    const kind = random.below(8);
    values.set(name, kind === 0 ? (1n << bits) - 1n : kind === 1 ? 1n << (bits - 1n) : drawn & ((1n << bits) - 1n));
  }
  return values;
}

/** True for a field that a record holds as two halves; fields of arrays are in no record. */
export function isOpaque(table: StructTable, name: string): boolean {
  return table.fields.some((row) => 'name' in row && row.name === name && row.opaque === true);
}

/** The bytes of a structure that holds `values`, all else zero. */
export function referenceBytes(table: StructTable, values: ReadonlyMap<string, bigint>): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(table.sizeBytes);
  for (const { name, first, width, array } of fieldPlaces(table)) {
    if (!array) writeBits(table, bytes, first, width, values.get(name) ?? 0n);
  }
  return bytes;
}
