// SPDX-License-Identifier: Apache-2.0
/**
 * The vocabulary in which every layout of the adapter is written down: structures in memory (commands, queue entries,
 * wire headers) and register blocks. Rows stand in order; offsets follow from order and width and are asserted where a
 * reader would look for them. `scripts/generate/main.ts` turns the tables into TypeScript accessors, the C header and docs.
 */

/** One bit field of a structure or of a register. Rows pack in order: from bit 0 upwards (little), from the MSB down (big). */
export interface FieldRow {
  /** camelCase name, the field's standard term; absent for reserved bits. */
  readonly name?: string;
  /** Width in bits, or in bytes for an opaque byte array. Fields of 1 to 32 bits never straddle an aligned dword; 64-bit ones are 8-byte aligned in little-endian tables. */
  readonly bits?: number;
  readonly bytes?: number;
  /** One sentence: what it means, in which unit. */
  readonly doc?: string;
  /** Seed paragraph or specification clause. */
  readonly source?: string;
  /** Asserted byte offset of this row; generation fails when a row slipped. */
  readonly at?: number;
  /** Names the table of values this field takes (see `ValueTable`). */
  readonly values?: string;
  /** For a 64-bit field that is neither address nor count: records carry it as two unsigned halves, `xHigh` and `xLow`. */
  readonly opaque?: boolean;
  /** In a register only: access of this field where it differs from the register's. */
  readonly access?: RegisterAccess;
}

/** A structure in guest memory, in a BAR, or on the wire. */
export interface StructTable {
  /** kebab-case, e.g. `send-command`. */
  readonly name: string;
  readonly doc: string;
  readonly source?: string;
  /** `little`: host-facing; `big`: on the wire (IBTA bit order, MSB first). */
  readonly endian: 'little' | 'big';
  /** Asserted total size. */
  readonly sizeBytes: number;
  readonly fields: readonly FieldRow[];
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
 * What software may do with a register. `ro` writes are ignored and counted; `rw` plain storage; `w1c` writing 1 clears; `wo` a doorbell: reads
 * return 0; `rc` reading has a side effect (hardware lock).
 */
export type RegisterAccess = 'ro' | 'rw' | 'w1c' | 'wo' | 'rc';

/** One register, or an array of `count` equal registers. */
export interface RegisterRow {
  /** UPPER_SNAKE name. */
  readonly name: string;
  readonly bits: 32 | 64;
  readonly access: RegisterAccess;
  readonly reset?: number;
  readonly count?: number;
  readonly doc: string;
  readonly source?: string;
  readonly fields?: readonly FieldRow[];
}

/** A jump forward to an asserted offset; the gap reads as zero, writes there are counted as reserved. Fails when already passed. */
export interface OffsetRow {
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

/** Numbers that driver, provider and device must agree on. */
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
