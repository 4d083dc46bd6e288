// SPDX-License-Identifier: Apache-2.0
/**
 * Sets up the root file system of a guest after its packages were unpacked: what the packages' own
 * scripts would do, as far as a guest needs it (accounts, links of alternatives, names of hosts).
 * Programs of the new root run on this machine by the root's own dynamic linker. Called by
 * distribution.ts.
 */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type CommandOptions, run } from './tools/command.ts';

const LIBRARIES = 'usr/lib/x86_64-linux-gnu';
const LINKER = `${LIBRARIES}/ld-linux-x86-64.so.2`;
/** Where programs name it. */
const LINKER_OF_PROGRAMS = '/lib64/ld-linux-x86-64.so.2';
/** Documents that no program reads; the tests of pyverbs lie among the documents of rdma-core. */
const UNWANTED = ['usr/share/man', 'usr/share/locale', 'usr/share/info', 'usr/share/lintian'];
const KEPT_DOCUMENTS = ['rdma-core'];
const PYTHON_TESTS = 'usr/share/doc/rdma-core/tests';
const FOLDERS = ['dev', 'proc', 'sys', 'run', 'root', 'mnt', 'tmp', 'var/log', 'var/cache/opensm', 'var/lib'];
const FILES: Readonly<Record<string, string>> = {
  'etc/hostname': 'guest\n',
  'etc/hosts': '127.0.0.1 localhost\n::1 localhost ip6-localhost\n127.0.1.1 guest\n',
  'etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files\nservices: files\nprotocols: files\n',
  'etc/resolv.conf': '',
  'etc/fstab': '',
};
/** The kernel looks for modprobe in /sbin; awk is an alternative of Debian. */
const LINKS: Readonly<Record<string, string>> = {
  'usr/bin/awk': 'mawk',
  'var/run': '/run',
  'etc/mtab': '/proc/mounts',
};

/** A file of a guest, and where it lies on this machine. */
export interface ProgramFile {
  readonly path: string;
  readonly content: { readonly from: string };
}

/** The words that run `program` of `root`, under the name `name` when given. */
export function programOf(
  root: string,
  program: string,
  args: readonly string[],
  name = join(root, program),
): [string, string[]] {
  const linker = ['--library-path', join(root, LIBRARIES), '--argv0', name];
  return [join(root, LINKER), [...linker, join(root, program), ...args]];
}

/** `program` of `root`, the libraries that it needs and its linker, where it looks for them. */
export async function filesOf(root: string, program: string): Promise<ProgramFile[]> {
  const [linker, words] = programOf(root, program, []);
  const listed = await run(linker, ['--list', ...words]);
  const libraries = [...listed.matchAll(/^\s*([^\s/]+) => /gm)].map(([, name]) => join(LIBRARIES, name));
  return [
    { path: LINKER_OF_PROGRAMS, content: { from: join(root, LINKER) } },
    ...[program, ...libraries].map((path) => ({ path: `/${path}`, content: { from: join(root, path) } })),
  ];
}

/** Removes what no program of a guest reads from unpacked packages. */
export async function removeUnwanted(root: string): Promise<void> {
  for (const path of UNWANTED) rmSync(join(root, path), { recursive: true, force: true });
  const documents = join(root, 'usr/share/doc');
  if (!existsSync(documents)) return;
  removeDocuments(documents);
  await run('find', [documents, '-name', '*.gz', '-exec', 'gunzip', '--force', '{}', '+']);
}

/** Gives the unpacked packages in `root` what their scripts would. */
export async function configureRoot(root: string): Promise<void> {
  await removeUnwanted(root);
  for (const folder of FOLDERS) mkdirSync(join(root, folder), { recursive: true });
  chmodSync(join(root, 'tmp'), 0o1777);
  for (const [name, target] of [...mergedFolders(), ...Object.entries(LINKS)]) link(join(root, name), target);
  for (const file of ['passwd', 'group']) {
    copyFileSync(join(root, 'usr/share/base-passwd', `${file}.master`), join(root, 'etc', file));
  }
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(root, name), text);
}

/**
 * Compiles Debian's Python library and the modules of packages, as their scripts do. A guest under
 * TCG would need seconds for it at each start of Python.
 */
export function compilePython(root: string): Promise<void> {
  return compileModules(
    root,
    pythonFolders(root).map((name) => join(root, 'usr/lib', name)),
  );
}

/** Compiles the tests of pyverbs, all of which a run imports: that would take a guest longest. */
export function compilePythonTests(root: string): Promise<void> {
  return compileModules(root, [join(root, PYTHON_TESTS)]);
}

async function compileModules(root: string, paths: readonly string[]): Promise<void> {
  const version = pythonFolders(root).find((name) => name.includes('.')) as string;
  const options: CommandOptions = { env: { ...process.env, PYTHONHOME: join(root, 'usr') } };
  const args = ['-m', 'compileall', '-q', '--invalidation-mode', 'unchecked-hash', '-s', root, '-p', '/', ...paths];
  await run(...programOf(root, `usr/bin/${version}`, args), options);
}

function pythonFolders(root: string): string[] {
  return readdirSync(join(root, 'usr/lib')).filter((name) => /^python3(\.\d+)?$/.test(name));
}

function mergedFolders(): [string, string][] {
  return ['bin', 'lib', 'lib64', 'sbin'].map((name) => [name, `usr/${name}`]);
}

function link(path: string, target: string): void {
  if (!existsSync(path)) symlinkSync(target, path);
}

function removeDocuments(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!KEPT_DOCUMENTS.includes(name)) rmSync(join(folder, name), { recursive: true, force: true });
  }
}
