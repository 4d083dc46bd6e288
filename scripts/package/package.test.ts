// SPDX-License-Identifier: Apache-2.0
/**
 * The archive of the package has what its commands need, and nothing of tests. Nothing is compiled
 * for that: installed.long.ts checks the archive as it is packed, and uses it as a user does.
 */
import { execFileSync } from 'node:child_process';
import t from 'tap';
import { makeDirectory } from '../cli/testing/directory.ts';
import { checkArchive } from './testing/check-archive.ts';
import { AS_USER, ROOT } from './testing/packed-package.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

/** The files that npm would pack from the present tree. */
function listFiles(folder: string): string[] {
  const words = ['npm', 'pack', ROOT, '--dry-run', '--json', '--ignore-scripts'];
  const stdout = execFileSync('env', [...AS_USER, ...words], { cwd: folder, encoding: 'utf8', stdio: 'pipe' });
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  return files.map(({ path }) => path);
}

t.test('the archive has what the commands need, and no more', async (t) => {
  const folder = makeDirectory(t);
  checkArchive(t, listFiles(folder), folder);
});
