// SPDX-License-Identifier: Apache-2.0
/**
 * Checks that the files of the package's archive are those that its commands need. Called by
 * installed.long.ts.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Test } from 'tap';
import { ROOT, TSC } from './packed-package.ts';

/** Entry files of the commands of users; every other file is there because these import it. */
const ENTRIES = ['scripts/cli/main.ts', 'protocol/vfio-user/examples/edu.ts', 'protocol/vfio-user/client/index.ts'];
const IMPORTED_PACKAGE = /^(?:import .*|} )from '((?!node:)[^.'][^']*)';$|\bimport\('((?!node:)[^.'][^']*)'\)/gm;

/** Checks the files `packed`, relative to the root of the archive; `folder` takes our file. */
export function checkArchive(t: Test, packed: readonly string[], folder: string): void {
  const files = new Set(packed);
  const imported = listImported(folder);
  t.ok(imported.length > 100, `${imported.length} files`);
  const missing = imported.filter((file) => !files.has(file));
  t.same(missing, [], 'add what is missing to "files" in package.json');
  const folders = new Set(imported.map((file) => dirname(file)));
  const sources = packed.filter((file) => file.endsWith('.ts') && !file.startsWith('dist/'));
  t.same(
    sources.filter((file) => !folders.has(dirname(file))),
    [],
    'a folder that no command imports from; take it out of "files"',
  );
  t.same(
    packed.filter((file) =>
      /\.test\.|\/(test-support|testing|bench|demo)\/|bootstrap|node_modules|\.map\.map/.test(file),
    ),
    [],
    'nothing of tests',
  );
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: object };
  const foreign = sources.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORTED_PACKAGE)]
      // A file of a package has the package's name before it.
      .map(([, name, called]) => (name ?? called).replace(/^((?:@[^/]+\/)?[^/]+).*$/, '$1'))
      .filter((name) => !(name in dependencies))
      .map((name) => `${file} imports ${name}`),
  );
  t.same(foreign, [], 'packages that are no dependencies');
  for (const file of imported) {
    const texts = [...readFileSync(join(ROOT, file), 'utf8').matchAll(/new URL\('([^']+)', import\.meta\.url\)/g)];
    for (const [, path] of texts) {
      const wanted = join(dirname(file), path).replace(/\/$/, '');
      t.ok(
        packed.some((name) => name === wanted || name.startsWith(`${wanted}/`)),
        `${file} opens ${wanted}`,
      );
    }
  }
}

/** The files here that the commands import, directly or not; `folder` takes a file for tsc. */
function listImported(folder: string): string[] {
  const project = join(folder, 'imported.json');
  const types = join(ROOT, 'node_modules/@types');
  const files = ENTRIES.map((file) => join(ROOT, file));
  const content = { extends: join(ROOT, 'tsconfig.json'), include: [], files, compilerOptions: { typeRoots: [types] } };
  writeFileSync(project, JSON.stringify(content));
  const stdout = execFileSync(process.execPath, [TSC, '--listFilesOnly', '-p', project], { encoding: 'utf8' });
  return stdout
    .split('\n')
    .filter((path) => path.startsWith(ROOT) && !path.includes('node_modules'))
    .map((path) => relative(ROOT, path));
}
