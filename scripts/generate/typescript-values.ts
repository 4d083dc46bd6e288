// SPDX-License-Identifier: Apache-2.0
/**
 * Declarations of `values.gen.ts` (named values, and the name of a number) and of
 * `constants.gen.ts` (numbers that all sides agree on, and the layout hash). Called by outputs.ts.
 */
import type { ConstantTable, ValueTable } from '../../protocol/layout/table.ts';
import { docComment, lineComment } from './comments.ts';
import type { DeclarationGroup, GeneratedModule } from './generated-module.ts';
import type { LayoutHash } from './layout-hash.ts';
import { camel, hex, pascal, upperSnake } from './names.ts';
import { TableError } from './resolve.ts';
import { constant } from './typescript-fields.ts';

/** Largest value for which the lookup array is dense. */
const DENSE_LIMIT = 1023;

/** The declarations of `values.gen.ts`; throws TableError. */
export function valuesModule(tables: readonly ValueTable[]): GeneratedModule {
  for (const table of tables) checkValues(table);
  return { what: 'value tables: two tables', groups: tables.flatMap(valueGroups) };
}

function valueGroups(table: ValueTable): DeclarationGroup[] {
  const type = pascal(table.name);
  const entries = table.values.map(
    ({ name, value, doc }) => `${docComment(doc, '  ')}  ${upperSnake(name)}: ${spell(value)},\n`,
  );
  const names = `${camel(table.name)}Names`;
  const dense = table.values.every(({ value }) => value <= DENSE_LIMIT);
  const list = dense
    ? `readonly string[] = [\n${denseNames(table)}]`
    : `Readonly<Record<number, string>> = {\n${sparseNames(table)}}`;
  const toName = `${camel(table.name)}Name`;
  const declarations = [
    {
      name: type,
      comment: docComment(table.doc),
      code: `export const ${type} = {
${entries.join('')}} as const;
export type ${type} = (typeof ${type})[keyof typeof ${type}];
`,
    },
    {
      name: names,
      comment: docComment(`Names by value${dense ? "; '' where a value is not assigned" : ''}.`),
      code: `export const ${names}: ${list};\n`,
    },
    {
      name: toName,
      comment: docComment('The name of a value, or the number in hexadecimal when it has none.'),
      code: `export function ${toName}(value: number): string {
  return ${names}[value] || \`0x\${value.toString(16)}\`;
}
`,
    },
  ];
  return declarations.map((declaration) => ({ declarations: [declaration] }));
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

/** The declarations of `constants.gen.ts`; throws TableError. */
export function constantsModule(tables: readonly ConstantTable[], hash: LayoutHash): GeneratedModule {
  const groups = tables.map(({ name, doc, constants }) => ({
    comment: lineComment(`${name}: ${doc}`),
    declarations: constants.map((row) => ({
      ...constant(upperSnake(row.name), spell(checkConstant(row))),
      comment: docComment(row.doc),
    })),
  }));
  const layoutHash = {
    comment: docComment(
      'Changes whenever a table changes that host software can see; the driver refuses to bind on a mismatch.',
    ),
    declarations: [constant('LAYOUT_HASH_LOW', hex(hash.low, 8)), constant('LAYOUT_HASH_HIGH', hex(hash.high, 8))],
  };
  return { what: 'constant tables: two rows', groups: [...groups, layoutHash] };
}

function checkConstant({ name, value }: ConstantTable['constants'][number]): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new TableError(`constant "${name}": ${value} is not a whole number`);
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
