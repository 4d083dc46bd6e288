// SPDX-License-Identifier: Apache-2.0
/**
 * Compares the tables of mlx5 with the interface header of a kernel, which comes with the headers
 * that kernel modules are compiled with. Called by tests.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { StructTable } from '../../../protocol/layout/table.ts';
import { headerStructs } from '../../../protocol/mlx5/tables.ts';
import { HeaderLayouts } from '../../../protocol/mlx5/testing/header-layouts.ts';
import { resolveGuestKernel } from '../../../qemu/setup/kernel-choice.ts';
import { resolveStruct } from '../resolve.ts';

const HEADERS = ['mlx5_ifc_fpga.h', 'mlx5_ifc.h'];
const BITS_PER_BYTE = 8;
/** Fields of all commands; the header leaves them out where the driver does not use them. */
const ENVELOPE = ['uid', 'opMod'];

/** The header of the stock kernel called `kernel`, or of the default one. */
export async function readInterfaceHeader(kernel?: string): Promise<HeaderLayouts> {
  const { provideToolchain } = await resolveGuestKernel(kernel);
  const sources = dirname((await provideToolchain()).kernelDirectory);
  const common = readdirSync(sources).find((name) => name.endsWith('-common')) ?? '';
  const folder = join(sources, common, 'include/linux/mlx5');
  return new HeaderLayouts(HEADERS.map((name) => readFileSync(join(folder, name), 'utf8')).join('\n'));
}

/** A sentence for each structure and field that the header has elsewhere, or not at all. */
export function compareWithHeader(header: HeaderLayouts, tables: readonly StructTable[] = headerStructs): string[] {
  return tables.flatMap((table) => compareStruct(table, header));
}

function compareStruct(table: StructTable, header: HeaderLayouts): string[] {
  const found = header.find(table.name.replaceAll('-', '_'));
  const sentences: string[] = [];
  if (found.bits !== table.sizeBytes * BITS_PER_BYTE)
    sentences.push(`${table.name}: ${table.sizeBytes} bytes, in the header ${found.bits / BITS_PER_BYTE}`);
  const places = new Map([...found.fields].map(([name, place]) => [plain(name), place]));
  const values = new Set(table.fields.flatMap((row) => ('values' in row ? (row.values ?? []) : [])));
  for (const { name, bitOffset, widthBits } of resolveStruct(table, values).fields) {
    const place = places.get(plain(name));
    if (place === undefined) {
      if (!ENVELOPE.includes(name)) sentences.push(`${table.name}.${name}: the header has no such field`);
    } else if (place.offset !== bitOffset || place.bits !== widthBits) {
      const [ours, theirs] = [span(bitOffset, widthBits), span(place.offset, place.bits)];
      sentences.push(`${table.name}.${name}: bits ${ours}, in the header ${theirs}`);
    }
  }
  return sentences;
}

function span(offset: number, bits: number): string {
  return `${offset} to ${offset + bits - 1}`;
}

/** A name without the case and underscores in which our tables and the header differ. */
function plain(name: string): string {
  return name.replaceAll('_', '').toLowerCase();
}
