// SPDX-License-Identifier: Apache-2.0
/**
 * Divides the tests among processes. A process costs half a second and more before its first test,
 * so the short tests of a folder run in one, in turn. Pure. Called by main.ts.
 */

/** The tests of one process. */
export interface TestProcess {
  /** What the files have in common, or the one file. */
  readonly name: string;
  /** Paths of the files, in the order in which they run. */
  readonly files: readonly string[];
}

/**
 * Processes and the folders whose tests they run, the first match of a file counts. Each file finds
 * loaded and compiled what the ones before it needed, so processes are few, and none is much longer
 * than others.
 */
const SHARED: readonly { readonly name: string; readonly folders: readonly string[] }[] = [
  { name: 'device/process', folders: ['device/process'] },
  { name: 'device/rig/conformance', folders: ['device/rig/conformance'] },
  { name: 'device/rig', folders: ['device/rig'] },
  {
    name: 'device/commands',
    folders: ['collect', 'lane', 'pio', 'scheduler', 'shares'].map((folder) => `device/hca/${folder}`),
  },
  {
    name: 'device/queues',
    folders: ['hca/queues', 'hca/events', 'hca/transport', 'hca/protection', 'hca/trace', 'hosts'].map(
      (folder) => `device/${folder}`,
    ),
  },
  {
    name: 'device/fabric',
    folders: ['device/fabric', 'device/topology'],
  },
  { name: 'device', folders: ['device'] },
  { name: 'protocol/infiniband', folders: ['protocol/infiniband'] },
  { name: 'protocol/vfio-user', folders: ['protocol/vfio-user'] },
  { name: 'qemu', folders: ['qemu', 'guest-tests'] },
  { name: 'scripts/cli', folders: ['scripts/cli'] },
  { name: 'scripts', folders: ['scripts'] },
  { name: 'protocol/system', folders: ['protocol/system'] },
];
/**
 * Files with a process of their own all the same: those that start guests or compile for long,
 * those that change the environment of their process or what runs before each test, and those that
 * count allocations, which depend on what the process has compiled before.
 */
const ALONE: readonly RegExp[] = [
  /\/allocation\./,
  /^device\/process\/host\/two-processes\./,
  /^qemu\/(accelerator|guest|run-directory)\./,
  /^qemu\/setup\/(cache|packages|qemu)\./,
  /^guest-tests\/(guest|peers|provider|verbs)\./,
  /^scripts\/cli\/(debugger\/break-command|readme|run\/run-command|topology\/two-subnets)\./,
  /^scripts\/cli\/test\/test-command\./,
  /^scripts\/(start\/start|bootstrap)\./,
];

/** The processes for `files`, which are paths from the root of the repository. */
export function planProcesses(files: readonly string[]): readonly TestProcess[] {
  const byName = new Map<string, string[]>();
  for (const file of [...files].sort()) {
    const name = sharedName(file) ?? file;
    const shared = byName.get(name);
    if (shared === undefined) byName.set(name, [file]);
    else shared.push(file);
  }
  return [...byName].map(([name, shared]) => ({ name: shared.length > 1 ? name : shared[0], files: shared }));
}

/** Start of the comment before the tests of a file. */
export const FILE_MARK = 'file:';

/**
 * Once it has a teardown, tap's root ends at its first idle moment, and tests of the files behind
 * it are dropped without a failure. `after` is the same without that; the module ends the root.
 */
const HOLD = 't.teardown = t.after;';

/** A module that runs the files of a process; `up` leads from it to the root of the repository. */
export function moduleOf({ files }: TestProcess, up: string): string {
  const imports = files.map((file) => `t.comment('${FILE_MARK} ${file}');\nawait import('${up}/${file}');\n`);
  return `import t from 'tap';\n\n${HOLD}\n${imports.join('')}t.end();\n`;
}

/** The name of the process that `file` shares with others; undefined if it has its own. */
function sharedName(file: string): string | undefined {
  if (file.endsWith('.long.ts') || ALONE.some((pattern) => pattern.test(file))) return undefined;
  return SHARED.find(({ folders }) => folders.some((folder) => file.startsWith(`${folder}/`)))?.name;
}
