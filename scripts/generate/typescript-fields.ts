// SPDX-License-Identifier: Apache-2.0
/**
 * The TypeScript expressions and functions for one field of a structure: straight-line DataView
 * code in which every offset, shift and mask is a literal. `typescript-struct.ts` puts them
 * together into a module.
 */
import { docComment } from './comments.ts';
import { hex, ones, pascal, upperSnake } from './names.ts';
import {
  bytesTouched,
  containerOf,
  firstByte,
  maskInPlace,
  type ResolvedField,
  type ResolvedStruct,
} from './resolve.ts';

/** `base + 12`, or `base` */
export function address(offset: number): string {
  return offset === 0 ? 'base' : `base + ${offset}`;
}

/** `view.getUint16(base + 2, true)` */
export function load(bytes: 1 | 2 | 4, offset: number, littleEndian: boolean): string {
  return bytes === 1
    ? `view.getUint8(${address(offset)})`
    : `view.getUint${bytes * 8}(${address(offset)}, ${littleEndian})`;
}

/** `view.setUint16(base + 2, <value>, true)` */
export function store(bytes: 1 | 2 | 4, offset: number, value: string, littleEndian: boolean): string {
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

/** Getter, setter and constants of one field. */
export function fieldFunctions(struct: ResolvedStruct, field: ResolvedField): string {
  if (field.kind === 'bytes') return bytesFunctions(struct, field);
  return field.kind === 'wide' ? wideFunctions(struct, field) : bitsFunctions(struct, field);
}

function bitsFunctions(struct: ResolvedStruct, field: ResolvedField): string {
  const little = struct.table.endian === 'little';
  const name = pascal(struct.table.name) + pascal(field.name);
  const { bytes, offset, shift } = containerOf(field, struct.table.endian);
  const wordBits = bytes * 8;
  const word = load(bytes, offset, little);
  const whole = field.widthBits === wordBits;
  const kept = hex(ones(wordBits) - ones(field.widthBits) * 2 ** shift, bytes * 2);
  const value = whole ? 'value' : `(${word} & ${kept}) | ${place('value', shift, field.widthBits)}`;
  return `${constantsOf(struct, field)}${docOf(field)}export function get${name}(view: DataView, base: number): number {
  return ${extract(word, shift, field.widthBits, wordBits)};
}
export function set${name}(view: DataView, base: number, value: number): void {
  ${store(bytes, offset, value, little)};
}
`;
}

/** 64-bit load as a Number from two halves. */
export function loadWide(field: ResolvedField, littleEndian: boolean): string {
  const { high, low } = halvesOf(field, littleEndian);
  return `${load(4, high, littleEndian)} * 4294967296 + ${load(4, low, littleEndian)}`;
}

/** Byte offsets of the two halves of a 64-bit field. */
export function halvesOf(field: ResolvedField, littleEndian: boolean): { high: number; low: number } {
  return littleEndian
    ? { high: field.dwordOffset + 4, low: field.dwordOffset }
    : { high: field.dwordOffset, low: field.dwordOffset + 4 };
}

function wideFunctions(struct: ResolvedStruct, field: ResolvedField): string {
  const little = struct.table.endian === 'little';
  const name = pascal(struct.table.name) + pascal(field.name);
  const { high, low } = halvesOf(field, little);
  const half = (
    suffix: string,
    offset: number,
  ) => `export function get${name}${suffix}(view: DataView, base: number): number {
  return ${load(4, offset, little)};
}
export function set${name}${suffix}(view: DataView, base: number, value: number): void {
  ${store(4, offset, 'value', little)};
}
`;
  return `${constantsOf(struct, field)}${docOf(field, 'Exact below 2^53; use the halves for opaque values.')}export function get${name}(view: DataView, base: number): number {
  return ${loadWide(field, little)};
}
export function set${name}(view: DataView, base: number, value: number): void {
  ${store(4, high, 'value / 4294967296', little)};
  ${store(4, low, 'value', little)};
}
${half('High', high)}${half('Low', low)}`;
}

function bytesFunctions(struct: ResolvedStruct, field: ResolvedField): string {
  const name = pascal(struct.table.name) + pascal(field.name);
  const count = field.widthBits / 8;
  const from = field.dwordOffset;
  const copies = (line: (at: string, index: number) => string) =>
    count <= 16
      ? Array.from({ length: count }, (_, index) => `  ${line(address(from + index), index)};\n`).join('')
      : `  for (let index = 0; index < ${count}; index++) ${line(`${address(from)} + index`, -1)};\n`;
  const at = (offset: string, index: number) =>
    index < 0 ? `${offset} + index` : index === 0 ? offset : `${offset} + ${index}`;
  return `${constantsOf(struct, field)}${docOf(field)}export function copy${name}To(view: DataView, base: number, into: Uint8Array, intoOffset: number): void {
${copies((place, index) => `into[${at('intoOffset', index)}] = view.getUint8(${place})`)}}
export function copy${name}From(view: DataView, base: number, from: Uint8Array, fromOffset: number): void {
${copies((place, index) => `view.setUint8(${place}, from[${at('fromOffset', index)}])`)}}
`;
}

/**
 * The place of a field. `_OFFSET` is its first byte: the lowest address that holds a bit of it, in
 * a little-endian table the byte of its lowest bit. `badOffset` of a response means this byte.
 * `_BYTES` is the number of bytes that hold bits of it. `_SHIFT` and `_MASK` are its place in its
 * aligned dword, which is read in the byte order of the table.
 */
function constantsOf(struct: ResolvedStruct, field: ResolvedField): string {
  const name = `${upperSnake(struct.table.name)}_${upperSnake(field.name)}`;
  const constants: [string, string | number][] = [
    ['OFFSET', firstByte(field)],
    ['BYTES', bytesTouched(field)],
  ];
  if (field.kind === 'bits' && field.widthBits < 32)
    constants.push(['SHIFT', field.shift], ['MASK', hex(maskInPlace(field.widthBits, field.shift))]);
  return constants.map(([what, value]) => `export const ${name}_${what} = ${value};\n`).join('');
}

function docOf(field: ResolvedField, more?: string): string {
  const parts = [field.row.doc, field.row.values === undefined ? undefined : `Values: ${field.row.values}.`, more];
  const text = parts.filter((part) => part !== undefined).join(' ');
  return text === '' ? '' : docComment(text);
}
