// SPDX-License-Identifier: Apache-2.0
/**
 * Produces the texts of all generated files from the table sets, in memory. Both `npm run generate`
 * and `npm run check -- generated` use it, so written and compared texts cannot differ. Called by
 * main.ts.
 */
import type { ConstantTable, RegisterBlock, StructTable, ValueTable } from '../../protocol/layout/table.ts';
import { emitCHeader } from './c-header.ts';
import { type GeneratedModule, moduleText } from './generated-module.ts';
import type { GeneratedImports } from './imported-names.ts';
import { type LayoutHash, layoutHash } from './layout-hash.ts';
import { emitMarkdown, type ResetValues } from './markdown.ts';
import { lowerSnake } from './names.ts';
import { type ResolvedStruct, resolveStruct, TableError } from './resolve.ts';
import { type ResolvedBlock, resolveBlock } from './resolve-registers.ts';
import { registersModule } from './typescript-registers.ts';
import { structModule } from './typescript-struct.ts';
import { constantsModule, valuesModule } from './typescript-values.ts';

/** Tables that are generated into one folder. */
export interface TableSet {
  /** Heading and path of its page of the reference. */
  readonly title: string;
  readonly page: string;
  /** Folder of the `.gen.ts` files, relative to the repository. */
  readonly folder: string;
  /** Path of the C header, for the set that guest software sees. */
  readonly header?: string;
  readonly structs: readonly StructTable[];
  readonly registerBlocks: readonly RegisterBlock[];
  readonly valueTables: readonly ValueTable[];
  readonly constantTables: readonly ConstantTable[];
}

/** Inputs of the texts besides the tables. */
export interface OutputOptions {
  /** Values of registers for the reference, in place of those in the tables. */
  readonly resets?: ResetValues;
  /** Names that sources import; without them, modules have everything in the tables. */
  readonly imports?: GeneratedImports;
}

/** File texts by path relative to the repository; throws TableError and ImportError. */
export function generateOutputs(sets: readonly TableSet[], options: OutputOptions = {}): Map<string, string> {
  const outputs = new Map<string, string>();
  const modules = new Map<string, GeneratedModule>();
  for (const set of sets) generateSet(set, outputs, modules, options.resets);
  options.imports?.check(
    sets.map(({ folder }) => folder),
    modules,
  );
  for (const [path, module] of modules) {
    const text = moduleText(module, options.imports?.wantedFrom(path) ?? 'all');
    if (text !== undefined) outputs.set(path, text);
  }
  return outputs;
}

function generateSet(
  set: TableSet,
  outputs: Map<string, string>,
  modules: Map<string, GeneratedModule>,
  resets: ResetValues | undefined,
): void {
  const names = new Set(set.valueTables.map((table) => table.name));
  const structs = set.structs.map((table) => resolveStruct(table, names));
  const blocks = set.registerBlocks.map((block) => resolveBlock(block, names));
  checkFileNames(structs, blocks);
  const hash = layoutHash(structs, blocks, set.valueTables, set.constantTables);
  for (const struct of structs) modules.set(`${set.folder}/${struct.table.name}.gen.ts`, structModule(struct));
  modules.set(`${set.folder}/registers.gen.ts`, registersModule(blocks));
  modules.set(`${set.folder}/values.gen.ts`, valuesModule(set.valueTables));
  modules.set(`${set.folder}/constants.gen.ts`, constantsModule(set.constantTables, hash));
  if (set.header !== undefined) outputs.set(set.header, emitHeader(set, structs, blocks, hash));
  const { title, valueTables: values, constantTables: constants } = set;
  outputs.set(set.page, emitMarkdown({ title, structs, blocks, values, constants }, resets));
}

function emitHeader(
  set: TableSet,
  structs: readonly ResolvedStruct[],
  blocks: readonly ResolvedBlock[],
  hash: LayoutHash,
): string {
  const text = emitCHeader(structs, blocks, set.valueTables, set.constantTables, hash);
  const seen = new Set<string>();
  for (const [, name] of text.matchAll(/^(?:#define |\t)(VUHCA_\w+)(?: |$)/gm)) {
    if (seen.has(name)) throw new TableError(`C header: two rows lead to the same name ${name}`);
    seen.add(name);
  }
  return text;
}

function checkFileNames(structs: readonly ResolvedStruct[], blocks: readonly ResolvedBlock[]): void {
  const seen = new Set(['registers', 'values', 'constants']);
  for (const name of [...structs.map(({ table }) => table.name), ...blocks.map(({ block }) => `block ${block.name}`)]) {
    if (seen.has(name)) throw new TableError(`table "${name}": the name is used twice or reserved`);
    seen.add(name);
  }
  const types = new Set<string>();
  for (const { table } of structs) {
    const type = lowerSnake(table.name);
    if (types.has(type)) throw new TableError(`structure "${table.name}": C knows ${type} already`);
    types.add(type);
  }
}
