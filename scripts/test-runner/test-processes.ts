// SPDX-License-Identifier: Apache-2.0
/**
 * Which tests share a process. A process costs a second before its first test, so the tests of a
 * folder that touch nothing outside their process share one. Pure. Called by main.ts.
 */

/** What one process runs. */
export interface TestProcess {
  /** The folder of the files, or the one file. */
  readonly name: string;
  /** Paths of the files, in the order in which they run. */
  readonly files: readonly string[];
}

/** Folders whose tests are pure computation, each with a process for each of its folders. */
const PURE = ['device', 'protocol/infiniband', 'scripts/generate'];
/** Folders below them whose tests start processes. */
const LIVE = ['device/main'];

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

/** A module that runs the files of a process; `up` leads from it to the root of the repository. */
export function moduleOf({ files }: TestProcess, up: string): string {
  return files.map((file) => `await import('${up}/${file}');\n`).join('');
}

/** The folder whose tests share a process with those of `file`; undefined if it has its own. */
function sharedFolder(file: string): string | undefined {
  if (LIVE.some((folder) => file.startsWith(`${folder}/`))) return undefined;
  const pure = PURE.find((folder) => file.startsWith(`${folder}/`));
  if (pure === undefined) return undefined;
  const [first] = file.slice(pure.length + 1).split('/');
  return first?.endsWith('.ts') ? pure : `${pure}/${first}`;
}
