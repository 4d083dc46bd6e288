// SPDX-License-Identifier: Apache-2.0
/**
 * Turns the rows of a structure table into absolute positions, arrays into numbered fields, and
 * refuses tables that contradict themselves. Offsets follow from order, so overlaps and gaps cannot
 * occur; the checks cover asserted offsets and sizes, fields that straddle a dword, misaligned
 * 64-bit fields, elements of arrays, and names. Every emitter works from the resolved form alone.
 */
import type { ArrayRow, FieldRow, StructTable } from '../../protocol/layout/table.ts';
import { widthOf } from '../../protocol/layout/table-rows.ts';
import { ones } from './names.ts';

/** A contradiction in a table; the message names table and row. */
export class TableError extends Error {}

/**
 * `bits`: 1 to 32 bits inside one aligned dword; `wide`: 64 bits; `bytes`: an opaque byte array.
 */
export type FieldKind = 'bits' | 'wide' | 'bytes';

/** One named field at its place. */
export interface ResolvedField {
  readonly row: FieldRow;
  readonly name: string;
  readonly kind: FieldKind;
  /** Distance in bits from the start of the structure, in the order of the table. */
  readonly bitOffset: number;
  readonly widthBits: number;
  /**
   * Byte offset of the aligned dword that holds a `bits` field; of the first byte for the other
   * kinds.
   */
  readonly dwordOffset: number;
  /** Position of the least significant bit in that dword, read in the byte order of the table. */
  readonly shift: number;
  /** For a field of an array. */
  readonly element?: ArrayElement;
}

/** The element of an array that a field belongs to. */
export interface ArrayElement {
  /** Name of the field in the row; that of the field has the index after it. */
  readonly name: string;
  readonly index: number;
  readonly count: number;
  readonly strideBits: number;
}

export interface ResolvedStruct {
  readonly table: StructTable;
  readonly fields: readonly ResolvedField[];
  /** Bytes of arrays and of 64-bit fields; others are written with their dword. */
  readonly ownBytes: ReadonlySet<number>;
}

/** The smallest naturally aligned 1, 2 or 4 byte unit that holds a `bits` field. */
export interface Container {
  readonly bytes: 1 | 2 | 4;
  readonly offset: number;
  readonly shift: number;
}

/** Resolves a structure; throws TableError. `valueTables` are the names a field may refer to. */
export function resolveStruct(table: StructTable, valueTables: ReadonlySet<string>): ResolvedStruct {
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(table.name)) {
    throw new TableError(`structure "${table.name}": the name must be kebab-case`);
  }
  const fields: ResolvedField[] = [];
  const arrayBytes: number[] = [];
  let position = 0;
  const add = (where: string, row: FieldRow, element?: ArrayElement): void => {
    checkRow(where, row, position, valueTables);
    if (row.name !== undefined) {
      const name = element === undefined ? row.name : `${row.name}${element.index}`;
      if (fields.some((field) => field.name === name)) throw new TableError(`${where}: the name is used twice`);
      fields.push({ ...resolveField(where, table, row, name, position), ...(element && { element }) });
    }
    position += widthOf(row);
  };
  for (const [index, row] of table.fields.entries()) {
    if (!('element' in row)) {
      add(rowName(table.name, index, row.name), row);
      continue;
    }
    checkArray(rowName(table.name, index, 'array'), row, position);
    const firstByte = position / 8;
    for (const element of elementsOf(row)) add(rowName(table.name, index, element.name), element.row, element.element);
    for (let byte = firstByte; byte < position / 8; byte++) arrayBytes.push(byte);
  }
  if (position !== table.sizeBytes * 8) {
    throw new TableError(
      `structure "${table.name}": the rows add up to ${inBytes(position)}, the table says ${table.sizeBytes} bytes`,
    );
  }
  checkSizes(table, fields);
  checkElements(table, fields);
  return { table, fields, ownBytes: new Set([...arrayBytes, ...bytesOutsideDwords(fields)]) };
}

/** Bytes of byte arrays and of 64-bit fields. */
export function bytesOutsideDwords(fields: readonly ResolvedField[]): Set<number> {
  const outside = fields.filter(({ kind }) => kind !== 'bits');
  return new Set(
    outside.flatMap((field) => Array.from({ length: bytesTouched(field) }, (_, n) => firstByte(field) + n)),
  );
}

/** Fields of all elements, in order. */
function elementsOf(row: ArrayRow): { row: FieldRow; name: string | undefined; element: ArrayElement }[] {
  const strideBits = widthOfAll(row.element);
  return Array.from({ length: row.count }, (_, index) =>
    row.element.map((field) => ({
      row: field,
      name: field.name,
      element: { name: field.name ?? '', index, count: row.count, strideBits },
    })),
  ).flat();
}

/** `structure "x", row 3 (qpn)`; rows count from 1. */
function rowName(table: string, index: number, name: string | undefined): string {
  return `structure "${table}", row ${index + 1} (${name ?? 'reserved'})`;
}

/** The smallest aligned unit holding a `bits` field. */
export function containerOf(field: ResolvedField, endian: 'little' | 'big'): Container {
  for (const bits of [8, 16, 32]) {
    const unit = Math.floor(field.shift / bits);
    if (Math.floor((field.shift + field.widthBits - 1) / bits) !== unit) continue;
    const inDword = endian === 'little' ? (unit * bits) / 8 : (32 - (unit + 1) * bits) / 8;
    return {
      bytes: (bits / 8) as 1 | 2 | 4,
      offset: field.dwordOffset + inDword,
      shift: field.shift - unit * bits,
    };
  }
  throw new Error(`field ${field.name} straddles a dword`);
}

/**
 * Fields in the aligned dword at `offset`, and whether that dword can be written as one word.
 */
export function dwordAt(
  { table, fields, ownBytes }: ResolvedStruct,
  offset: number,
): { fields: ResolvedField[]; whole: boolean } {
  const inDword = fields.filter((field) => field.dwordOffset === offset && !ownBytes.has(firstByte(field)));
  const shared = [0, 1, 2, 3].some((byte) => ownBytes.has(offset + byte));
  return { fields: inDword, whole: !shared && offset + 4 <= table.sizeBytes };
}

/** Unsigned mask of a field in its place in the dword. */
export function maskInPlace(widthBits: number, shift: number): number {
  return ones(widthBits) * 2 ** shift;
}

/** Index of the first byte a field touches. */
export function firstByte(field: ResolvedField): number {
  return field.bitOffset >> 3;
}

/** Index of the last byte a field touches. */
function lastByte(field: ResolvedField): number {
  return (field.bitOffset + field.widthBits - 1) >> 3;
}

/** Number of bytes that hold bits of the field. */
export function bytesTouched(field: ResolvedField): number {
  return lastByte(field) - firstByte(field) + 1;
}

function checkRow(where: string, row: FieldRow, position: number, valueTables: ReadonlySet<string>): void {
  if ((row.bits === undefined) === (row.bytes === undefined)) {
    throw new TableError(`${where}: give either bits or bytes`);
  }
  const width = widthOf(row);
  if (!Number.isInteger(width) || width < 1) throw new TableError(`${where}: the width must be a positive integer`);
  if (row.at !== undefined && row.at * 8 !== position) {
    throw new TableError(
      `${where}: slipped: asserted at byte ${row.at}, the rows before it end at ${inBytes(position)}`,
    );
  }
  if (row.name === undefined) return;
  if (!/^[a-z][A-Za-z0-9]*$/.test(row.name)) throw new TableError(`${where}: the name must be camelCase`);
  if (row.values !== undefined && !valueTables.has(row.values)) {
    throw new TableError(`${where}: there is no value table "${row.values}"`);
  }
}

function resolveField(where: string, table: StructTable, row: FieldRow, name: string, position: number): ResolvedField {
  const widthBits = widthOf(row);
  const base = { row, name, bitOffset: position, widthBits, shift: 0 };
  if (row.bytes !== undefined) {
    if (position % 8 !== 0)
      throw new TableError(`${where}: a byte array must start on a byte, not at ${inBytes(position)}`);
    return { ...base, kind: 'bytes', dwordOffset: position / 8 };
  }
  if (widthBits === 64) {
    const aligned = table.endian === 'little' ? 64 : 32;
    if (position % aligned !== 0) {
      throw new TableError(`${where}: a 64-bit field must be ${aligned / 8}-byte aligned, not at ${inBytes(position)}`);
    }
    return { ...base, kind: 'wide', dwordOffset: position / 8 };
  }
  if (widthBits > 32) throw new TableError(`${where}: ${widthBits} bits; fields are 1 to 32 or 64 bits wide`);
  const inDword = position % 32;
  if (inDword + widthBits > 32) {
    throw new TableError(
      `${where}: straddles a dword: bits ${inDword} to ${inDword + widthBits - 1} of ${inBytes(position - inDword)}`,
    );
  }
  const shift = table.endian === 'little' ? inDword : 32 - inDword - widthBits;
  return { ...base, kind: 'bits', dwordOffset: (position - inDword) / 8, shift };
}

function checkSizes(table: StructTable, fields: readonly ResolvedField[]): void {
  if (table.endian === 'little' && table.sizeBytes % 8 !== 0 && fields.some((field) => field.kind === 'wide')) {
    throw new TableError(
      `structure "${table.name}": holds 64-bit fields, so its size (${table.sizeBytes}) must be a multiple of 8 bytes`,
    );
  }
  for (const field of fields) {
    if (field.kind !== 'bits') continue;
    const container = containerOf(field, table.endian);
    if (container.offset + container.bytes > table.sizeBytes) {
      throw new TableError(
        `structure "${table.name}", field ${field.name}: needs the ${container.bytes} bytes at ${container.offset}, beyond the end`,
      );
    }
  }
}

/** An array owns its bytes. */
function checkArray(where: string, row: ArrayRow, position: number): void {
  const strideBits = widthOfAll(row.element);
  if (!Number.isInteger(row.count) || row.count < 1) throw new TableError(`${where}: count must be a positive integer`);
  if (row.element.some(({ bytes }) => bytes !== undefined)) throw new TableError(`${where}: give its fields in bits`);
  if (![1, 2, 4].includes(strideBits) && strideBits % 8 !== 0)
    throw new TableError(`${where}: an element has ${strideBits} bits; it must fill bytes, or fit into one evenly`);
  if (position % 8 !== 0 || (position + strideBits * row.count) % 8 !== 0)
    throw new TableError(`${where}: an array must start and end on a byte`);
}

/**
 * One expression with an index must fit all elements: the unit that holds a field lies one stride
 * behind that of the element before.
 */
function checkElements(table: StructTable, fields: readonly ResolvedField[]): void {
  for (const field of fields) {
    const { element, kind } = field;
    if (element === undefined || element.strideBits < 8 || kind !== 'bits') continue;
    const first = fields.find(({ name }) => name === `${element.name}0`) ?? field;
    const moved = (element.index * element.strideBits) / 8;
    if (containerOf(field, table.endian).offset !== containerOf(first, table.endian).offset + moved) {
      throw new TableError(
        `structure "${table.name}", field ${field.name}: lies otherwise in its dword than ${first.name} does`,
      );
    }
  }
}

function widthOfAll(rows: readonly FieldRow[]): number {
  return rows.reduce((sum, row) => sum + widthOf(row), 0);
}

function inBytes(bits: number): string {
  const rest = bits % 8;
  return rest === 0 ? `byte ${bits / 8}` : `byte ${(bits - rest) / 8} bit ${rest}`;
}
