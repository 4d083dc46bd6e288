// SPDX-License-Identifier: Apache-2.0
/**
 * Generated accessors against a bit-by-bit reading of the same tables, with random seeded values:
 * all accessors of the small tables and of those of the repository, imported by a source or not.
 */
import { deepStrictEqual as deepEqual, strictEqual as equal } from 'node:assert';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { Random } from '../../device/random.ts';
import type { StructTable } from '../../protocol/layout/table.ts';
import {
  type FieldPlace,
  fieldPlaces,
  isOpaque,
  randomValues,
  readBits,
  rowPlaces,
  writeBits,
} from '../../protocol/testing/table-bits.ts';
import { testSeed } from '../../protocol/testing/test-seed.ts';
import { loadTableSets } from './main.ts';
import { camel, pascal, upperSnake } from './names.ts';
import { generateOutputs, type TableSet } from './outputs.ts';
import { smallSet } from './small-tables.ts';

type Accessor = (...args: unknown[]) => never;
type Module = Record<string, Accessor & number>;

const seed = testSeed();
/** A wrong bit of a place is seen in half of them. */
const ROUNDS = 8;
const BASE = 8;

/** All structures of a set in one module, because each module costs the compiler a start. */
async function load(set: TableSet): Promise<Module> {
  const outputs = generateOutputs([set]);
  const texts = set.structs.map(({ name }) => outputs.get(`${set.folder}/${name}.gen.ts`));
  const name = `${set.folder.replaceAll('/', '-')}.ts`;
  const folder = t.testdir({ [name]: texts.join('\n') });
  return (await import(pathToFileURL(join(folder, name)).href)) as Module;
}

/** The record form of `values`. */
function recordOf(table: StructTable, values: ReadonlyMap<string, bigint>): Record<string, number> {
  const record: Record<string, number> = {};
  for (const { name, array, element } of fieldPlaces(table)) {
    if (array || element !== undefined) continue;
    const value = values.get(name) ?? 0n;
    if (isOpaque(table, name)) {
      record[`${camel(name)}High`] = Number(value >> 32n);
      record[`${camel(name)}Low`] = Number(value & 0xffffffffn);
    } else {
      record[camel(name)] = Number(value);
    }
  }
  return record;
}

function checkRecord(table: StructTable, module: Module): void {
  const type = pascal(table.name);
  const random = new Random(seed);
  if (module[`new${type}`] === undefined) return;
  for (let round = 0; round < ROUNDS; round++) {
    const values = randomValues(table, random);
    const expected = random.bytes(BASE + table.sizeBytes + 8);
    const bytes = expected.slice();
    const view = new DataView(bytes.buffer);
    module[`encode${type}`](view, BASE, recordOf(table, values));
    for (const bit of bitsOutsideArrays(table)) writeBits(table, expected.subarray(BASE), bit, 1, 0n);
    for (const { name, first, width, array, element } of fieldPlaces(table)) {
      if (array || element !== undefined) continue;
      writeBits(table, expected.subarray(BASE), first, width, values.get(name) ?? 0n);
    }
    deepEqual(bytes, expected, `${table.name}: encode, seed ${seed}, round ${round}`);
    const decoded = module[`decode${type}`](view, BASE, module[`new${type}`]());
    deepEqual(decoded, recordOf(table, values), `${table.name}: decode, seed ${seed}, round ${round}`);
  }
}

/** Bits that encode owns: all that are not in an array. */
function bitsOutsideArrays(table: StructTable): number[] {
  const arrays = rowPlaces(table).filter(
    ({ name, array, element }) => (array && name !== undefined) || element !== undefined,
  );
  const bits = Array.from({ length: table.sizeBytes * 8 }, (_, bit) => bit);
  return bits.filter((bit) => !arrays.some(({ first, width }) => bit >= first && bit < first + width));
}

function checkFields(table: StructTable, module: Module): void {
  const random = new Random(seed + 1);
  for (const place of fieldPlaces(table)) {
    const { name, first, width, array } = place;
    if (array) continue;
    const accessor = accessorOf(table, place);
    const at = argumentsOf(place);
    for (let round = 0; round < ROUNDS; round++) {
      const what = `${table.name}.${name}, seed ${seed}, round ${round}`;
      const value = randomValues(table, random).get(name) ?? 0n;
      const safe = value & ((1n << 53n) - 1n);
      const expected = random.bytes(BASE + table.sizeBytes + 8);
      const bytes = expected.slice();
      const view = new DataView(bytes.buffer);
      writeBits(table, expected.subarray(BASE), first, width, safe);
      module[`set${accessor}`](view, ...at, Number(safe));
      deepEqual(bytes, expected, `set leaves neighbours alone: ${what}`);
      equal(module[`get${accessor}`](view, ...at), Number(safe), `get: ${what}`);
      if (width === 64) checkHalves(table, module, place, view, value, what);
    }
  }
}

function accessorOf(table: StructTable, { name, element }: FieldPlace): string {
  return pascal(table.name) + pascal(element?.name ?? name);
}

/** Arguments of an accessor after the view. */
function argumentsOf({ element }: FieldPlace): number[] {
  return element === undefined ? [BASE] : [BASE, element.index];
}

function checkHalves(
  table: StructTable,
  module: Module,
  place: FieldPlace,
  view: DataView<ArrayBuffer>,
  value: bigint,
  what: string,
): void {
  const accessor = accessorOf(table, place);
  const at = argumentsOf(place);
  module[`set${accessor}High`](view, ...at, Number(value >> 32n));
  module[`set${accessor}Low`](view, ...at, Number(value & 0xffffffffn));
  equal(readBits(table, new Uint8Array(view.buffer, BASE), place.first, 64), value, `set halves: ${what}`);
  equal(module[`get${accessor}High`](view, ...at), Number(value >> 32n), `get high half: ${what}`);
  equal(module[`get${accessor}Low`](view, ...at), Number(value & 0xffffffffn), `get low half: ${what}`);
}

function checkArrays(table: StructTable, module: Module): void {
  const random = new Random(seed + 2);
  for (const { name, first, width, array } of fieldPlaces(table)) {
    if (!array) continue;
    const accessor = pascal(table.name) + pascal(name);
    const bytes = random.bytes(BASE + table.sizeBytes + 8);
    const value = random.bytes(width / 8 + 4);
    const expected = bytes.slice();
    expected.set(value.subarray(2, 2 + width / 8), BASE + first / 8);
    module[`copy${accessor}From`](new DataView(bytes.buffer), BASE, value, 2);
    deepEqual(bytes, expected, `copy${accessor}From, seed ${seed}`);
    const into = new Uint8Array(width / 8 + 2);
    module[`copy${accessor}To`](new DataView(bytes.buffer), BASE, into, 1);
    deepEqual([...into], [0, ...value.subarray(2, 2 + width / 8), 0], `copy${accessor}To, seed ${seed}`);
  }
}

/** The constants of a field are where its bits are when it is all ones and the rest zeros. */
function checkPlaces(table: StructTable, module: Module): void {
  const places = fieldPlaces(table);
  for (const { name, first, width, array, element } of places) {
    if (element !== undefined && element.index > 0) continue;
    const constant = `${upperSnake(table.name)}_${upperSnake(element?.name ?? name)}`;
    const view = new DataView(new ArrayBuffer(table.sizeBytes + 8));
    const bytes = new Uint8Array(view.buffer);
    writeBits(table, bytes, first, width, (1n << BigInt(width)) - 1n);
    const touched = [...bytes.keys()].filter((index) => bytes[index] !== 0);
    equal(module[`${constant}_OFFSET`], touched[0], `${constant}_OFFSET`);
    const count = places.filter((place) => place.element !== undefined && place.element.name === element?.name).length;
    equal(module[`${constant}_COUNT`], element && count, `${constant}_COUNT`);
    equal(module[`${constant}_BYTES`], element ? undefined : touched.length, `${constant}_BYTES`);
    const narrow = !array && element === undefined && width < 32;
    const word = view.getUint32(touched[0] - (touched[0] % 4), table.endian === 'little');
    equal(module[`${constant}_MASK`], narrow ? word : undefined, `${constant}_MASK`);
    equal(module[`${constant}_SHIFT`], narrow ? Math.log2((word & -word) >>> 0) : undefined, `${constant}_SHIFT`);
  }
}

function checkStruct(test: Test, table: StructTable, module: Module): void {
  test.doesNotThrow(() => {
    equal(module[`${upperSnake(table.name)}_SIZE`], table.sizeBytes);
    checkRecord(table, module);
    checkFields(table, module);
    checkArrays(table, module);
    checkPlaces(table, module);
  }, table.name);
}

t.test('accessors of the small tables agree with the bit-by-bit reading', async (test) => {
  const set = smallSet();
  const module = await load(set);
  for (const table of set.structs) checkStruct(test, table, module);
});

t.test('accessors of every structure agree with the bit-by-bit reading', async (test) => {
  for (const set of await loadTableSets()) {
    const module = await load(set);
    for (const table of set.structs) checkStruct(test, table, module);
  }
});
