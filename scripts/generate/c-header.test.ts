// SPDX-License-Identifier: Apache-2.0
/**
 * The C header compiles without a warning, and a C program that fills every structure through it
 * produces the bytes of the tables: for small tables and for the committed header.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Random } from '../../device/random.ts';
import type { StructTable } from '../../protocol/layout/table.ts';
import { fieldPlaces, randomValues, referenceBytes } from '../../protocol/testing/table-bits.ts';
import { testSeed } from '../../protocol/testing/test-seed.ts';
import { loadTableSets } from './main.ts';
import { lowerSnake } from './names.ts';
import { generateOutputs } from './outputs.ts';
import { smallSet } from './small-tables.ts';

const seed = testSeed();
const missing = spawnSync('gcc', ['--version']).error !== undefined ? 'gcc is not installed' : false;

/** C statements that fill one structure of zeros and print it in hexadecimal. */
function fillAndDump(table: StructTable, header: string, values: ReadonlyMap<string, bigint>): string {
  const type = `vuhca_${lowerSnake(table.name)}`;
  const order = table.endian === 'little' ? 'le' : 'be';
  const lines = fieldPlaces(table).flatMap(({ name, width, array }) => {
    if (array) return [];
    const value = `0x${(values.get(name) ?? 0n).toString(16)}ull`;
    const field = lowerSnake(name);
    if (header.includes(`${type}_set_${field}(`)) {
      const check = `if (${type}_get_${field}(&e) != (__u32)${value}) return 1;`;
      return [`${type}_set_${field}(&e, (__u32)${value});`, check];
    }
    return width === 8 ? [`e.${field} = ${value};`] : [`e.${field} = vuhca_cpu_to_${order}${width}(${value});`];
  });
  return `{ struct ${type} e; memset(&e, 0, sizeof e);\n${lines.join('\n')}\ndump(&e, sizeof e); }\n`;
}

function checkHeader(test: Test, header: string, structs: readonly StructTable[]): void {
  const random = new Random(seed);
  const cases = structs.flatMap((table) => [0, 1, 2].map(() => ({ table, values: randomValues(table, random) })));
  const program = `#include <stdio.h>
#include <string.h>
#include "vuhca_hw.h"
static void dump(const void *p, size_t n) { for (size_t i = 0; i < n; i++) printf("%02x", ((const unsigned char *)p)[i]); puts(""); }
int main(void) {
${cases.map(({ table, values }) => fillAndDump(table, header, values)).join('')}return 0; }
`;
  const folder = test.testdir({ 'vuhca_hw.h': header, 'dump.c': program });
  const options = ['-std=gnu11', '-Wall', '-Wextra', '-Werror', '-o', 'dump', 'dump.c'];
  const build = spawnSync('gcc', options, { cwd: folder, encoding: 'utf8' });
  if (!test.equal(build.status, 0, `gcc: ${build.stderr.slice(0, 2000)}`)) return;
  const lines = execFileSync(join(folder, 'dump'), { encoding: 'utf8' }).trim().split('\n');
  const expected = cases.map(({ table, values }) => Buffer.from(referenceBytes(table, values)).toString('hex'));
  test.same(lines, expected, `C and the tables agree, seed ${seed}`);
}

t.test('small tables in both byte orders', { skip: missing }, async (test) => {
  const set = smallSet();
  checkHeader(test, generateOutputs([set]).get('vuhca_hw.h') ?? '', set.structs);
});

t.test('the committed header', { skip: missing }, async (test) => {
  const set = (await loadTableSets()).find(({ header }) => header !== undefined);
  if (set?.header === undefined) return test.fail('no table set has a header');
  checkHeader(test, readFileSync(join(import.meta.dirname, '../..', set.header), 'utf8'), set.structs);
});
