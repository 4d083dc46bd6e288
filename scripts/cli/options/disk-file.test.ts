// SPDX-License-Identifier: Apache-2.0
/** What is taken as a disk, and the sentences for what is none. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { checkDisk } from './disk-file.ts';

const directory = makeDirectory(t);
const bootable = Buffer.alloc(512);
bootable.writeUInt16LE(0xaa55, 510);
const qcow2 = Buffer.from('QFI\xfb\x00\x00\x00\x03', 'latin1');

/** The path of a file with that content. */
function write(name: string, content: Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

t.test('disks', async () => {
  checkDisk('disk', write('a.qcow2', qcow2), true);
  checkDisk('disk', write('a.img', bootable), true);
  checkDisk('disk', write('b.img', Buffer.alloc(512)));
});

t.test('no disks', async (t) => {
  const mistakes = [
    [join(directory, 'none.img'), /^disk names \S+none\.img, which does not exist$/],
    [directory, /it is a folder; name a file$/],
    [write('c.qcow2', bootable), /c\.qcow2, which is no qcow2 image$/],
    [write('c.img', qcow2), /c\.img, a qcow2 image: its name must end in \.qcow2$/],
    [write('d.img', Buffer.alloc(1024)), /d\.img, which is neither a qcow2 image nor a disk with a boot sector$/],
    [write('empty.img', Buffer.alloc(0)), /empty\.img, which is neither a qcow2 image nor a disk/],
  ] as const;
  for (const [path, message] of mistakes)
    t.throws(() => checkDisk('disk', path, true), { name: 'UsageError', message }, path);
});
