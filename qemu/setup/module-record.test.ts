// SPDX-License-Identifier: Apache-2.0
/** Why a module is compiled, and how long it took before, in words. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import {
  type BuildInputs,
  type BuildRecord,
  describeModule,
  explainCompile,
  readOtherRecords,
  readRecord,
  writeRecord,
} from './module-record.ts';

const NOW: BuildInputs = {
  directory: '/src/mine',
  release: '6.12',
  toolchain: 'gcc-14',
  inputs: { 'mine.c': '1', 'mine.h': '1', 'low/low.h': '1', 'the interface of low': '1' },
};
const MINE: BuildRecord = { ...NOW, lastMs: 1_000, wholeMs: 8_000 };
const OTHER: BuildRecord = { ...MINE, release: '6.1', lastMs: 2_000, wholeMs: 9_000 };

/** The explanation when inputs change from those of the record. */
function explain(changes: Readonly<Record<string, string | undefined>>) {
  const inputs = Object.entries({ ...NOW.inputs, ...changes }).filter(([, hash]) => hash !== undefined);
  return explainCompile({ ...NOW, inputs: Object.fromEntries(inputs) as BuildInputs['inputs'] }, MINE, [OTHER], false);
}

t.test('why, and the time of a compile of as much', async (t) => {
  const one = { earlier: 'took 1.0 s last time', expectedMs: 1_000 };
  const whole = { earlier: 'took 8.0 s last time', expectedMs: 8_000 };
  t.same(explain({ 'mine.c': '2' }), { reason: 'mine.c has changed', ...one });
  t.same(explain({ 'new.c': '2' }), { reason: 'new.c has changed', ...one });
  t.same(explain({ 'mine.c': undefined }), { reason: 'mine.c has changed', ...one });
  t.same(explain({ 'mine.h': '2' }), { reason: 'mine.h has changed', ...whole });
  t.same(explain({ 'low/low.h': '2' }), { reason: 'low/low.h has changed', ...whole });
  t.same(explain({ 'the interface of low': '2' }), { reason: 'the interface of low has changed', ...whole });
  t.same(explain({ 'mine.c': '2', 'mine.h': '2' }), { reason: 'mine.c and another file have changed', ...whole });
  t.same(explain({ 'mine.c': '2', 'a.c': '2', 'b.c': '2' }), {
    reason: 'mine.c and 2 other files have changed',
    ...one,
  });
  t.same(explain({}), { reason: 'the cache no longer has the result', ...one });
  t.same(explainCompile({ ...NOW, toolchain: 'gcc-15' }, MINE, [], false), {
    reason: 'headers or compiler of the kernel have changed',
    ...whole,
  });
  t.same(explainCompile(NOW, MINE, [], true), { reason: 'its last compile was interrupted', ...whole });
});

t.test('a first compile', async (t) => {
  const other = { earlier: 'took 9.0 s for the kernel 6.1', expectedMs: 9_000 };
  t.same(explainCompile(NOW, undefined, [], false), { reason: 'it is compiled for the first time' });
  t.same(explainCompile(NOW, undefined, [], true), { reason: 'its last compile was interrupted' });
  t.same(explainCompile(NOW, undefined, [OTHER], false), {
    reason: 'it was not compiled for this kernel before',
    ...other,
  });
  t.same(explainCompile(NOW, undefined, [OTHER], true), { reason: 'its last compile was interrupted', ...other });
});

t.test('records that can be read', async (t) => {
  const root = t.testdir({ mine: {}, other: {}, foreign: {}, none: {}, bad: {}, old: {} });
  writeRecord(join(root, 'mine'), MINE);
  writeRecord(join(root, 'other'), OTHER);
  writeRecord(join(root, 'foreign'), { ...MINE, directory: '/src/foreign' });
  writeFileSync(join(root, 'bad', 'build.json'), '{"lastMs": 1, ');
  writeFileSync(join(root, 'old', 'build.json'), '{"directory": "/src/mine"}');
  mkdirSync(join(root, 'none', 'build.json'));
  t.same(readRecord(join(root, 'mine')), MINE);
  for (const name of ['none', 'bad', 'old', 'absent']) t.equal(readRecord(join(root, name)), undefined, name);
  t.same(readOtherRecords(root, join(root, 'mine'), '/src/mine'), [OTHER]);
  t.same(readOtherRecords(join(root, 'absent'), root, '/src/mine'), []);
});

t.test('words for a module', async (t) => {
  const describe = (files: Readonly<Record<string, string>>): string =>
    describeModule({
      name: 'mine',
      directory: '/src/mine',
      files: Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) })),
    });
  t.equal(describe({ Kbuild: 'obj-m := a-b.o\n' }), 'the module a-b.ko');
  t.equal(describe({ Makefile: 'obj-m += mine.o\nmine-y := a.o b.o\n', 'a.c': '' }), 'the module mine.ko');
  for (const text of ['module_pci_driver(x);', 'pci_register_driver(&x);', 'MODULE_DEVICE_TABLE(pci, x);'])
    t.equal(describe({ Kbuild: 'obj-m := mine.o\n', 'a.c': text }), 'the driver mine.ko', text);
  t.equal(describe({ Kbuild: 'obj-m := a.o b.o\n' }), 'the modules of /src/mine');
  t.equal(describe({ Kbuild: 'obj-$(X) := a.o\n' }), 'the modules of /src/mine');
});
