// SPDX-License-Identifier: Apache-2.0
/**
 * The fields of a management command, read from the rows of the layout tables, and the bytes of a
 * command with given fields. `badOffset` of a field is the first byte that holds a bit of it
 * (docs/PROGRAMMING.md, Management commands). No code is shared with the generator.
 */
import { COMMAND_HEADER_BYTES, COMMAND_MAX_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { managementCommand } from '../../../protocol/layout/management.ts';
import type { StructTable } from '../../../protocol/layout/table.ts';
import { type RowPlace, rowPlaces, writeBits } from '../../../protocol/testing/table-bits.ts';
import { seal } from '../../hosts/in-process/driver/management-channel.ts';
import type { CommandCase, Fields, Request, Value } from './command-case.ts';
import { isCommandLength } from './fixture.ts';

export type Part = 'header' | 'payload';

export interface CommandField {
  readonly part: Part;
  /** As in its table; `addressVector.port` is a field of a structure in a byte array. */
  readonly name: string;
  readonly reserved: boolean;
  readonly array: boolean;
  readonly widthBits: number;
  /** Where it starts in its part, in bits. */
  readonly firstBit: number;
  /** `badOffset` when it is at fault. */
  readonly offset: number;
}

/** A value for a field of the request that is tried out. */
export interface Change {
  readonly field: CommandField;
  readonly value: Value;
}

const SEQUENCE = 0x1234;
const BITS_PER_BYTE = 8;

/** All fields of the header and of the structure tried out, with the reserved bits. */
export function fieldsOf(command: CommandCase): CommandField[] {
  const header = fieldsOfTable('header', managementCommand, 0);
  const { table, copies = 1 } = command;
  if (table === undefined) return header;
  const start = COMMAND_HEADER_BYTES + (copies - 1) * table.sizeBytes;
  return [...header, ...fieldsOfTable('payload', table, start, command.nested)];
}

export function lengthOf({ table, copies = 1 }: CommandCase): number {
  return COMMAND_HEADER_BYTES + (table === undefined ? 0 : table.sizeBytes * copies);
}

/** Command bytes of the request with the changes, under a good checksum unless that is changed. */
export function buildCommand(command: CommandCase, request: Request, changes: readonly Change[]): Uint8Array {
  const fields = fieldsOf(command);
  const { table, copies = 1, opcode } = command;
  const changed = (part: Part) => changes.filter(({ field }) => field.part === part);
  const header = new Uint8Array(COMMAND_HEADER_BYTES);
  set(header, fields, 'header', {
    opcode,
    management: 1,
    sequence: SEQUENCE,
    collectLength: lengthOf(command),
    ...request.header,
  });
  for (const { field, value } of changed('header')) setField(header, field, value);
  const length = lengthWanted(changes) ?? lengthOf(command);
  const bytes = new Uint8Array(COMMAND_MAX_BYTES);
  bytes.set(header);
  if (table !== undefined) {
    const payload = new Uint8Array(table.sizeBytes);
    set(payload, fields, 'payload', request.payload ?? {});
    for (let copy = 0; copy < copies; copy++) {
      if (copy === copies - 1) for (const { field, value } of changed('payload')) setField(payload, field, value);
      bytes.set(payload, COMMAND_HEADER_BYTES + copy * table.sizeBytes);
    }
  }
  const whole = bytes.slice(0, length);
  if (!changes.some(({ field }) => field.name === 'checksum')) seal(whole);
  return whole;
}

export function findField(fields: readonly CommandField[], part: Part, name: string): CommandField {
  const found = fields.find((field) => field.part === part && field.name === name);
  if (found === undefined) throw new Error(`No field ${name} in the ${part}.`);
  return found;
}

function fieldsOfTable(
  part: Part,
  table: StructTable,
  start: number,
  nested: Readonly<Record<string, StructTable>> = {},
): CommandField[] {
  return rowPlaces(table).flatMap((row) => {
    const field = fieldOf(part, row, start);
    const inner = row.name === undefined ? undefined : nested[row.name];
    if (inner === undefined) return [field];
    // The array as a whole is blamed for its fields.
    return rowPlaces(inner).map((innerRow) => ({
      ...fieldOf(part, innerRow, start + row.first / BITS_PER_BYTE),
      name: `${row.name}.${nameOf(innerRow)}`,
      firstBit: row.first + innerRow.first,
      offset: field.offset,
    }));
  });
}

function fieldOf(part: Part, row: RowPlace, start: number): CommandField {
  return {
    part,
    name: nameOf(row),
    reserved: row.name === undefined,
    array: row.array,
    widthBits: row.width,
    firstBit: row.first,
    offset: start + Math.floor(row.first / BITS_PER_BYTE),
  };
}

function nameOf({ name, first }: RowPlace): string {
  return name ?? `reserved bit ${first} and following`;
}

function set(bytes: Uint8Array, fields: readonly CommandField[], part: Part, values: Fields): void {
  for (const [name, value] of Object.entries(values)) setField(bytes, findField(fields, part, name), value);
}

function setField(bytes: Uint8Array, field: CommandField, value: Value): void {
  const at = field.firstBit / BITS_PER_BYTE;
  if (!field.array) writeBits(managementCommand, bytes, field.firstBit, field.widthBits, BigInt(value as number));
  else if (value instanceof Uint8Array) bytes.set(value, at);
  else bytes.fill(Number(value), at, at + field.widthBits / BITS_PER_BYTE);
}

/** The collect length where it is changed to that of another command. */
function lengthWanted(changes: readonly Change[]): number | undefined {
  const change = changes.find(({ field }) => field.name === 'collectLength');
  return change !== undefined && isCommandLength(Number(change.value)) ? Number(change.value) : undefined;
}
