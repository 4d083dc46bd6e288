// SPDX-License-Identifier: Apache-2.0
/** Generated registers, values, constants and the layout hash, and the detection of stale files. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { readFreshRegisters } from './fresh-registers.ts';
import { findImports } from './imported-names.ts';
import { findStale, loadTableSets, writeOutputs } from './main.ts';
import { generateOutputs } from './outputs.ts';
import { BLOCK, LITTLE, smallSet } from './small-tables.ts';

async function load(test: Test, file: string) {
  const folder = test.testdir({ [file]: generateOutputs([smallSet()]).get(`gen/${file}`) ?? '' });
  return import(pathToFileURL(join(folder, file)).href);
}

t.test('registers: offsets, descriptors, field helpers', async (test) => {
  const module = await load(test, 'registers.gen.ts');
  test.same(module.SMALL, { IDENTITY: 0, CONTROL: 4, TABLE: 0x20, RING: 0x40 });
  test.equal(module.SMALL_SIZE, 0x100);
  test.equal(module.SMALL_TABLE_COUNT, 4);
  const [identity, control, table, ring] = module.smallRegisters;
  test.match(identity, { access: 'ro', resetLow: 0x1234, writableLow: 0, w1cLow: 0, section: '' });
  test.match(control, { resetLow: 3, writableLow: 0x1, w1cLow: 0xff00, bits: 32, count: 1 });
  test.match(table, { resetLow: 2, resetHigh: 1, writableLow: 0xffffffff, writableHigh: 0xffffffff, count: 4 });
  test.match(ring, { section: 'Arrays', access: 'wo', writableLow: 0xffffff, writableHigh: 0x3c });
  test.equal(module.getSmallControlState(0xffff_fff5), 2);
  test.equal(module.setSmallControlState(0xffff_ffff, 2), 0xffff_fff5, 'unsigned, neighbours kept');
  test.equal(module.setSmallControlFault(0, 0x1ff), 0xff00, 'cut to its width');
  test.equal(module.getSmallRingLane(0x3c), 15, 'field of the high dword');
  test.equal(module.SMALL_CONTROL_FAULT_MASK, 0xff00);
});

t.test('values and constants', async (test) => {
  const values = await load(test, 'values.gen.ts');
  test.same(values.SmallState, { IDLE: 0, RUN_FAST: 5 });
  test.equal(values.smallStateName(5), 'RUN_FAST');
  test.equal(values.smallStateName(3), '0x3');
  test.equal(values.smallStateName(77), '0x4d');
  test.equal(values.attributeName(0x8011), 'NODE_INFO');
  const constants = await load(test, 'constants.gen.ts');
  test.equal(constants.MAX_QUEUES, 64);
  test.equal(constants.BIG_LIMIT, 2 ** 40);
});

t.test('the layout hash follows what software sees and nothing else', async (test) => {
  const hashOf = (changes: Parameters<typeof smallSet>[0]) =>
    generateOutputs([smallSet(changes)])
      .get('gen/constants.gen.ts')
      ?.match(/HASH_LOW = (\w+)/)?.[1];
  const base = hashOf({});
  test.match(base, /^0x[0-9a-f]{8}$/);
  test.equal(hashOf({ structs: [{ ...LITTLE, doc: 'Other words.' }, ...smallSet().structs.slice(1)] }), base);
  const widened = LITTLE.fields.map((row) => ('name' in row && row.name === 'flag' ? { ...row, name: 'flags' } : row));
  test.not(hashOf({ structs: [{ ...LITTLE, fields: widened }, ...smallSet().structs.slice(1)] }), base);
  test.not(hashOf({ registerBlocks: [{ ...BLOCK, rows: BLOCK.rows.slice(0, -1) }] }), base);
  test.not(hashOf({ constantTables: [] }), base);
});

t.test('stale files are named', async (test) => {
  const root = test.testdir({ 'protocol/layout/gen': {} });
  const set = { ...smallSet(), folder: 'protocol/layout/gen' };
  const outputs = generateOutputs([set]);
  const paths = [...outputs.keys()];
  test.same(findStale(root, outputs).changed, paths, 'nothing there yet');
  test.same(writeOutputs(root, outputs), paths);
  test.same(findStale(root, outputs), { changed: [], leftOver: [] });
  writeFileSync(join(root, 'vuhca_hw.h'), 'edited by hand');
  rmSync(join(root, 'SMALL.md'));
  writeFileSync(join(root, 'protocol/layout/gen/gone.gen.ts'), '');
  test.same(findStale(root, outputs), {
    changed: ['vuhca_hw.h', 'SMALL.md'],
    leftOver: ['protocol/layout/gen/gone.gen.ts'],
  });
  writeOutputs(root, outputs);
  test.same(findStale(root, outputs), { changed: [], leftOver: [] });
});

t.test('the committed files are fresh', async (test) => {
  const root = join(import.meta.dirname, '../..');
  const options = { imports: findImports(root), resets: await readFreshRegisters() };
  const stale = findStale(root, generateOutputs(await loadTableSets(), options));
  test.same(stale, { changed: [], leftOver: [] }, 'otherwise run npm run generate and commit');
});
