// SPDX-License-Identifier: Apache-2.0
/**
 * The busybox cpio program reads the archives that cpio.ts writes; an initramfs holds the files
 * that were asked for.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { writeCpio } from './cpio.ts';
import { listEntries } from './initramfs.ts';
import { type Busybox, provideBusybox } from './setup/busybox.ts';

function unpack(busybox: Busybox, archive: Buffer, directory: string): string {
  return execFileSync(busybox.path, ['cpio', '-idv'], { input: archive, cwd: directory, stdio: 'pipe' }).toString();
}

t.test('entries of every kind', async (t) => {
  const busybox = await provideBusybox();
  const archive = writeCpio([
    { kind: 'directory', path: 'a' },
    { kind: 'file', path: 'a/odd', content: Buffer.from('12345'), mode: 0o644 },
    { kind: 'file', path: 'a/empty', content: Buffer.alloc(0), mode: 0o755 },
    { kind: 'link', path: 'a/link', target: 'odd' },
  ]);
  const listing = execFileSync(busybox.path, ['cpio', '-tv'], { input: archive, stdio: 'pipe' }).toString();
  t.match(listing, /^drwxr-xr-x .* a$/m);
  t.match(listing, /^-rw-r--r-- .* 5 .* a\/odd$/m);
  t.match(listing, /^-rwxr-xr-x .* 0 .* a\/empty$/m);
  t.match(listing, /^lrwxrwxrwx .* a\/link -> odd$/m);
  const directory = t.testdir({});
  unpack(busybox, archive, directory);
  t.equal(readFileSync(join(directory, 'a/link'), 'utf8'), '12345');
  t.same(
    archive,
    writeCpio([
      { kind: 'directory', path: 'a' },
      { kind: 'file', path: 'a/odd', content: Buffer.from('12345'), mode: 0o644 },
      { kind: 'file', path: 'a/empty', content: Buffer.alloc(0), mode: 0o755 },
      { kind: 'link', path: 'a/link', target: 'odd' },
    ]),
    'the same entries give the same bytes',
  );
});

t.test('the entries of an initramfs', async (t) => {
  const busybox = await provideBusybox();
  const module = join(t.testdir({}), 'm.ko');
  writeFileSync(module, 'module bytes');
  const entries = listEntries(
    {
      modules: [
        { name: 'first', path: module, parameters: 'debug=1' },
        { name: 'unloaded', path: module, load: false },
        { name: 'second', path: module },
      ],
      bootModules: [
        { name: 'virtio', path: module },
        { name: 'virtio_pci', path: module },
      ],
      files: [{ path: '/opt/deep/data', content: Buffer.from([1, 2, 3]), mode: 0o600 }],
      caseScript: '#!/bin/sh\necho hi\n',
    },
    busybox,
  );
  const paths = entries.map((entry) => entry.path);
  t.equal(new Set(paths).size, paths.length, 'no path twice');
  for (const path of paths.filter((path) => path.includes('/'))) {
    const parent = path.slice(0, path.lastIndexOf('/'));
    t.ok(paths.indexOf(parent) >= 0 && paths.indexOf(parent) < paths.indexOf(path), `${parent} comes before ${path}`);
  }
  const content = (path: string): string => {
    const entry = entries.find((entry) => entry.path === path);
    return entry?.kind === 'file' ? entry.content.toString() : 'absent';
  };
  t.equal(content('etc/modules'), 'first debug=1\nsecond\n');
  t.equal(content('modules/unloaded.ko'), 'module bytes');
  t.equal(content('etc/boot-modules'), 'virtio\nvirtio_pci\n');
  t.equal(content('modules/boot/virtio.ko'), 'module bytes');
  t.match(content('boot-modules.sh'), /insmod/);
  t.equal(content('opt/deep/data'), '\x01\x02\x03');
  t.match(content('case'), /echo hi/);
  t.match(content('init'), /insmod/);
  t.ok(paths.includes('bin/insmod') && paths.includes('bin/poweroff'));
});
