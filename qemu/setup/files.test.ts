// SPDX-License-Identifier: Apache-2.0
/** The files of a source folder that count. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { listFiles } from './files.ts';

t.test('folders and links to nothing are no files', async (t) => {
  const folder = t.testdir();
  for (const name of ['b.sh', 'a.py', 'c.c']) writeFileSync(join(folder, name), '');
  for (const name of ['__pycache__', 'folder.c', 'folder.sh']) mkdirSync(join(folder, name));
  symlinkSync('a.py', join(folder, 'link.py'));
  symlinkSync('nowhere', join(folder, 'lost.c'));
  symlinkSync('__pycache__', join(folder, 'cache.c'));
  t.same(listFiles(folder), ['a.py', 'b.sh', 'c.c', 'link.py']);
  t.same(listFiles(folder, /\.c$/), ['c.c']);
  t.throws(() => listFiles(join(folder, 'nowhere')), { code: 'ENOENT' });
});
