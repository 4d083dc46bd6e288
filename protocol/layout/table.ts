// SPDX-License-Identifier: Apache-2.0
/**
 * Types of the layout tables: structures in memory (commands, queue entries, wire headers),
 * register blocks, named values and constants. Rows are in order; offsets follow from order and
 * width, and tables assert the offsets that a reader looks for. `npm run generate` turns the tables
 * into TypeScript accessors, the C header, docs/REGISTERS.md and the pages of docs/formats.
 */

/**
 * One bit field of a structure or of a register. Rows pack in order: from bit 0 upwards (little
 * endian), from the most significant bit down (big endian).
 */
export interface FieldRow {
  /** Name in camelCase, the standard term of the field; absent for reserved bits. */
  readonly name?: string;
  /**
   * Width in bits, or in bytes for an opaque byte array. A field of 1 to 32 bits lies in one
   * aligned dword; a 64-bit field of a little-endian table is 8-byte aligned.
   */
  readonly bits?: number;
  readonly bytes?: number;
  /** One sentence: the meaning, with its unit. */
  readonly doc?: string;
  /** Citation in a form of docs/DOCUMENTS.md. */
  readonly source?: string;
  /** Asserted byte offset of this row; generation fails when the row is elsewhere. */
  readonly at?: number;
  /** Name of the table of values that this field takes (`ValueTable`). */
  readonly values?: string;
  /**
   * For a 64-bit field that is neither an address nor a count: records hold it as two unsigned
   * halves, `xHigh` and `xLow`.
   */
  readonly opaque?: boolean;
  /** In a register only: access of this field if it differs from that of the register. */
  readonly access?: RegisterAccess;
}

/**
 * An array: its elements follow each other without a gap, and each has the same fields. Accessors
 * take the index of an element; documents and C number the fields, from 0. An element is a whole
 * number of bytes, or fits several times into one.
 */
export interface ArrayRow {
  readonly count: number;
  readonly element: readonly FieldRow[];
}

/** A structure in guest memory, in a BAR, or on the wire. */
export interface StructTable {
  /** Name in kebab-case, such as `send-command`. */
  readonly name: string;
  readonly doc: string;
  readonly source?: string;
  /** `little`: host-facing; `big`: on the wire (IBTA bit order, MSB first). */
  readonly endian: 'little' | 'big';
  /** Asserted size of the whole structure. */
  readonly sizeBytes: number;
  readonly fields: readonly (FieldRow | ArrayRow)[];
}

/** Named values: opcodes, statuses, states. */
export interface ValueTable {
  readonly name: string;
  readonly doc: string;
  readonly source?: string;
  readonly values: readonly {
    readonly name: string;
    readonly value: number;
    readonly doc: string;
    readonly source?: string;
  }[];
}

/**
 * Access to a register. `ro`: writes are ignored and counted. `rw`: plain storage. `w1c`: writing 1
 * clears. `wo`: a doorbell, reads return 0. `rc`: reading has a side effect (hardware lock).
 */
export type RegisterAccess = 'ro' | 'rw' | 'w1c' | 'wo' | 'rc';

/** One register, or an array of `count` equal registers. */
export interface RegisterRow {
  /** Name in UPPER_SNAKE case. */
  readonly name: string;
  readonly bits: 32 | 64;
  readonly access: RegisterAccess;
  readonly reset?: number;
  readonly count?: number;
  readonly doc: string;
  readonly source?: string;
  readonly fields?: readonly FieldRow[];
}

/**
 * A jump forward to an offset; generation fails when the rows before it reach further. The gap
 * reads as 0, and writes to it are counted as reserved.
 */
interface OffsetRow {
  readonly at: number;
  readonly section: string;
}

/** A block of registers at the start of a BAR or page. */
export interface RegisterBlock {
  readonly name: string;
  readonly doc: string;
  readonly sizeBytes: number;
  readonly rows: readonly (RegisterRow | OffsetRow)[];
}

/** Numbers that device, driver and user-space provider share. */
export interface ConstantTable {
  readonly name: string;
  readonly doc: string;
  readonly constants: readonly {
    readonly name: string;
    readonly value: number;
    readonly doc: string;
    readonly source?: string;
  }[];
}
