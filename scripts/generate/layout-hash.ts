// SPDX-License-Identifier: Apache-2.0
/**
 * The layout hash: 64 bits over everything in the host-facing tables that decides how bytes are
 * read, and nothing else (documentation and sources may change freely). The device shows it in a
 * register; the driver compares it with its own.
 */
import { createHash } from 'node:crypto';
import type { ConstantTable, ValueTable } from '../../protocol/layout/table.ts';
import type { ResolvedField, ResolvedStruct } from './resolve.ts';
import type { ResolvedBlock } from './resolve-registers.ts';

export interface LayoutHash {
  readonly low: number;
  readonly high: number;
}

/** Hashes resolved tables; independent of the order in which tables are listed. */
export function layoutHash(
  structs: readonly ResolvedStruct[],
  blocks: readonly ResolvedBlock[],
  values: readonly ValueTable[],
  constants: readonly ConstantTable[],
): LayoutHash {
  const lines = [
    ...structs.map(({ table, fields }) => [
      'struct',
      table.name,
      table.endian,
      table.sizeBytes,
      ...fields.map(fieldKey),
    ]),
    ...blocks.flatMap(({ block, registers }) =>
      registers.map(({ row, offset, count, fields }) => [
        'register',
        block.name,
        block.sizeBytes,
        row.name,
        offset,
        row.bits,
        count,
        row.access,
        row.reset ?? 0,
        ...fields.map(fieldKey),
      ]),
    ),
    ...values.flatMap((table) => table.values.map(({ name, value }) => ['value', table.name, name, value])),
    ...constants.flatMap((table) => table.constants.map(({ name, value }) => ['constant', name, value])),
  ].map((line) => JSON.stringify(line));
  const digest = createHash('sha256').update(lines.sort().join('\n')).digest();
  return { low: digest.readUInt32LE(0), high: digest.readUInt32LE(4) };
}

function fieldKey(field: ResolvedField): (string | number)[] {
  return [field.name, field.bitOffset, field.widthBits, field.kind, field.row.access ?? ''];
}
