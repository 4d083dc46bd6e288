// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run generate`: writes everything derived from the layout tables (TypeScript accessors, the C
 * header, the register reference), from the driver's comments (the reference of its API), and from
 * the names of the test files (the table of tiers).
 * `npm run check -- generated` (`--check`) writes nothing and fails with the names of stale files.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { runEntry, SetupError } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions } from '../../qemu/setup/tools/script-options.ts';
import { fillTiers, TIERS_PATH } from '../test-runner/tier-table.ts';
import { API_PATH, ApiError, emitDriverApi, readDriverSources } from './driver-api.ts';
import { FAULTS_PATH, writeFaultSection } from './fault-section.ts';
import { readFreshRegisters } from './fresh-registers.ts';
import { findImports, type GeneratedImports, ImportError } from './imported-names.ts';
import { generateOutputs, type TableSet } from './outputs.ts';
import { TableError } from './resolve.ts';

const ROOT = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** A module of tables and where its files go. */
const SETS = [
  {
    module: 'protocol/layout/index.ts',
    title: 'Registers and structures of the adapter',
    page: 'docs/REGISTERS.md',
    folder: 'protocol/layout/gen',
    header: 'guest-tests/driver/vuhca_hw.h',
  },
  {
    module: 'protocol/infiniband/tables.ts',
    title: 'Wire formats',
    page: 'docs/formats/WIRE.md',
    folder: 'protocol/infiniband/gen',
  },
  {
    module: 'protocol/infiniband/mad/tables.ts',
    title: 'Management datagrams',
    page: 'docs/formats/MADS.md',
    folder: 'protocol/infiniband/mad/gen',
  },
  {
    module: 'protocol/mthca/tables.ts',
    title: 'Structures of the mthca personality',
    page: 'docs/formats/MTHCA.md',
    folder: 'protocol/mthca/gen',
  },
  {
    module: 'protocol/mlx5/tables.ts',
    title: 'Structures of the mlx5 personality',
    page: 'docs/formats/MLX5.md',
    folder: 'protocol/mlx5/gen',
  },
];

/** Loads every table module that exists. */
export async function loadTableSets(root = ROOT): Promise<TableSet[]> {
  const sets: TableSet[] = [];
  for (const { module, ...rest } of SETS) {
    const path = join(root, module);
    if (!existsSync(path)) continue;
    const tables = (await import(pathToFileURL(path).href)) as Partial<TableSet>;
    sets.push({
      ...rest,
      structs: tables.structs ?? [],
      registerBlocks: tables.registerBlocks ?? [],
      valueTables: tables.valueTables ?? [],
      constantTables: tables.constantTables ?? [],
    });
  }
  return sets;
}

/**
 * Paths whose content on disk differs from `outputs`, and generated files without a table or a
 * source that imports them.
 */
export function findStale(
  root: string,
  outputs: ReadonlyMap<string, string>,
): { changed: string[]; leftOver: string[] } {
  const changed = [...outputs.keys()].filter((path) => {
    const file = join(root, path);
    return !existsSync(file) || readFileSync(file, 'utf8') !== outputs.get(path);
  });
  const leftOver = SETS.flatMap(({ folder }) => {
    const files = existsSync(join(root, folder)) ? readdirSync(join(root, folder)) : [];
    return files.map((name) => `${folder}/${name}`).filter((path) => path.endsWith('.gen.ts') && !outputs.has(path));
  });
  return { changed, leftOver };
}

/** Writes stale files and removes those that are left over. */
export function writeOutputs(root: string, outputs: ReadonlyMap<string, string>): string[] {
  const { changed, leftOver } = findStale(root, outputs);
  for (const path of changed) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), outputs.get(path) ?? '');
  }
  for (const path of leftOver) rmSync(join(root, path));
  return [...changed, ...leftOver];
}

/** Inputs of all texts. Generated files are not among them. */
interface Inputs {
  readonly sets: readonly TableSet[];
  readonly imports: GeneratedImports;
}

async function readInputs(): Promise<Inputs> {
  return { sets: await loadTableSets(), imports: findImports(ROOT) };
}

/** The texts of all files that the tables decide alone: all but the page of registers. */
function generateCode({ sets, imports }: Inputs): Map<string, string> {
  const outputs = generateOutputs(sets, { imports });
  for (const { registerBlocks, page } of sets) if (registerBlocks.length > 0) outputs.delete(page);
  return outputs;
}

/** The texts of all generated files. */
async function generateAll({ sets, imports }: Inputs): Promise<Map<string, string>> {
  const outputs = generateOutputs(sets, { imports, resets: await readFreshRegisters() });
  outputs.set(API_PATH, emitDriverApi(readDriverSources(ROOT)));
  const tables = sets.flatMap(({ valueTables }) => valueTables);
  outputs.set(FAULTS_PATH, writeFaultSection(readFileSync(join(ROOT, FAULTS_PATH), 'utf8'), tables));
  outputs.set(TIERS_PATH, fillTiers(readFileSync(join(ROOT, TIERS_PATH), 'utf8')));
  return outputs;
}

/** Writes stale files and returns the exit status. */
async function generate(): Promise<number> {
  const inputs = await readInputs();
  // The adapter whose registers the reference shows is built from the generated code.
  const early = writeOutputs(ROOT, generateCode(inputs));
  const outputs = await generateAll(inputs);
  const written = [...early, ...writeOutputs(ROOT, outputs)];
  process.stdout.write(`generate: ${outputs.size} files, ${written.length} changed\n`);
  for (const path of written) process.stdout.write(`  ${path}\n`);
  return 0;
}

/** Names stale files and returns the exit status. */
async function check(): Promise<number> {
  const inputs = await readInputs();
  // Stale code may lack what the adapter imports, so the adapter is built only when it is fresh.
  return nameStale(generateCode(inputs)) || nameStale(await generateAll(inputs));
}

function nameStale(outputs: ReadonlyMap<string, string>): number {
  const { changed, leftOver } = findStale(ROOT, outputs);
  for (const path of changed) process.stderr.write(`${path}: stale; run npm run generate and commit it\n`);
  for (const path of leftOver) process.stderr.write(`${path}: nothing uses it; run npm run generate and commit\n`);
  return changed.length + leftOver.length === 0 ? 0 : 1;
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  await runEntry(async () => {
    const script = defineScript(
      'npm run generate --',
      "Writes the files derived from the layout tables and from the driver's comments.",
    );
    const checked = script.option('--check', 'Writes nothing and fails when a generated file is stale.');
    const { check: isCheck } = readOptions<{ check?: boolean }>(checked);
    process.exitCode = await (isCheck ? check() : generate()).catch((error: unknown) => {
      if (error instanceof TableError) throw new SetupError(`the tables have a mistake: ${error.message}`);
      const isExplained = error instanceof ApiError || error instanceof ImportError;
      throw isExplained ? new SetupError(error.message) : error;
    });
  });
}
