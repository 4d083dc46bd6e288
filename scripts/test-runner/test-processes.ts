// SPDX-License-Identifier: Apache-2.0
/**
 * Which tests share a process. A process costs half a second and more before its first test, so
 * the short tests of a folder run in one, in turn. Pure. Called by main.ts.
 */

/** What one process runs. */
export interface TestProcess {
  /** The folder of the files, or the one file. */
  readonly name: string;
  /** Paths of the files, in the order in which they run. */
  readonly files: readonly string[];
}

/**
 * Folders whose tests share processes. Of `each` every folder inside has a process of its own; the
 * files of another entry share one, where each file finds loaded what the ones before it needed.
 */
const SHARED: readonly { readonly folder: string; readonly each?: boolean }[] = [
  { folder: 'device/main' },
  { folder: 'device', each: true },
  { folder: 'protocol/infiniband' },
  { folder: 'protocol/vfio-user' },
  { folder: 'qemu' },
  { folder: 'guest-tests' },
  { folder: 'scripts/cli' },
  { folder: 'scripts/generate' },
  { folder: 'scripts' },
];
/**
 * Files with a process of their own all the same: those that start guests or compile for long, and
 * those that change the environment of their process or what runs before each test.
 */
const ALONE: readonly RegExp[] = [
  /^device\/main\/two-processes\./,
  /^qemu\/(accelerator|guest)\./,
  /^qemu\/setup\/(cache|module-build|packages|qemu)\./,
  /^guest-tests\/(guest|module-layers|mthca|peers|provider|verbs)\./,
  /^scripts\/cli\/(break-command|breakpoint|readme|run-command|two-subnets)\./,
  /^scripts\/cli\/test\/test-command\./,
  /^scripts\/bench\/allocation\./,
  /^scripts\/(package\/package|start\/start|bootstrap)\./,
];

/** The processes for `files`, which are paths from the root of the repository. */
export function planProcesses(files: readonly string[]): readonly TestProcess[] {
  const byName = new Map<string, string[]>();
  for (const file of [...files].sort()) {
    const name = sharedFolder(file) ?? file;
    const shared = byName.get(name);
    if (shared === undefined) byName.set(name, [file]);
    else shared.push(file);
  }
  return [...byName].map(([name, shared]) => ({ name: shared.length > 1 ? name : shared[0], files: shared }));
}

/** Start of the comment before the tests of a file. */
export const FILE_MARK = 'file:';

/** A module that runs the files of a process; `up` leads from it to the root of the repository. */
export function moduleOf({ files }: TestProcess, up: string): string {
  const imports = files.map((file) => `t.comment('${FILE_MARK} ${file}');\nawait import('${up}/${file}');\n`);
  return `import t from 'tap';\n\n${imports.join('')}`;
}

/** The folder whose tests share a process with those of `file`; undefined if it has its own. */
function sharedFolder(file: string): string | undefined {
  if (file.endsWith('.long.ts') || ALONE.some((pattern) => pattern.test(file))) return undefined;
  const shared = SHARED.find(({ folder }) => file.startsWith(`${folder}/`));
  if (shared?.each !== true) return shared?.folder;
  const [first] = file.slice(shared.folder.length + 1).split('/');
  return first?.endsWith('.ts') ? shared.folder : `${shared.folder}/${first}`;
}
