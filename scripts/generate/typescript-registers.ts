// SPDX-License-Identifier: Apache-2.0
/**
 * Declarations of `registers.gen.ts`: for each block the offsets, the functions that get and set a
 * field in a register value, and the descriptors from which the device fills its dispatch arrays at
 * start-up. Called by outputs.ts.
 */
import { docComment } from './comments.ts';
import type { DeclarationGroup, GeneratedModule } from './generated-module.ts';
import { camel, hex, pascal, upperSnake } from './names.ts';
import { maskInPlace, type ResolvedField } from './resolve.ts';
import type { ResolvedBlock, ResolvedRegister } from './resolve-registers.ts';
import { constant, extract, place } from './typescript-fields.ts';

const DESCRIPTOR = `export interface RegisterDescriptor {
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

/** The declarations of `registers.gen.ts`. */
export function registersModule(blocks: readonly ResolvedBlock[]): GeneratedModule {
  const descriptor = {
    comment: docComment('What the register core needs to know about one register or array of registers.'),
    declarations: [{ name: 'RegisterDescriptor', code: DESCRIPTOR }],
  };
  return { what: 'register blocks: two rows', groups: [descriptor, ...blocks.flatMap(blockGroups)] };
}

function blockGroups({ block, registers }: ResolvedBlock): DeclarationGroup[] {
  const prefix = upperSnake(block.name);
  const list = `${camel(block.name)}Registers`;
  const offsets = registers.map(
    (register) => `${docComment(register.row.doc, '  ')}  ${register.row.name}: ${hex(register.offset, 4)},\n`,
  );
  const counts = registers.filter((register) => register.count > 1);
  return [
    { comment: docComment(block.doc), declarations: [constant(`${prefix}_SIZE`, hex(block.sizeBytes))] },
    {
      comment: docComment('Byte offsets; of the first register where a row is an array.'),
      declarations: [{ name: prefix, code: `export const ${prefix} = {\n${offsets.join('')}} as const;\n` }],
    },
    { declarations: counts.map(({ row, count }) => constant(`${prefix}_${row.name}_COUNT`, count)) },
    ...registers.flatMap((register) => register.fields.flatMap((field) => fieldGroups(block.name, register, field))),
    {
      declarations: [
        {
          name: list,
          code: `export const ${list}: readonly RegisterDescriptor[] = [\n${registers.map(descriptor).join('')}];\n`,
        },
      ],
    },
  ];
}

function fieldGroups(block: string, register: ResolvedRegister, field: ResolvedField): DeclarationGroup[] {
  if (field.kind !== 'bits') return [];
  const name = pascal(block) + pascal(register.row.name) + pascal(field.name);
  const { shift, widthBits } = field;
  const mask = `${upperSnake(block)}_${register.row.name}_${upperSnake(field.name)}_MASK`;
  const dword = register.row.bits === 32 ? '' : ` In the ${field.dwordOffset === 0 ? 'low' : 'high'} dword.`;
  const kept = hex(0xffffffff - maskInPlace(widthBits, shift), 8);
  const changed = widthBits === 32 ? 'field >>> 0' : `((value & ${kept}) | ${place('field', shift, widthBits)}) >>> 0`;
  const got = widthBits === 32 ? 'value' : extract('value', shift, widthBits, 32);
  const getter = `export function get${name}(value: number): number {\n  return ${got};\n}\n`;
  const parameter = widthBits === 32 ? '_value' : 'value';
  const setter = `export function set${name}(${parameter}: number, field: number): number {\n  return ${changed};\n}\n`;
  return [
    {
      comment: docComment(`${field.row.doc ?? field.name}${dword}`),
      declarations: [constant(mask, hex(maskInPlace(widthBits, shift), 8)), { name: `get${name}`, code: getter }],
    },
    {
      comment: docComment('`value` with the field replaced.'),
      declarations: [{ name: `set${name}`, code: setter }],
    },
  ];
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
