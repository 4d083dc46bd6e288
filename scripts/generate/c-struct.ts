// SPDX-License-Identifier: Apache-2.0
/**
 * Emits one structure for C: a member for each naturally aligned field; one word member for a dword
 * of smaller fields, with inline functions for each of them; and asserts on the size and on each
 * offset. Called by c-header.ts.
 */
import { cComment } from './comments.ts';
import { hex, lowerSnake, upperSnake } from './names.ts';
import {
  bytesOutsideDwords,
  containerOf,
  dwordAt,
  maskInPlace,
  type ResolvedField,
  type ResolvedStruct,
  TableError,
} from './resolve.ts';

/** One member of the C structure and the fields kept in it. */
interface Member {
  readonly name: string;
  readonly offset: number;
  readonly bytes: number;
  readonly fields: readonly ResolvedField[];
  readonly array: boolean;
}

/**
 * Text for one structure; throws TableError when C cannot express it. The fields of arrays are
 * members of their own.
 */
export function emitCStruct({ table, fields }: ResolvedStruct): string {
  const struct = { table, fields, ownBytes: bytesOutsideDwords(fields) };
  const name = `vuhca_${lowerSnake(table.name)}`;
  const members = withReserved(struct, namedMembers(struct));
  const lines = members.map(
    (member) => `${memberComment(member)}\t${memberType(struct, member)} ${memberName(member)};\n`,
  );
  const asserts = members
    .filter((member) => !member.name.startsWith('reserved_'))
    .map(
      (member) =>
        `_Static_assert(offsetof(struct ${name}, ${member.name}) == ${member.offset}, "${name}.${member.name}");\n`,
    );
  const helpers = members.flatMap((member) => member.fields.map((field) => fieldHelpers(struct, member, field)));
  // Wire formats need not be aligned; host-facing structures are, and stay natural C.
  const packed = table.endian === 'big' ? ' __attribute__((packed))' : '';
  return `${cComment(table.doc)}#define VUHCA_${upperSnake(table.name)}_SIZE ${table.sizeBytes}
struct ${name} {
${lines.join('')}}${packed};
_Static_assert(sizeof(struct ${name}) == ${table.sizeBytes}, "${name}");
${asserts.join('')}
${helpers.join('')}`;
}

function namedMembers(struct: ResolvedStruct): Member[] {
  const members: Member[] = [];
  const add = (member: Member) => {
    const other = members.find(
      (known) => known.offset < member.offset + member.bytes && member.offset < known.offset + known.bytes,
    );
    if (other === undefined) members.push(member);
    else throw new TableError(`structure "${struct.table.name}": C members ${other.name} and ${member.name} overlap`);
  };
  for (let offset = 0; offset < struct.table.sizeBytes; offset += 4) {
    const { fields, whole } = dwordAt(struct, offset);
    const natural = fields.every((field) => containerOf(field, struct.table.endian).bytes * 8 === field.widthBits);
    if (whole && !natural) {
      add({ name: `dw${offset / 4}`, offset, bytes: 4, fields, array: false });
      continue;
    }
    for (const unit of unitsOf(struct, fields)) {
      const alone = unit.fields.length === 1 && unit.fields[0].widthBits === unit.bytes * 8;
      add({ ...unit, name: alone ? lowerSnake(unit.fields[0].name) : `byte${unit.offset}`, array: false });
    }
  }
  for (const field of struct.fields) {
    if (field.kind === 'bits') continue;
    const array = field.kind === 'bytes';
    add({
      name: lowerSnake(field.name),
      offset: field.dwordOffset,
      bytes: field.widthBits / 8,
      fields: array ? [] : [field],
      array,
    });
  }
  return members.sort((a, b) => a.offset - b.offset);
}

/**
 * Fields grouped by the smallest aligned units that hold them; a unit inside a larger one joins it.
 */
function unitsOf(struct: ResolvedStruct, fields: readonly ResolvedField[]): Omit<Member, 'name' | 'array'>[] {
  const units: { offset: number; bytes: number; fields: ResolvedField[] }[] = [];
  const placed = fields.map((field) => ({ field, unit: containerOf(field, struct.table.endian) }));
  for (const { field, unit } of placed.sort((a, b) => b.unit.bytes - a.unit.bytes)) {
    const around = units.find(({ offset, bytes }) => offset <= unit.offset && unit.offset < offset + bytes);
    if (around === undefined) units.push({ offset: unit.offset, bytes: unit.bytes, fields: [field] });
    else around.fields.push(field);
  }
  return units;
}

/** Position of the field's lowest bit in its member. */
function shiftInMember(struct: ResolvedStruct, member: Member, field: ResolvedField): number {
  const before = member.offset - field.dwordOffset;
  const bottom = struct.table.endian === 'little' ? before : 4 - before - member.bytes;
  return field.shift - bottom * 8;
}

function withReserved(struct: ResolvedStruct, named: readonly Member[]): Member[] {
  const members: Member[] = [];
  let offset = 0;
  const fill = (end: number) => {
    if (end > offset)
      members.push({ name: `reserved_${offset}`, offset, bytes: end - offset, fields: [], array: true });
  };
  for (const member of named) {
    fill(member.offset);
    members.push(member);
    offset = member.offset + member.bytes;
  }
  fill(struct.table.sizeBytes);
  return members;
}

function memberName(member: Member): string {
  return member.array ? `${member.name}[${member.bytes}]` : member.name;
}

function memberType(struct: ResolvedStruct, member: Member): string {
  if (member.array || member.bytes === 1) return '__u8';
  return `__${struct.table.endian === 'little' ? 'le' : 'be'}${member.bytes * 8}`;
}

function memberComment(member: Member): string {
  const docs = member.fields.map((field) => `${lowerSnake(field.name)}: ${field.row.doc ?? 'no description'}`);
  return docs.map((doc) => cComment(doc, '\t')).join('');
}

/**
 * Shift, mask, getter and setter of a field that shares its member with others; natural members
 * need none.
 */
function fieldHelpers(struct: ResolvedStruct, member: Member, field: ResolvedField): string {
  if (field.widthBits === member.bytes * 8) return '';
  const type = `vuhca_${lowerSnake(struct.table.name)}`;
  const name = lowerSnake(field.name);
  const macro = `VUHCA_${upperSnake(struct.table.name)}_${upperSnake(field.name)}`;
  const order = struct.table.endian === 'little' ? 'le' : 'be';
  const bits = member.bytes * 8;
  const shift = shiftInMember(struct, member, field);
  const read = bits === 8 ? `e->${member.name}` : `vuhca_${order}${bits}_to_cpu(e->${member.name})`;
  const value = `(word & ~${macro}_MASK) | ((v << ${macro}_SHIFT) & ${macro}_MASK)`;
  const written = bits === 8 ? `(__u8)(${value})` : `vuhca_cpu_to_${order}${bits}((__u${bits})(${value}))`;
  return `#define ${macro}_SHIFT ${shift}
#define ${macro}_MASK ${hex(maskInPlace(field.widthBits, shift))}u
static inline __u32 ${type}_get_${name}(const struct ${type} *e)
{
	return (${read} & ${macro}_MASK) >> ${macro}_SHIFT;
}
static inline void ${type}_set_${name}(struct ${type} *e, __u32 v)
{
	__u32 word = ${read};

	e->${member.name} = ${written};
}
`;
}
