// SPDX-License-Identifier: Apache-2.0
/**
 * Turns a register block into registers at absolute offsets with reset values and write masks split
 * into dwords, and refuses blocks that contradict themselves. Field rules are those of a
 * little-endian structure of 4 or 8 bytes, so `resolve.ts` checks them.
 */
import type { RegisterAccess, RegisterBlock, RegisterRow } from '../../protocol/layout/table.ts';
import { maskInPlace, type ResolvedField, resolveStruct, TableError } from './resolve.ts';

/** A 64-bit mask or value as two unsigned dwords. */
export interface Dwords {
  readonly low: number;
  readonly high: number;
}

export interface ResolvedRegister {
  readonly row: RegisterRow;
  readonly section: string;
  readonly offset: number;
  readonly count: number;
  readonly strideBytes: number;
  readonly reset: Dwords;
  /** Bits that a write stores (`rw`, `rc`) or passes on (`wo`). */
  readonly writable: Dwords;
  /** Bits that writing 1 clears. */
  readonly w1c: Dwords;
  readonly fields: readonly ResolvedField[];
}

export interface ResolvedBlock {
  readonly block: RegisterBlock;
  readonly registers: readonly ResolvedRegister[];
}

/** Resolves a block; throws TableError naming block and row. */
export function resolveBlock(block: RegisterBlock, valueTables: ReadonlySet<string>): ResolvedBlock {
  const registers: ResolvedRegister[] = [];
  const names = new Set<string>();
  let offset = 0;
  let section = '';
  for (const [index, row] of block.rows.entries()) {
    if (!('name' in row)) {
      if (row.at < offset) {
        throw new TableError(
          `register block "${block.name}", row ${index + 1} (${row.section}): asserted at 0x${row.at.toString(16)}, already at 0x${offset.toString(16)}`,
        );
      }
      offset = row.at;
      section = row.section;
      continue;
    }
    const where = `register block "${block.name}", row ${index + 1} (${row.name})`;
    if (!/^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/.test(row.name)) throw new TableError(`${where}: the name must be UPPER_SNAKE`);
    if (names.has(row.name)) throw new TableError(`${where}: the name is used twice`);
    names.add(row.name);
    const register = resolveRegister(where, row, section, offset, valueTables);
    registers.push(register);
    offset += register.strideBytes * register.count;
  }
  if (offset > block.sizeBytes) {
    throw new TableError(
      `register block "${block.name}": ends at 0x${offset.toString(16)}, beyond its ${block.sizeBytes} bytes`,
    );
  }
  return { block, registers };
}

function resolveRegister(
  where: string,
  row: RegisterRow,
  section: string,
  offset: number,
  valueTables: ReadonlySet<string>,
): ResolvedRegister {
  const strideBytes = row.bits / 8;
  const count = row.count ?? 1;
  if (offset % strideBytes !== 0) {
    throw new TableError(
      `${where}: a ${row.bits}-bit register must be ${strideBytes}-byte aligned, not at 0x${offset.toString(16)}`,
    );
  }
  if (!Number.isInteger(count) || count < 1) throw new TableError(`${where}: count must be a positive integer`);
  const reset = row.reset ?? 0;
  if (!Number.isSafeInteger(reset) || reset < 0 || reset >= 2 ** row.bits) {
    throw new TableError(`${where}: the reset value ${reset} does not fit ${row.bits} bits`);
  }
  const fields = row.fields === undefined ? [] : resolveFields(where, row, valueTables);
  return {
    row,
    section,
    offset,
    count,
    strideBytes,
    reset: { low: reset % 2 ** 32, high: Math.floor(reset / 2 ** 32) },
    writable: maskOf(row, fields, ['rw', 'wo', 'rc']),
    w1c: maskOf(row, fields, ['w1c']),
    fields,
  };
}

function resolveFields(where: string, row: RegisterRow, valueTables: ReadonlySet<string>): readonly ResolvedField[] {
  const fields = row.fields ?? [];
  if (fields.some((field) => field.bytes !== undefined)) throw new TableError(`${where}: give its fields in bits`);
  const bits = fields.reduce((sum, field) => sum + (field.bits ?? 0), 0);
  if (bits > row.bits) throw new TableError(`${where}: its fields take ${bits} bits of ${row.bits}`);
  const rest = row.bits - bits;
  const padded = rest === 0 ? fields : [...fields, { bits: rest }];
  const table = {
    name: row.name.toLowerCase().replaceAll('_', '-'),
    doc: row.doc,
    endian: 'little',
    sizeBytes: row.bits / 8,
  } as const;
  try {
    return resolveStruct({ ...table, fields: padded }, valueTables).fields;
  } catch (error) {
    if (error instanceof TableError) throw new TableError(`${where}: ${error.message}`);
    throw error;
  }
}

function maskOf(row: RegisterRow, fields: readonly ResolvedField[], accesses: readonly RegisterAccess[]): Dwords {
  if (fields.length === 0) {
    const all = accesses.includes(row.access) ? 0xffffffff : 0;
    return { low: all, high: row.bits === 64 ? all : 0 };
  }
  let low = 0;
  let high = 0;
  for (const field of fields) {
    if (!accesses.includes(field.row.access ?? row.access)) continue;
    if (field.kind === 'bits') {
      const mask = maskInPlace(field.widthBits, field.shift);
      if (field.dwordOffset === 0) low += mask;
      else high += mask;
    } else {
      low = 0xffffffff;
      high = row.bits === 64 ? 0xffffffff : 0;
    }
  }
  return { low, high };
}
