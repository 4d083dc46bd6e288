// SPDX-License-Identifier: Apache-2.0
/**
 * Record of the last compile of a module: its inputs and how long it took, kept in its build
 * folder, so that the next compile can say why it is needed and how long it may take. Called by
 * module-build.ts.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { shorten } from './compiler-messages.ts';
import { digestFiles, isMakefile, type ModuleSources } from './module-sources.ts';
import { describeTime, type StepDetails } from './progress.ts';

/** The last compile of a module for one kernel. */
export interface BuildRecord {
  /** The folder of the sources. */
  readonly directory: string;
  readonly release: string;
  /** The identity of the toolchain. */
  readonly toolchain: string;
  /** A hash of each file that went in, by the name that messages give it. */
  readonly inputs: Readonly<Record<string, string>>;
  /** How long it took. */
  readonly lastMs: number;
  /** How long it took when all files had to be compiled. */
  readonly wholeMs: number;
}

/** Inputs that decide whether a module is compiled. */
export type BuildInputs = Pick<BuildRecord, 'directory' | 'release' | 'toolchain' | 'inputs'>;

const RECORD = 'build.json';
const LISTED = /^obj-(?:m|y)\s*[:+]?=(.*)$/gm;
const PCI_DRIVER = /\bmodule_pci_driver\b|\bpci_register_driver\b|\bMODULE_DEVICE_TABLE\s*\(\s*pci\b/;

/** The record in a build folder; undefined when there is none, or none that can be read. */
export function readRecord(folder: string): BuildRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(join(folder, RECORD), 'utf8')) as Partial<BuildRecord>;
    return typeof record.lastMs === 'number' && record.inputs !== undefined ? (record as BuildRecord) : undefined;
  } catch {
    return undefined;
  }
}

/** The records in other folders of `root` than `folder` for the sources in `directory`. */
export function readOtherRecords(root: string, folder: string, directory: string): BuildRecord[] {
  if (!existsSync(root)) return [];
  const others = readdirSync(root).map((name) => join(root, name));
  return others
    .flatMap((other) => (other === folder ? [] : (readRecord(other) ?? [])))
    .filter((record) => record.directory === directory);
}

export function writeRecord(folder: string, record: BuildRecord): void {
  writeFileSync(join(folder, RECORD), JSON.stringify(record));
}

/** The hashes of the sources, by their paths. */
export function hashFiles(files: ModuleSources['files'], prefix = ''): Record<string, string> {
  return Object.fromEntries(digestFiles(files).map((line) => splitDigest(`${prefix}${line}`)));
}

function splitDigest(line: string): [string, string] {
  const at = line.lastIndexOf(' ');
  return [line.slice(0, at), line.slice(at + 1)];
}

/** Words for a module in messages: `the driver vuhca.ko`. */
export function describeModule({ files, directory }: ModuleSources): string {
  const makefiles = files.filter(({ path }) => isMakefile(path)).map(({ content }) => content.toString());
  const lists = makefiles.flatMap((text) => Array.from(text.matchAll(LISTED), ([, list]) => list as string));
  const objects = lists.flatMap((list) => list.match(/[\w-]+(?=\.o\b)/g) ?? []);
  const [name] = objects;
  if (name === undefined || objects.length > 1) return `the modules of ${shorten(directory)}`;
  const isDriver = files.some(({ content }) => PCI_DRIVER.test(content.toString('latin1')));
  return `the ${isDriver ? 'driver' : 'module'} ${name}.ko`;
}

/**
 * Why a compile is needed and how long the last one took. `mine` is the record for the same kernel,
 * `others` are those for other kernels; `isUnfinished` tells that the last compile did not end.
 */
export function explainCompile(
  now: BuildInputs,
  mine: BuildRecord | undefined,
  others: readonly BuildRecord[],
  isUnfinished: boolean,
): StepDetails {
  if (mine === undefined) {
    const [other] = others;
    const reason = isUnfinished
      ? 'its last compile was interrupted'
      : other === undefined
        ? 'it is compiled for the first time'
        : 'it was not compiled for this kernel before';
    return other === undefined
      ? { reason }
      : { reason, ...tell(other.wholeMs, `took ${describeTime(other.wholeMs)} for the kernel ${other.release}`) };
  }
  const changed = listChanges(mine.inputs, now.inputs);
  const isWhole = isUnfinished || mine.toolchain !== now.toolchain || changed.some((name) => !name.endsWith('.c'));
  const ms = isWhole ? mine.wholeMs : mine.lastMs;
  const earlier = tell(ms, `took ${describeTime(ms)} last time`);
  if (isUnfinished) return { reason: 'its last compile was interrupted', ...earlier };
  if (mine.toolchain !== now.toolchain) return { reason: 'headers or compiler of the kernel have changed', ...earlier };
  return { reason: describeChanges(changed), ...earlier };
}

function tell(expectedMs: number, earlier: string): StepDetails {
  return { expectedMs, earlier };
}

/** Names of inputs that differ, are new or are gone. */
function listChanges(before: BuildRecord['inputs'], now: BuildRecord['inputs']): string[] {
  const names = new Set([...Object.keys(now), ...Object.keys(before)]);
  return [...names].filter((name) => before[name] !== now[name]);
}

function describeChanges([first, ...others]: readonly string[]): string {
  if (first === undefined) return 'the cache no longer has the result';
  if (others.length === 0) return `${first} has changed`;
  return `${first} and ${others.length === 1 ? 'another file' : `${others.length} other files`} have changed`;
}
