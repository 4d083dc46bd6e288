// SPDX-License-Identifier: Apache-2.0
/** The list of a cache has what set-up has made, by kind, with sizes, and nothing else. */
import { linkSync, mkdirSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import t from 'tap';
import { type CacheEntry, listCache, readEntry } from './cache-contents.ts';

const H = '0123456789abcdef';

/** A cache in a folder; each name that ends with a slash is a folder. */
function makeCache(root: string, ...paths: readonly string[]): void {
  for (const path of paths) {
    const whole = join(root, path);
    mkdirSync(path.endsWith('/') ? whole : join(whole, '..'), { recursive: true });
    if (!path.endsWith('/')) writeFileSync(whole, 'x'.repeat(10_000));
  }
}

function describe(entries: readonly CacheEntry[], root: string): string[] {
  return entries.map(({ kind, path, release = '', locks }) =>
    [`${kind}:`, relative(root, path), release, ...locks].filter(Boolean).join(' '),
  );
}

t.test('each kind, with the locks of its makers', async (t) => {
  const root = t.testdir({});
  makeCache(
    root,
    `artifacts/qemu-${H}/bin/qemu`,
    `artifacts/libvfio-user-${H}/a.so`,
    `artifacts/guest-kernel-${H}/usr/lib/modules/6.12.1+deb13-amd64/modules.order`,
    `artifacts/kernel-toolchain-${H}/usr/src/linux-headers-6.1.0-50-amd64/Makefile`,
    `artifacts/kernel-modules-${H}/a.ko`,
    `artifacts/initramfs-${H}/`,
    `artifacts/new-kind-${H}/`,
    `artifacts/qemu-${H.replace('0', '1')}.tmp/half`,
    `artifacts/qemu-${H.replace('0', '2')}.tmp-77/half`,
    `builds/module-${H}/source/a/a.o`,
    `downloads/${H}/a.deb`,
    `resolved/guest-kernel-${H}.json`,
    'apt/lists/a',
    'apt-bookworm/lists/a',
    'tsx/26-abc',
    `locks/qemu-${H}.lock`,
  );
  writeFileSync(
    join(root, `builds/module-${H}/build.json`),
    JSON.stringify({ release: '7.3.4+deb13-amd64', inputs: {}, lastMs: 1 }),
  );
  const making = `qemu-1${H.slice(1)}.lock qemu-2${H.slice(1)}.lock`;
  t.same(describe(listCache(root), root).sort(), [
    `images: artifacts/initramfs-${H} initramfs-${H}.lock`,
    `kernel: artifacts/guest-kernel-${H} 6.12.1+deb13-amd64 guest-kernel-${H}.lock`,
    `library: artifacts/libvfio-user-${H} libvfio-user-${H}.lock`,
    `modules: artifacts/kernel-modules-${H} kernel-modules-${H}.lock`,
    `modules: builds/module-${H} 7.3.4+deb13-amd64 build-${H}.lock compilers-${H}.lock`,
    `new-kind: artifacts/new-kind-${H} new-kind-${H}.lock`,
    'packages: apt apt.lock',
    'packages: apt-bookworm apt-bookworm.lock',
    `packages: downloads/${H} ${making}`,
    `packages: resolved/guest-kernel-${H}.json`,
    `qemu: artifacts/qemu-${H} qemu-${H}.lock`,
    `qemu: artifacts/qemu-1${H.slice(1)}.tmp qemu-1${H.slice(1)}.lock`,
    `qemu: artifacts/qemu-2${H.slice(1)}.tmp-77 qemu-2${H.slice(1)}.lock`,
    'sources: tsx',
    `toolchain: artifacts/kernel-toolchain-${H} 6.1.0-50-amd64 kernel-toolchain-${H}.lock`,
  ]);
});

t.test('what is not ours is not listed', async (t) => {
  const outside = t.testdir({ root: {}, other: { 'module-x': '' } });
  const root = join(outside, 'root');
  t.same(listCache(join(root, 'absent')), []);
  makeCache(root, 'notes.txt', 'artifacts/mine/', 'artifacts/qemu-1234/', `artifacts/Qemu-${H}/`, 'apt2/', 'builds/x/');
  makeCache(join(outside, 'other'), `module-${H}/a`, `${H}/a`);
  symlinkSync(join(outside, 'other'), join(root, 'downloads'));
  t.same(listCache(root), []);
});

t.test('what another process removes meanwhile is left out', async (t) => {
  const path = join(t.testdir({ here: {} }), 'here');
  t.match(readEntry({ kind: 'qemu', path, locks: [] }), [{ kind: 'qemu', path }]);
  t.same(readEntry({ kind: 'qemu', path: `${path}/gone`, locks: [] }), []);
});

t.test('sizes are those on the disk; links count as themselves, files with two names once', async (t) => {
  const root = t.testdir({});
  makeCache(root, `artifacts/qemu-${H}/a`, `artifacts/qemu-${H}/sub/b`, 'outside/large');
  const only = (): CacheEntry => listCache(root).find(({ kind }) => kind === 'qemu') as CacheEntry;
  const before = only().bytes;
  t.ok(before >= 20_000 && before % 512 === 0, String(before));
  linkSync(join(root, `artifacts/qemu-${H}/a`), join(root, `artifacts/qemu-${H}/again`));
  symlinkSync(join(root, 'outside'), join(root, `artifacts/qemu-${H}/out`));
  t.ok(only().bytes - before < 10_000, 'neither counts as the file');
  utimesSync(join(root, `artifacts/qemu-${H}`), 1000, 1000);
  t.equal(only().usedMs, 1_000_000);
});
