// SPDX-License-Identifier: Apache-2.0
/** Errors of the system, raised by the system itself, get a remedy; other errors are left alone. */
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { describeSystemError, errnoWords } from './errno-words.mjs';

const folder = mkdtempSync(join(tmpdir(), 'vuhca-test-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);
writeFileSync(path('file'), '');
mkdirSync(path('sub'));
writeFileSync(path('sub/file'), '');
symlinkSync('circle', path('circle'));

const provoked: Readonly<Record<string, () => unknown>> = {
  ENOENT: () => readFileSync(path('none')),
  EISDIR: () => openSync(path('sub'), 'w'),
  ENOTDIR: () => readFileSync(path('file/x')),
  ELOOP: () => readFileSync(path('circle')),
  ENAMETOOLONG: () => readFileSync(path('x'.repeat(300))),
  EEXIST: () => mkdirSync(path('sub')),
  ENOSPC: () => writeFileSync('/dev/full', 'x'),
  EXDEV: () => linkSync('/proc/version', path('version')),
  ENOTEMPTY: () => rmdirSync(path('sub')),
};

t.test('what the system raises', async (t) => {
  for (const [code, provoke] of Object.entries(provoked)) {
    try {
      provoke();
      t.fail(`no ${code}`);
    } catch (error) {
      t.match(errnoWords(error), new RegExp(`^\\(${code}\\): [a-z].*[a-z)]$`), code);
      t.equal(errnoWords(code), errnoWords(error));
      t.match(describeSystemError(error), new RegExp(`^[a-z]+ (of /\\S+.* )?fails \\(${code}\\): `), code);
    }
  }
});

t.test('what it does not raise', async (t) => {
  t.equal(errnoWords('ESTRANGE'), '(ESTRANGE)');
  t.equal(errnoWords(new Error('it is a disk')), '(it is a disk)');
  t.equal(errnoWords('toString'), '(toString)');
  for (const other of [new TypeError('x'), 'x', undefined, null, { code: 'ENOENT' }])
    t.equal(describeSystemError(other), undefined);
  t.equal(
    describeSystemError({ code: 'EPIPE', syscall: 'write' }),
    'write fails (EPIPE): its reader has gone; start it again, or write to a file',
  );
});
