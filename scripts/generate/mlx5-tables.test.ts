// SPDX-License-Identifier: Apache-2.0
/**
 * The tables of mlx5: each field lies where the interface header of Debian's kernel has it, and has
 * its width; values are those of the header. mlx5-tables.long.ts compares with the headers of other
 * kernels.
 */
import t from 'tap';
import { commandValues } from '../../protocol/mlx5/command-values.ts';
import { queueValues } from '../../protocol/mlx5/queue-values.ts';
import { headerStructs, structs, valueTables } from '../../protocol/mlx5/tables.ts';
import { HeaderLayouts } from '../../protocol/mlx5/testing/header-layouts.ts';
import { resolveStruct } from './resolve.ts';
import { compareWithHeader, readInterfaceHeader } from './testing/mlx5-header.ts';

t.test('every field lies where the driver has it', async (t) => {
  const differences = compareWithHeader(await readInterfaceHeader());
  t.same(differences, []);
});

t.test('commands have the numbers that the driver gives them', async (t) => {
  const { constants } = await readInterfaceHeader();
  const opcodes = commandValues.find(({ name }) => name === 'command-opcode')?.values ?? [];
  t.ok(opcodes.length > 60);
  const differences = opcodes.filter(({ name, value }) => {
    // Names of ours begin with a letter.
    const theirs = name
      .replace(/^qp-(2\w+)$/, '$1-qp')
      .toUpperCase()
      .replaceAll('-', '_');
    return constants.get(`MLX5_CMD_OP_${theirs}`) !== value;
  });
  t.same(differences, []);
});

t.test('tables are whole: unique names, known values', async (t) => {
  const names = structs.map(({ name }) => name);
  t.equal(new Set(names).size, names.length);
  t.ok(headerStructs.length > 100, `${headerStructs.length} structures are compared`);
  const known = new Set(valueTables.map(({ name }) => name));
  for (const struct of structs) resolveStruct(struct, known);
  t.ok(queueValues.every(({ values }) => new Set(values.map(({ value }) => value)).size === values.length));
});

t.test('a field that moved, one of another width, and one that is gone are named', async (t) => {
  const header = new HeaderLayouts(`
    struct mlx5_ifc_inner_bits { u8 reserved_at_0[0x8]; u8 low[0x18]; };
    struct mlx5_ifc_outer_bits {
      u8 first[0x10]; /* a comment */
      u8 reserved_at_10[0x10];
      struct mlx5_ifc_inner_bits inner[2];
      union { u8 all[0x20]; struct { u8 high[0x4]; u8 rest[0x1c]; }; };
      u8 pas[][0x40];
    };`);
  const { bits, fields } = header.find('outer');
  t.equal(bits, 0x80);
  t.same(fields.get('inner.low'), { offset: 0x28, bits: 0x18 });
  t.same(fields.get('inner'), { offset: 0x20, bits: 0x40 });
  t.same(fields.get('rest'), { offset: 0x64, bits: 0x1c });
  t.throws(() => header.find('none'), /has no structure mlx5_ifc_none_bits/);
  const outer = (first: number, name: string, sizeBytes = 16) => ({
    name: 'outer',
    doc: '',
    endian: 'big' as const,
    sizeBytes,
    fields: [{ name, bits: first }, { bits: 32 - first }, { name: 'all', bits: 32 }, { bits: sizeBytes * 8 - 64 }],
  });
  t.same(compareWithHeader(header, [outer(8, 'first')]), [
    'outer.first: bits 0 to 7, in the header 0 to 15',
    'outer.all: bits 32 to 63, in the header 96 to 127',
  ]);
  t.same(compareWithHeader(header, [outer(16, 'gone', 32)]), [
    'outer: 32 bytes, in the header 16',
    'outer.gone: the header has no such field',
    'outer.all: bits 32 to 63, in the header 96 to 127',
  ]);
});
