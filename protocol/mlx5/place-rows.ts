// SPDX-License-Identifier: Apache-2.0
/**
 * Structures of the mlx5 interface in the notation of its users: a field has the byte offset of its
 * dword and its bits in it, 31 the most significant. Everything is big-endian; unnamed bits are
 * reserved. Names of fields are those of the Linux driver's interface header, in camelCase: a
 * reader of the driver finds them here. Used by the tables of this folder only.
 */
import type { StructTable } from '../layout/table.ts';
import { fillGaps, type PlacedRow, widthOf } from '../layout/table-rows.ts';

const BITS_PER_BYTE = 8;
const BITS_PER_DWORD = 32;

/** Bits `high` to `low` of the dword at byte `at`. */
export function bits(name: string, at: number, high: number, low: number, doc: string, values?: string): PlacedRow {
  const row = { name, bits: high - low + 1, doc };
  return {
    begin: at * BITS_PER_BYTE + BITS_PER_DWORD - 1 - high,
    row: values === undefined ? row : { ...row, values },
  };
}

/** A number or an address of 64 bits at byte `at`. */
export function wide(name: string, at: number, doc: string): PlacedRow {
  return { begin: at * BITS_PER_BYTE, row: { name, bits: 64, doc } };
}

/** `bytes` bytes at byte `at`: another structure, or plain bytes. */
export function block(name: string, at: number, bytes: number, doc: string): PlacedRow {
  return { begin: at * BITS_PER_BYTE, row: { name, bytes, doc } };
}

/** A structure. Throws when two fields overlap. */
export function layout(name: string, doc: string, sizeBytes: number, fields: readonly PlacedRow[]): StructTable {
  const places = [...fields].sort((a, b) => a.begin - b.begin);
  for (const [index, { begin, row }] of places.entries())
    if (begin + widthOf(row) > (places[index + 1]?.begin ?? sizeBytes * BITS_PER_BYTE))
      throw new Error(`${name}: ${row.name} reaches into what follows it`);
  return { name, doc, endian: 'big', sizeBytes, fields: fillGaps(sizeBytes, places) };
}

/** Head of every command. */
const request = [
  bits('opcode', 0, 31, 16, 'Command.', 'command-opcode'),
  bits('uid', 0, 15, 0, 'Sender: 0 for the kernel, otherwise a context of a process.'),
  bits('opMod', 4, 15, 0, 'Variant of the command.'),
];

/** Head of every answer. */
const answer = [
  bits('status', 0, 31, 24, 'Result.', 'command-status'),
  bits('syndrome', 4, 31, 0, 'Detail of a refusal, for the log.'),
];

/** Tables `NAME-in` and `NAME-out` of a command. `what`: a phrase such as "creates a CQ". */
export function exchange(
  name: string,
  what: string,
  inBytes: number,
  outBytes: number,
  input: readonly PlacedRow[],
  output: readonly PlacedRow[],
): StructTable[] {
  const command = name.toUpperCase().replaceAll('-', '_');
  return [
    layout(`${name}-in`, `Input of ${command}, which ${what}.`, inBytes, [...request, ...input]),
    layout(`${name}-out`, `Output of ${command}.`, outBytes, [...answer, ...output]),
  ];
}

const TRANSITION_BYTES = 0x110;

/** Input and output of a command that moves a QP to another state. */
export function transition(name: string, what: string): StructTable[] {
  return exchange(
    name,
    what,
    TRANSITION_BYTES,
    0x10,
    [
      bits('qpn', 0x8, 23, 0, 'The QP.'),
      bits('optParamMask', 0x10, 31, 0, 'Optional fields of the context that the command uses.'),
      block('qpc', 0x18, 0xe8, 'The context.'),
    ],
    [],
  );
}
