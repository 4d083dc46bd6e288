// SPDX-License-Identifier: Apache-2.0
/**
 * Tables that contradict themselves stop the generation with a message that names table and row.
 */
import t from 'tap';
import type { FieldRow, RegisterBlock, StructTable } from '../../protocol/layout/table.ts';
import { generateOutputs } from './outputs.ts';
import { BLOCK, LITTLE, oneDword, smallSet } from './small-tables.ts';

function refused(fields: StructTable['fields'], changes: Partial<StructTable> = {}): string {
  return messageOf({ structs: [{ ...oneDword(fields), ...changes }] });
}

function refusedBlock(rows: RegisterBlock['rows'], sizeBytes = 0x100): string {
  return messageOf({ registerBlocks: [{ name: 'bad', doc: 'Wrong.', sizeBytes, rows }] });
}

function messageOf(changes: Parameters<typeof smallSet>[0]): string {
  try {
    generateOutputs([smallSet(changes)]);
  } catch (error) {
    return (error as Error).message;
  }
  return 'accepted';
}

t.test('structures', async (test) => {
  const row = (index: number, name: string) => `structure "bad-table", row ${index} (${name}): `;
  test.equal(refused([{ name: 'a', bits: 32 }]), 'accepted');
  test.equal(
    refused([
      { name: 'a', bits: 16 },
      { name: 'b', bits: 16, at: 3 },
    ]),
    `${row(2, 'b')}slipped: asserted at byte 3, the rows before it end at byte 2`,
  );
  test.equal(
    refused([{ bits: 20 }, { name: 'b', bits: 16 }], { sizeBytes: 5 }),
    `${row(2, 'b')}straddles a dword: bits 20 to 35 of byte 0`,
  );
  test.equal(
    refused([{ name: 'a', bits: 24 }]),
    'structure "bad-table": the rows add up to byte 3, the table says 4 bytes',
  );
  test.equal(
    refused([
      { name: 'a', bits: 16 },
      { name: 'a', bits: 16 },
    ]),
    `${row(2, 'a')}the name is used twice`,
  );
  test.equal(refused([{ name: 'a', bits: 8, bytes: 1 }]), `${row(1, 'a')}give either bits or bytes`);
  test.equal(refused([{ name: 'a' }]), `${row(1, 'a')}give either bits or bytes`);
  test.equal(refused([{ name: 'a', bits: 0 }]), `${row(1, 'a')}the width must be a positive integer`);
  test.equal(refused([{ name: 'a', bits: 48 }]), `${row(1, 'a')}48 bits; fields are 1 to 32 or 64 bits wide`);
  test.equal(refused([{ name: 'A_b', bits: 32 }]), `${row(1, 'A_b')}the name must be camelCase`);
  test.equal(refused([{ name: 'a', bits: 32, values: 'nothing' }]), `${row(1, 'a')}there is no value table "nothing"`);
  test.equal(
    refused([{ bits: 4 }, { name: 'a', bytes: 3 }, { bits: 4 }]),
    `${row(2, 'a')}a byte array must start on a byte, not at byte 0 bit 4`,
  );
  test.equal(
    refused([{ bits: 32 }, { name: 'a', bits: 64 }], { sizeBytes: 12 }),
    `${row(2, 'a')}a 64-bit field must be 8-byte aligned, not at byte 4`,
  );
  test.match(
    refused([{ name: 'a', bits: 64 }, { bits: 32 }], { sizeBytes: 12 }),
    /size \(12\) must be a multiple of 8/,
  );
  test.match(
    refused([{ bits: 4 }, { name: 'a', bits: 20 }], { sizeBytes: 3 }),
    /"bad-table", field a: needs the 4 bytes at 0/,
  );
  test.match(
    refused([{ name: 'va', bits: 64 }, { name: 'vaHigh', bits: 32 }, { bits: 32 }], { sizeBytes: 16 }),
    /same name getBadTableVaHigh/,
  );
  test.match(refused([{ name: 'a', bits: 32 }], { name: 'Bad' }), /"Bad": the name must be kebab-case/);
});

t.test('arrays', async (test) => {
  const array = (count: number, ...element: FieldRow[]) => ({ count, element });
  const where = 'structure "bad-table", row 1 (array): ';
  test.equal(refused([array(8, { name: 'a', bits: 3 }, { bits: 1 })]), 'accepted');
  test.equal(refused([array(0, { name: 'a', bits: 8 })]), `${where}count must be a positive integer`);
  test.equal(refused([array(1.5, { name: 'a', bits: 8 })]), `${where}count must be a positive integer`);
  test.equal(refused([array(2, { name: 'a', bytes: 2 })]), `${where}give its fields in bits`);
  test.match(refused([array(2, { name: 'a', bits: 3 })]), /row 1 \(array\): an element has 3 bits; it must fill bytes/);
  test.match(refused([array(2, { name: 'a', bits: 12 })]), /an element has 12 bits/);
  test.match(refused([{ bits: 4 }, array(2, { name: 'a', bits: 4 })]), /row 2 \(array\): .* start and end on a byte/);
  test.match(refused([array(3, { name: 'a', bits: 4 })]), /an array must start and end on a byte/);
  test.match(
    refused([array(2, { name: 'a', bits: 16 }), { name: 'a1', bits: 8 }], { sizeBytes: 5 }),
    /row 2 \(a1\): the name is used twice/,
  );
  test.match(
    refused([array(2, { bits: 8 }, { name: 'a', bits: 16 })], { sizeBytes: 6 }),
    /"bad-table", field a1: lies otherwise in its dword/,
  );
});

t.test('register blocks', async (test) => {
  const plain = { bits: 32, access: 'rw', doc: 'A register.' } as const;
  test.equal(refusedBlock([{ ...plain, name: 'A' }]), 'accepted');
  test.equal(
    refusedBlock([
      { ...plain, name: 'A' },
      { ...plain, name: 'B' },
      { at: 4, section: 'Late' },
    ]),
    'register block "bad", row 3 (Late): asserted at 0x4, already at 0x8',
  );
  test.match(
    refusedBlock([
      { ...plain, name: 'A' },
      { ...plain, name: 'A' },
    ]),
    /row 2 \(A\): the name is used twice/,
  );
  test.match(
    refusedBlock([
      { ...plain, name: 'A' },
      { ...plain, name: 'B', bits: 64 },
    ]),
    /row 2 \(B\): .* 8-byte aligned, not at 0x4/,
  );
  test.match(refusedBlock([{ ...plain, name: 'A', count: 65 }]), /ends at 0x104, beyond its 256 bytes/);
  test.match(
    refusedBlock([{ ...plain, name: 'A', reset: 2 ** 32 }]),
    /row 1 \(A\): the reset value 4294967296 does not fit/,
  );
  test.match(refusedBlock([{ ...plain, name: 'A', count: 0 }]), /row 1 \(A\): count must be a positive integer/);
  test.match(refusedBlock([{ ...plain, name: 'a' }]), /row 1 \(a\): the name must be UPPER_SNAKE/);
  test.match(
    refusedBlock([
      {
        ...plain,
        name: 'A',
        fields: [
          { name: 'x', bits: 20 },
          { name: 'y', bits: 13 },
        ],
      },
    ]),
    /row 1 \(A\): its fields take 33 bits of 32/,
  );
  test.match(
    refusedBlock([{ ...plain, bits: 64, name: 'A', fields: [{ bits: 20 }, { name: 'y', bits: 13 }] }]),
    /row 1 \(A\): structure "a", row 2 \(y\): straddles a dword/,
  );
});

t.test('values, constants and names across tables', async (test) => {
  const value = (name: string, number: number) => ({ name, value: number, doc: 'A value.' });
  const table = (values: ReturnType<typeof value>[]) => ({
    valueTables: [{ name: 'small-state', doc: 'Wrong.', values }],
  });
  test.match(messageOf(table([])), /"small-state": is empty/);
  test.match(messageOf(table([value('a', 1), value('b', 1)])), /"small-state", b: the value 1 belongs to a already/);
  test.match(messageOf(table([value('a-b', 1), value('A_B', 2)])), /name A_B: the name is used twice/);
  test.match(messageOf(table([value('a', -1)])), /"small-state", a: -1 is not an unsigned/);
  test.match(
    messageOf({ constantTables: [{ name: 'x', doc: 'Wrong.', constants: [value('A', 1.5)] }] }),
    /constant "A": 1.5 is not a whole number/,
  );
  test.match(messageOf({ structs: [LITTLE, LITTLE] }), /"small-little": the name is used twice/);
  test.match(messageOf({ registerBlocks: [BLOCK, BLOCK] }), /"block small": the name is used twice/);
});
