// SPDX-License-Identifier: Apache-2.0
/**
 * The TypeScript expressions and functions for one field of a structure: straight-line DataView
 * code in which every offset, shift and mask is a literal. `typescript-struct.ts` uses them.
 */
import { docComment } from './comments.ts';
import type { Declaration, DeclarationGroup } from './generated-module.ts';
import { hex, ones, pascal, upperSnake } from './names.ts';
import {
  type ArrayElement,
  bytesTouched,
  containerOf,
  firstByte,
  maskInPlace,
  type ResolvedField,
  type ResolvedStruct,
} from './resolve.ts';

/** A byte offset: a number, or an expression with `index` for a field of an array. */
type Offset = number | string;

/** `base + 12`, or `base` */
export function address(offset: Offset): string {
  return offset === 0 ? 'base' : `base + ${offset}`;
}

/** `view.getUint16(base + 2, true)` */
export function load(bytes: 1 | 2 | 4, offset: Offset, littleEndian: boolean): string {
  return bytes === 1
    ? `view.getUint8(${address(offset)})`
    : `view.getUint${bytes * 8}(${address(offset)}, ${littleEndian})`;
}

/** `view.setUint16(base + 2, <value>, true)` */
export function store(bytes: 1 | 2 | 4, offset: Offset, value: string, littleEndian: boolean): string {
  return bytes === 1
    ? `view.setUint8(${address(offset)}, ${value})`
    : `view.setUint${bytes * 8}(${address(offset)}, ${value}, ${littleEndian})`;
}

/** The field at `shift` taken out of an unsigned word of `wordBits`. */
export function extract(word: string, shift: number, widthBits: number, wordBits: number): string {
  if (shift === 0) return widthBits === wordBits ? word : `${word} & ${hex(ones(widthBits))}`;
  if (shift + widthBits === wordBits) return `${word} >>> ${shift}`;
  return `(${word} >>> ${shift}) & ${hex(ones(widthBits))}`;
}

/** The value cut to the field's width and moved to its place. */
export function place(value: string, shift: number, widthBits: number): string {
  const cut = widthBits === 32 ? value : `(${value} & ${hex(ones(widthBits))})`;
  return shift === 0 ? cut : `(${cut} << ${shift})`;
}

/** Constants and accessors of one field; an array has those of its first element, by index. */
export function fieldGroups(struct: ResolvedStruct, field: ResolvedField): DeclarationGroup[] {
  if (field.element !== undefined && field.element.index > 0) return [];
  const constants = constantsOf(struct, field);
  if (field.kind === 'wide') return wideGroups(struct, field, constants);
  const accessors = field.kind === 'bytes' ? copiers(struct, field) : bitsAccessors(struct, field);
  return [{ comment: commentOf(field), declarations: [...constants, ...accessors] }];
}

function bitsAccessors(struct: ResolvedStruct, field: ResolvedField): Declaration[] {
  if (field.element !== undefined && field.element.strideBits < 8) return packedAccessors(struct, field, field.element);
  const little = struct.table.endian === 'little';
  const { bytes, offset, shift } = containerOf(field, struct.table.endian);
  const at = offsetOf(field, offset);
  const wordBits = bytes * 8;
  const word = load(bytes, at, little);
  const whole = field.widthBits === wordBits;
  const kept = hex(ones(wordBits) - ones(field.widthBits) * 2 ** shift, bytes * 2);
  const value = whole ? 'value' : `(${word} & ${kept}) | ${place('value', shift, field.widthBits)}`;
  return [
    getter(struct, field, '', extract(word, shift, field.widthBits, wordBits)),
    setter(struct, field, '', [store(bytes, at, value, little)]),
  ];
}

/** Elements that share a byte: the index chooses the byte and the shift in it. */
function packedAccessors(struct: ResolvedStruct, field: ResolvedField, element: ArrayElement): Declaration[] {
  const perByte = 8 / element.strideBits;
  const first = struct.table.endian === 'little' ? 'index' : '~index';
  const last = field.shift % element.strideBits;
  const scaled = `(${first} & ${perByte - 1}) * ${element.strideBits}`;
  const shift = last === 0 ? scaled : `${scaled} + ${last}`;
  const chosen = `(index >>> ${Math.log2(perByte)})`;
  const at = firstByte(field) === 0 ? chosen : `${firstByte(field)} + ${chosen}`;
  const mask = hex(ones(field.widthBits));
  const changed = `(${load(1, at, true)} & ~(${mask} << shift)) | ((value & ${mask}) << shift)`;
  return [
    getter(struct, field, '', `(${load(1, at, true)} >>> (${shift})) & ${mask}`),
    setter(struct, field, '', [`const shift = ${shift}`, store(1, at, changed, true)]),
  ];
}

/** The offset of a part of the field; in an array that of the element. */
function offsetOf({ element }: ResolvedField, offset: number): Offset {
  if (element === undefined) return offset;
  const moved = `index * ${element.strideBits / 8}`;
  return offset === 0 ? moved : `${offset} + ${moved}`;
}

function getter(struct: ResolvedStruct, field: ResolvedField, suffix: string, expression: string): Declaration {
  const name = `get${accessorName(struct, field)}${suffix}`;
  const head = `export function ${name}(view: DataView, base: number${indexParameter(field)}): number`;
  return { name, code: `${head} {\n  return ${expression};\n}\n` };
}

function setter(struct: ResolvedStruct, field: ResolvedField, suffix: string, lines: readonly string[]): Declaration {
  const name = `set${accessorName(struct, field)}${suffix}`;
  const head = `export function ${name}(view: DataView, base: number${indexParameter(field)}, value: number): void`;
  return { name, code: `${head} {\n${lines.map((line) => `  ${line};\n`).join('')}}\n` };
}

function indexParameter({ element }: ResolvedField): string {
  return element === undefined ? '' : ', index: number';
}

/** `SendCommandQpn` */
function accessorName(struct: ResolvedStruct, field: ResolvedField): string {
  return pascal(struct.table.name) + pascal(field.element?.name ?? field.name);
}

/** 64-bit load as a Number from two halves. */
export function loadWide(high: Offset, low: Offset, littleEndian: boolean): string {
  return `${load(4, high, littleEndian)} * 4294967296 + ${load(4, low, littleEndian)}`;
}

/** Byte offsets of the two halves of a 64-bit field. */
export function halvesOf(field: ResolvedField, littleEndian: boolean): { high: number; low: number } {
  return littleEndian
    ? { high: field.dwordOffset + 4, low: field.dwordOffset }
    : { high: field.dwordOffset, low: field.dwordOffset + 4 };
}

function wideGroups(
  struct: ResolvedStruct,
  field: ResolvedField,
  constants: readonly Declaration[],
): DeclarationGroup[] {
  const little = struct.table.endian === 'little';
  const halves = halvesOf(field, little);
  const [high, low] = [offsetOf(field, halves.high), offsetOf(field, halves.low)];
  const half = (suffix: string, offset: Offset): Declaration[] => [
    getter(struct, field, suffix, load(4, offset, little)),
    setter(struct, field, suffix, [store(4, offset, 'value', little)]),
  ];
  const whole = [
    getter(struct, field, '', loadWide(high, low, little)),
    setter(struct, field, '', [store(4, high, 'value / 4294967296', little), store(4, low, 'value', little)]),
  ];
  return [
    {
      comment: commentOf(field, 'Exact below 2^53; the halves are for opaque values.'),
      declarations: [...constants, ...whole],
    },
    { comment: commentOf(field), declarations: [...half('High', high), ...half('Low', low)] },
  ];
}

function copiers(struct: ResolvedStruct, field: ResolvedField): Declaration[] {
  const name = accessorName(struct, field);
  const count = field.widthBits / 8;
  const from = field.dwordOffset;
  const copies = (line: (at: string, index: number) => string) =>
    count <= 16
      ? Array.from({ length: count }, (_, index) => `  ${line(address(from + index), index)};\n`).join('')
      : `  for (let index = 0; index < ${count}; index++) ${line(`${address(from)} + index`, -1)};\n`;
  const at = (offset: string, index: number) =>
    index < 0 ? `${offset} + index` : index === 0 ? offset : `${offset} + ${index}`;
  return [
    {
      name: `copy${name}To`,
      code: `export function copy${name}To(view: DataView, base: number, into: Uint8Array, intoOffset: number): void {
${copies((place, index) => `into[${at('intoOffset', index)}] = view.getUint8(${place})`)}}
`,
    },
    {
      name: `copy${name}From`,
      code: `export function copy${name}From(view: DataView, base: number, from: Uint8Array, fromOffset: number): void {
${copies((place, index) => `view.setUint8(${place}, from[${at('fromOffset', index)}])`)}}
`,
    },
  ];
}

/**
 * The place of a field. `_OFFSET` is its first byte: the lowest address that holds a bit of it, in
 * a little-endian table the byte of its lowest bit. `badOffset` of a response means this byte.
 * `_BYTES` is the number of bytes that hold bits of it. `_SHIFT` and `_MASK` are its place in its
 * aligned dword, which is read in the byte order of the table. An array has the offset of its
 * first element, and `_COUNT`.
 */
function constantsOf(struct: ResolvedStruct, field: ResolvedField): Declaration[] {
  const { element } = field;
  const name = `${upperSnake(struct.table.name)}_${upperSnake(element?.name ?? field.name)}`;
  const constants: [string, string | number][] = [
    ['OFFSET', firstByte(field)],
    element === undefined ? ['BYTES', bytesTouched(field)] : ['COUNT', element.count],
  ];
  if (field.kind === 'bits' && element === undefined && field.widthBits < 32)
    constants.push(['SHIFT', field.shift], ['MASK', hex(maskInPlace(field.widthBits, field.shift))]);
  return constants.map(([what, value]) => constant(`${name}_${what}`, value));
}

/** `export const NAME = 12;` */
export function constant(name: string, value: string | number): Declaration {
  return { name, code: `export const ${name} = ${value};\n` };
}

function commentOf(field: ResolvedField, more?: string): string {
  const parts = [field.row.doc, field.row.values === undefined ? undefined : `Values: ${field.row.values}.`, more];
  const text = parts.filter((part) => part !== undefined).join(' ');
  return text === '' ? '' : docComment(text);
}
