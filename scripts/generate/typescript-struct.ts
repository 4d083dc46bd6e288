// SPDX-License-Identifier: Apache-2.0
/**
 * Declarations of the TypeScript module of one structure: constants, accessors of each field, and
 * decode and encode between bytes and a reused record. Arrays stay out of the record: byte arrays
 * have copy functions, others accessors with an index. Encode writes whole words, sets reserved
 * bits to zero and leaves arrays alone. Called by outputs.ts.
 */
import { docComment } from './comments.ts';
import type { Declaration, DeclarationGroup, GeneratedModule } from './generated-module.ts';
import { camel, hex, ones, pascal, upperSnake } from './names.ts';
import { dwordAt, type ResolvedField, type ResolvedStruct } from './resolve.ts';
import { constant, extract, fieldGroups, halvesOf, load, loadWide, place, store } from './typescript-fields.ts';

/** The declarations of `<name>.gen.ts`. */
export function structModule(struct: ResolvedStruct): GeneratedModule {
  const { table } = struct;
  const type = pascal(table.name);
  const source = table.source === undefined ? '' : ` Source: ${table.source}.`;
  const size = constant(`${upperSnake(table.name)}_SIZE`, table.sizeBytes);
  const record = members(struct).length === 0 ? [] : recordGroups(struct, type);
  return {
    what: `structure "${table.name}": two fields`,
    groups: [
      { comment: docComment(`${table.doc}${source}`), declarations: [size] },
      ...struct.fields.flatMap((field) => fieldGroups(struct, field)),
      ...record,
    ],
  };
}

function recordGroups(struct: ResolvedStruct, type: string): DeclarationGroup[] {
  return [recordType(struct, type), newRecord(struct, type), decode(struct, type), encode(struct, type)].map(
    (declaration) => ({ declarations: [declaration] }),
  );
}

/** Record members in table order, each with its field; opaque 64-bit fields have two. */
function members(struct: ResolvedStruct): { name: string; field: ResolvedField }[] {
  return struct.fields.flatMap((field) => {
    if (field.kind === 'bytes' || field.element !== undefined) return [];
    const name = camel(field.name);
    const split = field.kind === 'wide' && field.row.opaque === true;
    return split ? [`${name}High`, `${name}Low`].map((half) => ({ name: half, field })) : [{ name, field }];
  });
}

function recordType(struct: ResolvedStruct, type: string): Declaration {
  const lines = members(struct).map(({ name, field }) => {
    const doc = field.row.doc === undefined ? '' : docComment(field.row.doc, '  ');
    return `${doc}  ${name}: number;\n`;
  });
  return {
    name: type,
    comment: docComment(struct.table.doc),
    code: `export interface ${type} {\n${lines.join('')}}\n`,
  };
}

function newRecord(struct: ResolvedStruct, type: string): Declaration {
  const list = members(struct).map(({ name }) => `    ${name}: 0,\n`);
  return {
    name: `new${type}`,
    comment: docComment('A record of zeros, to be reused.'),
    code: `export function new${type}(): ${type} {\n  return {\n${list.join('')}  };\n}\n`,
  };
}

function decode(struct: ResolvedStruct, type: string): Declaration {
  const little = struct.table.endian === 'little';
  const lines: string[] = [];
  for (let offset = 0; offset < struct.table.sizeBytes; offset += 4) {
    const { fields, whole } = dwordAt(struct, offset);
    if (!whole) {
      for (const field of fields)
        lines.push(`into.${camel(field.name)} = get${type}${pascal(field.name)}(view, base);`);
    } else if (fields.length === 1) {
      lines.push(`into.${camel(fields[0].name)} = get${type}${pascal(fields[0].name)}(view, base);`);
    } else if (fields.length > 1) {
      const word = `word${offset}`;
      lines.push(`const ${word} = ${load(4, offset, little)};`);
      for (const field of fields) {
        lines.push(`into.${camel(field.name)} = ${extract(word, field.shift, field.widthBits, 32)};`);
      }
    }
    for (const field of widesAt(struct, offset)) {
      const name = camel(field.name);
      const { high, low } = halvesOf(field, little);
      if (field.row.opaque === true) {
        lines.push(`into.${name}High = ${load(4, high, little)};`, `into.${name}Low = ${load(4, low, little)};`);
      } else {
        lines.push(`into.${name} = ${loadWide(high, low, little)};`);
      }
    }
  }
  const head = `export function decode${type}(view: DataView, base: number, into: ${type}): ${type}`;
  return {
    name: `decode${type}`,
    comment: docComment('Reads all fields except arrays into `into` and returns it.'),
    code: `${head} {\n${indented(lines)}  return into;\n}\n`,
  };
}

function encode(struct: ResolvedStruct, type: string): Declaration {
  const little = struct.table.endian === 'little';
  const lines: string[] = [];
  for (let offset = 0; offset < struct.table.sizeBytes; offset += 4) {
    const { fields, whole } = dwordAt(struct, offset);
    const wide = widesAt(struct, offset)[0];
    if (wide !== undefined) {
      lines.push(...encodeWide(wide, little));
      offset += 4;
    } else if (whole) {
      const parts = fields.map((field) => place(`from.${camel(field.name)}`, field.shift, field.widthBits));
      lines.push(`${store(4, offset, parts.length === 0 ? '0' : parts.join(' | '), little)};`);
    } else {
      lines.push(...encodeBytes(struct, offset, fields));
    }
  }
  const head = `export function encode${type}(view: DataView, base: number, from: Readonly<${type}>): void`;
  return {
    name: `encode${type}`,
    comment: docComment('Writes whole words: every field of `from`, zeros into reserved bits; no arrays.'),
    code: `${head} {\n${indented(lines)}}\n`,
  };
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}\n`).join('');
}

function encodeWide(field: ResolvedField, little: boolean): string[] {
  const { high, low } = halvesOf(field, little);
  const value = `from.${camel(field.name)}`;
  const split = field.row.opaque === true;
  return [
    `${store(4, high, split ? `${value}High` : `${value} / 4294967296`, little)};`,
    `${store(4, low, split ? `${value}Low` : value, little)};`,
  ];
}

/** A dword that an array or the end of the structure shares: its remaining bytes one by one. */
function encodeBytes(struct: ResolvedStruct, offset: number, fields: readonly ResolvedField[]): string[] {
  const lines: string[] = [];
  for (let byte = offset; byte < Math.min(offset + 4, struct.table.sizeBytes); byte++) {
    if (struct.ownBytes.has(byte)) continue;
    const bottom = struct.table.endian === 'little' ? (byte - offset) * 8 : (3 - (byte - offset)) * 8;
    const parts = fields
      .filter((field) => field.shift < bottom + 8 && field.shift + field.widthBits > bottom)
      .map((field) => byteOf(`from.${camel(field.name)}`, field, bottom));
    lines.push(`${store(1, byte, parts.length === 0 ? '0' : parts.join(' | '), true)};`);
  }
  return lines;
}

/** The bits of a field that fall into the byte whose lowest bit is `bottom` of the dword. */
function byteOf(value: string, field: ResolvedField, bottom: number): string {
  const from = Math.max(field.shift, bottom);
  const to = Math.min(field.shift + field.widthBits, bottom + 8);
  const down = from - field.shift;
  const moved = down === 0 ? value : `(${value} >>> ${down})`;
  const cut = `(${moved} & ${hex(ones(to - from))})`;
  return from === bottom ? cut : `(${cut} << ${from - bottom})`;
}

function widesAt(struct: ResolvedStruct, offset: number): ResolvedField[] {
  return struct.fields.filter(
    (field) => field.kind === 'wide' && field.element === undefined && field.dwordOffset === offset,
  );
}
