// SPDX-License-Identifier: Apache-2.0
/**
 * Small tables for the generator's own tests: every kind of field in both byte orders, and one
 * block of registers.
 */
import type { RegisterBlock, StructTable } from '../../protocol/layout/table.ts';
import type { TableSet } from './outputs.ts';

/**
 * Little-endian: sub-word fields, a byte array that shares a dword with them, 64-bit fields,
 * reserved bits.
 */
export const LITTLE: StructTable = {
  name: 'small-little',
  doc: 'Every kind of field, little-endian.',
  endian: 'little',
  sizeBytes: 48,
  fields: [
    { name: 'opcode', bits: 8, doc: 'A byte.' },
    { name: 'qpn', bits: 24, doc: 'Three bytes beside it.' },
    { name: 'flag', bits: 1, at: 4 },
    { bits: 3 },
    { name: 'level', bits: 9, values: 'small-state' },
    { bits: 3 },
    { name: 'pKey', bits: 16, at: 6 },
    { name: 'address', bits: 64, at: 8 },
    { name: 'cookie', bits: 64, opaque: true },
    { name: 'length', bits: 32, at: 24 },
    { name: 'tag', bytes: 3 },
    { name: 'high', bits: 5, at: 31 },
    { bits: 3 },
    { name: 'body', bytes: 6, at: 32 },
    { name: 'odd', bits: 13 },
    { bits: 3 },
    { name: 'word', bits: 16 },
    { bits: 4 },
    { name: 'middle', bits: 12 },
    { bits: 8, at: 44 },
    { name: 'deep', bits: 20 },
    { bits: 4 },
  ],
};

/** Arrays, with the bits of a dword before them and reserved bits in their elements. */
const ARRAYS: StructTable = {
  name: 'small-arrays',
  doc: 'Arrays of every kind, little-endian.',
  endian: 'little',
  sizeBytes: 64,
  fields: [
    { name: 'kind', bits: 9 },
    { bits: 7 },
    { count: 3, element: [{ bits: 3 }, { name: 'turn', bits: 5 }, { bits: 8 }] },
    { count: 8, element: [{ name: 'nibble', bits: 4 }] },
    { count: 4, element: [{ bits: 1 }, { name: 'mark', bits: 1 }] },
    { name: 'between', bits: 24 },
    {
      count: 2,
      element: [
        { name: 'level', bits: 12 },
        { name: 'qpn', bits: 20 },
        { name: 'word', bits: 32 },
      ],
    },
    {
      count: 2,
      element: [
        { name: 'address', bits: 64 },
        { name: 'cookie', bits: 64, opaque: true },
      ],
    },
  ],
};

/** Arrays in the order of the wire: elements may lie at any multiple of 4 bytes. */
const BIG_ARRAYS: StructTable = {
  name: 'small-big-arrays',
  doc: 'Arrays of every kind, big-endian.',
  endian: 'big',
  sizeBytes: 41,
  fields: [
    { name: 'head', bits: 4 },
    { bits: 4 },
    { count: 3, element: [{ bits: 1 }, { name: 'mark', bits: 5 }, { bits: 2 }] },
    {
      count: 16,
      element: [
        { name: 'flag', bits: 1 },
        { name: 'low', bits: 3 },
      ],
    },
    {
      count: 2,
      element: [
        { name: 'lane', bits: 4 },
        { name: 'weight', bits: 12 },
        { name: 'word', bits: 16 },
      ],
    },
    { count: 2, element: [{ name: 'guid', bits: 64, opaque: true }] },
    { count: 2, element: [{ name: 'key', bits: 16 }] },
    { name: 'tail', bits: 8, at: 40 },
  ],
};

/** Big-endian, in the manner of wire headers. */
export const BIG: StructTable = {
  name: 'small-big',
  doc: 'Every kind of field, big-endian.',
  endian: 'big',
  sizeBytes: 39,
  fields: [
    { name: 'lane', bits: 4, doc: 'Most significant bits first.' },
    { name: 'version', bits: 4 },
    { bits: 6 },
    { name: 'next', bits: 2 },
    { name: 'partition', bits: 16, at: 2 },
    { bits: 8 },
    { name: 'qpn', bits: 24 },
    { name: 'ack', bits: 1, at: 8 },
    { bits: 7 },
    { name: 'psn', bits: 24 },
    { name: 'address', bits: 64, at: 12 },
    { name: 'swap', bits: 64, opaque: true },
    { name: 'gid', bytes: 6, at: 28 },
    { name: 'tail', bits: 11, at: 34 },
    { bits: 5 },
    { name: 'more', bits: 12, at: 36 },
    { name: 'rest', bits: 4 },
    { name: 'last', bits: 8, at: 38 },
  ],
};

export const BLOCK: RegisterBlock = {
  name: 'small',
  doc: 'A few registers.',
  sizeBytes: 0x100,
  rows: [
    { name: 'IDENTITY', bits: 32, access: 'ro', reset: 0x1234, doc: 'Fixed.' },
    {
      name: 'CONTROL',
      bits: 32,
      access: 'rw',
      reset: 3,
      doc: 'Mixed.',
      fields: [
        { name: 'enable', bits: 1 },
        { name: 'state', bits: 3, access: 'ro', values: 'small-state' },
        { bits: 4 },
        { name: 'fault', bits: 8, access: 'w1c' },
      ],
    },
    { at: 0x20, section: 'Arrays' },
    { name: 'TABLE', bits: 64, access: 'rw', reset: 0x1_0000_0002, count: 4, doc: 'An array.' },
    {
      name: 'RING',
      bits: 64,
      access: 'wo',
      doc: 'A doorbell.',
      fields: [{ name: 'index', bits: 24 }, { bits: 10 }, { name: 'lane', bits: 4 }],
    },
  ],
};

/** A set with the tables above; `extra` replaces parts of it. */
export function smallSet(extra: Partial<TableSet> = {}): TableSet {
  return {
    title: 'Small',
    page: 'SMALL.md',
    folder: 'gen',
    header: 'vuhca_hw.h',
    structs: [LITTLE, BIG, ARRAYS, BIG_ARRAYS],
    registerBlocks: [BLOCK],
    valueTables: [
      {
        name: 'small-state',
        doc: 'States.',
        values: [
          { name: 'idle', value: 0, doc: 'Nothing to do.' },
          { name: 'RUN_FAST', value: 5, doc: 'Busy.' },
        ],
      },
      { name: 'attribute', doc: 'Sparse.', values: [{ name: 'node-info', value: 0x8011, doc: 'Far up.' }] },
    ],
    constantTables: [
      {
        name: 'limits',
        doc: 'Limits.',
        constants: [
          { name: 'maxQueues', value: 64, doc: 'Queues.' },
          { name: 'BIG_LIMIT', value: 2 ** 40, doc: 'Bytes.' },
        ],
      },
    ],
    ...extra,
  };
}

/** A structure of one dword with the given rows, for tests of what must be refused. */
export function oneDword(fields: StructTable['fields']): StructTable {
  return { name: 'bad-table', doc: 'Wrong.', endian: 'little', sizeBytes: 4, fields };
}
