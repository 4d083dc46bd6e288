// SPDX-License-Identifier: Apache-2.0
/** Processes that use a part of the cache, in each way in which the kernel shows it. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { lookForUsers } from './cache-users.ts';

const ROOT = '/home/x/.cache/vuhca';
const QEMU = `${ROOT}/artifacts/qemu-0123456789abcdef`;

t.test('a program, a folder, an open or mapped file, a word of a command', async (t) => {
  const proc = t.testdir({ self: {}, 12: { fd: {} }, [process.pid]: { fd: {} }, version: '' });
  symlinkSync(join(QEMU, 'bin/other'), join(proc, String(process.pid), 'exe'));
  const ways: ((id: string, path: string) => void)[] = [
    (folder, path) => symlinkSync(`${path}/bin/qemu`, join(folder, 'exe')),
    (folder, path) => symlinkSync(path, join(folder, 'cwd')),
    (folder, path) => symlinkSync(`${path}/sub`, join(folder, 'root')),
    (folder, path) => symlinkSync(path, join(folder, 'fd/7')),
    (folder, path) =>
      writeFileSync(join(folder, 'maps'), `7f00-7f01 r-xp 00 00:01 1\n7f02-7f03 r--p 00 00:01 2  ${path}/a.so\n`),
    (folder, path) => writeFileSync(join(folder, 'cmdline'), `qemu\0-kernel\0${path}/vmlinuz\0`),
    (folder, path) => writeFileSync(join(folder, 'cmdline'), `qemu\0-drive\0file=${path}/a,if=none\0`),
    (folder, path) => writeFileSync(join(folder, 'cmdline'), `ls\0${path}\0`),
  ];
  symlinkSync(`${QEMU}/x (deleted)`, join(proc, '12/fd/7'));
  t.equal(lookForUsers(ROOT, proc)(QEMU), undefined, 'neither this process nor a file that is gone');
  for (const [i, use] of ways.entries()) {
    const folder = join(proc, String(100 + i));
    const path = `${QEMU}${i}`;
    mkdirSync(join(folder, 'fd'), { recursive: true });
    use(folder, path);
    const find = lookForUsers(ROOT, proc);
    t.equal(find(path), 100 + i, `way ${i}`);
    t.equal(find(path.slice(0, -2)), undefined, 'the beginning of another name');
    t.equal(find(`${path}.tmp`), undefined, 'a longer name');
    t.equal(find(`${ROOT}/artifacts`), 100, 'all that lies below');
  }
});
