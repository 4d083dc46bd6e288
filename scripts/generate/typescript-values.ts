// SPDX-License-Identifier: Apache-2.0
/**
 * Emits `values.gen.ts` (named values and the way back from number to name) and `constants.gen.ts`
 * (numbers that all sides agree on, and the layout hash).
 */
import type { ConstantTable, ValueTable } from '../../protocol/layout/table.ts';
import { docComment, lineComment } from './comments.ts';
import type { LayoutHash } from './layout-hash.ts';
import { camel, hex, pascal, upperSnake } from './names.ts';
import { TableError } from './resolve.ts';
import { GENERATED_HEADER } from './typescript-struct.ts';

/** Largest value for which the lookup array is dense. */
const DENSE_LIMIT = 1023;

/** The text of `values.gen.ts`; throws TableError. */
export function emitValues(tables: readonly ValueTable[]): string {
  for (const table of tables) checkValues(table);
  checkUnique(
    'value table',
    tables.map((table) => pascal(table.name)),
  );
  return [GENERATED_HEADER, ...tables.map(emitValueTable)].join('\n');
}

function emitValueTable(table: ValueTable): string {
  const type = pascal(table.name);
  const entries = table.values.map(
    ({ name, value, doc }) => `${docComment(doc, '  ')}  ${upperSnake(name)}: ${spell(value)},\n`,
  );
  const names = `${camel(table.name)}Names`;
  const dense = table.values.every(({ value }) => value <= DENSE_LIMIT);
  const list = dense ? denseNames(table) : sparseNames(table);
  const declaration = dense
    ? `export const ${names}: readonly string[] = [\n${list}];`
    : `export const ${names}: Readonly<Record<number, string>> = {\n${list}};`;
  return `${docComment(table.doc)}export const ${type} = {
${entries.join('')}} as const;
export type ${type} = (typeof ${type})[keyof typeof ${type}];

/** Names by value${dense ? "; '' where a value is not assigned" : ''}. */
${declaration}

/** The name of a value, or the number in hexadecimal when it has none. */
export function ${camel(table.name)}Name(value: number): string {
  return ${names}[value] || \`0x\${value.toString(16)}\`;
}
`;
}

function denseNames(table: ValueTable): string {
  const largest = Math.max(...table.values.map(({ value }) => value));
  const names = new Array<string>(largest + 1).fill('');
  for (const { name, value } of table.values) names[value] = upperSnake(name);
  return names.map((name) => `  '${name}',\n`).join('');
}

function sparseNames(table: ValueTable): string {
  return table.values.map(({ name, value }) => `  ${spell(value)}: '${upperSnake(name)}',\n`).join('');
}

/** The text of `constants.gen.ts`; throws TableError. */
export function emitConstants(tables: readonly ConstantTable[], hash: LayoutHash): string {
  const all = tables.flatMap((table) => table.constants);
  checkUnique(
    'constant',
    all.map(({ name }) => upperSnake(name)),
  );
  for (const { name, value } of all) {
    if (!Number.isSafeInteger(value) || value < 0)
      throw new TableError(`constant "${name}": ${value} is not a whole number`);
  }
  const parts = tables.map((table) => {
    const lines = table.constants.map(
      ({ name, value, doc }) => `${docComment(doc)}export const ${upperSnake(name)} = ${spell(value)};\n`,
    );
    return `${lineComment(`${table.name}: ${table.doc}`)}${lines.join('')}`;
  });
  const doc = 'Changes whenever a table changes that host software can see; the driver refuses to bind on a mismatch.';
  const layoutHash = `${docComment(doc)}export const LAYOUT_HASH_LOW = ${hex(hash.low, 8)};
export const LAYOUT_HASH_HIGH = ${hex(hash.high, 8)};
`;
  return [GENERATED_HEADER, ...parts, layoutHash].join('\n');
}

function checkValues(table: ValueTable): void {
  if (table.values.length === 0) throw new TableError(`value table "${table.name}": is empty`);
  const byValue = new Map<number, string>();
  for (const { name, value } of table.values) {
    if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
      throw new TableError(`value table "${table.name}", ${name}: ${value} is not an unsigned 32-bit number`);
    }
    const other = byValue.get(value);
    if (other !== undefined) {
      throw new TableError(`value table "${table.name}", ${name}: the value ${value} belongs to ${other} already`);
    }
    byValue.set(value, name);
  }
  checkUnique(
    `value table "${table.name}": name`,
    table.values.map(({ name }) => upperSnake(name)),
  );
}

function checkUnique(what: string, names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new TableError(`${what} ${name}: the name is used twice`);
    seen.add(name);
  }
}

/** Small numbers in decimal, large ones in hexadecimal. */
function spell(value: number): string {
  return value < 1024 ? String(value) : hex(value);
}
