// SPDX-License-Identifier: Apache-2.0
/**
 * Emits `registers.gen.ts`: per block the offsets, the helpers that get and set a field in a
 * register value, and the descriptor array from which the device's register core fills its dispatch
 * arrays at start-up.
 */
import { docComment } from './comments.ts';
import { camel, hex, pascal, upperSnake } from './names.ts';
import { maskInPlace, type ResolvedField, TableError } from './resolve.ts';
import type { ResolvedBlock, ResolvedRegister } from './resolve-registers.ts';
import { extract, place } from './typescript-fields.ts';
import { GENERATED_HEADER } from './typescript-struct.ts';

const DESCRIPTOR = `/** What the register core needs to know about one register or array of registers. */
export interface RegisterDescriptor {
  readonly name: string;
  readonly section: string;
  /** Byte offset in the block, of the first one of an array. */
  readonly offset: number;
  readonly bits: 32 | 64;
  readonly access: 'ro' | 'rw' | 'w1c' | 'wo' | 'rc';
  /** Number of registers, each \`bits / 8\` bytes after the one before. */
  readonly count: number;
  readonly resetLow: number;
  readonly resetHigh: number;
  /** Bits a write stores or passes on; others keep their value. */
  readonly writableLow: number;
  readonly writableHigh: number;
  /** Bits that writing 1 clears. */
  readonly w1cLow: number;
  readonly w1cHigh: number;
}
`;

/** The text of \`registers.gen.ts\`. */
export function emitRegisters(blocks: readonly ResolvedBlock[]): string {
  const text = [GENERATED_HEADER, DESCRIPTOR, ...blocks.map(emitBlock)].join('\n');
  const seen = new Set<string>();
  for (const [, name] of text.matchAll(/^export (?:const|function|interface) (\w+)/gm)) {
    if (seen.has(name)) throw new TableError(`register blocks: two rows lead to the same name ${name}`);
    seen.add(name);
  }
  return text;
}

function emitBlock({ block, registers }: ResolvedBlock): string {
  const prefix = upperSnake(block.name);
  const offsets = registers.map(
    (register) => `${docComment(register.row.doc, '  ')}  ${register.row.name}: ${hex(register.offset, 4)},\n`,
  );
  const counts = registers
    .filter((register) => register.count > 1)
    .map((register) => `export const ${prefix}_${register.row.name}_COUNT = ${register.count};\n`);
  return [
    `${docComment(block.doc)}export const ${prefix}_SIZE = ${hex(block.sizeBytes)};\n`,
    `/** Byte offsets; of the first register where a row is an array. */\nexport const ${prefix} = {\n${offsets.join('')}} as const;\n`,
    counts.join(''),
    ...registers.flatMap((register) => register.fields.map((field) => fieldHelpers(block.name, register, field))),
    `export const ${camel(block.name)}Registers: readonly RegisterDescriptor[] = [\n${registers.map(descriptor).join('')}];\n`,
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function fieldHelpers(block: string, register: ResolvedRegister, field: ResolvedField): string {
  if (field.kind !== 'bits') return '';
  const name = pascal(block) + pascal(register.row.name) + pascal(field.name);
  const { shift, widthBits } = field;
  const constant = `${upperSnake(block)}_${register.row.name}_${upperSnake(field.name)}`;
  const dword = register.row.bits === 32 ? '' : ` In the ${field.dwordOffset === 0 ? 'low' : 'high'} dword.`;
  const kept = hex(0xffffffff - maskInPlace(widthBits, shift), 8);
  const changed = widthBits === 32 ? 'field >>> 0' : `((value & ${kept}) | ${place('field', shift, widthBits)}) >>> 0`;
  const got = widthBits === 32 ? 'value' : extract('value', shift, widthBits, 32);
  return `export const ${constant}_MASK = ${hex(maskInPlace(widthBits, shift), 8)};
${docComment(`${field.row.doc ?? field.name}${dword}`)}export function get${name}(value: number): number {
  return ${got};
}
/** \`value\` with the field replaced. */
export function set${name}(${widthBits === 32 ? '_value' : 'value'}: number, field: number): number {
  return ${changed};
}
`;
}

function descriptor(register: ResolvedRegister): string {
  const { row, section, offset, count, reset, writable, w1c } = register;
  const numbers = {
    resetLow: reset.low,
    resetHigh: reset.high,
    writableLow: writable.low,
    writableHigh: writable.high,
    w1cLow: w1c.low,
    w1cHigh: w1c.high,
  };
  const text = Object.entries(numbers).map(([name, value]) => `${name}: ${hex(value)}`);
  return `  { name: '${row.name}', section: ${JSON.stringify(section)}, offset: ${hex(offset, 4)}, bits: ${row.bits}, access: '${row.access}', count: ${count},
    ${text.join(', ')} },\n`;
}
