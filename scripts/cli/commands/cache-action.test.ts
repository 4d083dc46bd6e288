// SPDX-License-Identifier: Apache-2.0
/** Output of `vuhca setup --sizes` and `--remove`, and the part of the cache that they cover. */
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { cacheFolder } from '../../../protocol/system/private-folder.mjs';
import { hashOf } from '../../../qemu/setup/cache.ts';
import { removeFromCache, type Selection, showSizes } from './cache-action.ts';

const H = '0123456789abcdef';
const DAY_S = 86_400;

function prepare(t: Test, ...paths: readonly string[]): void {
  process.env.XDG_CACHE_HOME = t.testdir({});
  for (const path of paths) {
    const whole = join(cacheFolder(), path);
    mkdirSync(join(whole, '..'), { recursive: true });
    writeFileSync(whole, '');
  }
}

/** Removes the selected part; no process uses anything. */
function remove(selection: Selection): Promise<string> {
  return removeFromCache(selection, () => () => undefined);
}

/** Kinds and counts of a table, without its sizes. */
function kindsOf(text: string): string[] {
  return Array.from(text.matchAll(/^(\S+) +(\d+) +\d/gm), ([, kind, count]) => `${kind} ${count}`);
}

const KERNELS = [
  `artifacts/guest-kernel-${H}/usr/lib/modules/6.12.1+deb13-amd64/x`,
  `artifacts/guest-kernel-1${H.slice(1)}/usr/lib/modules/6.1.0-50-amd64/x`,
  `artifacts/kernel-toolchain-${H}/usr/src/linux-headers-6.1.0-50-amd64/x`,
];

t.test('sizes by kind, the largest first', async (t) => {
  prepare(t, `artifacts/qemu-${H}/a`, `artifacts/initramfs-${H}/a`, `artifacts/initramfs-1${H.slice(1)}/a`);
  writeFileSync(join(cacheFolder(), `artifacts/qemu-${H}/a`), 'x'.repeat(100_000));
  const text = showSizes({ kind: 'all' });
  t.same(kindsOf(text), ['qemu 1', 'images 2', 'all 3']);
  t.match(text, `${cacheFolder()}\n`);
  t.match(text, /^kind +entries +size +last used$/m);
  t.match(text, /^qemu +1 +[\d.]+ KiB +\d+ s ago$/m);
  t.same(kindsOf(showSizes({ kind: 'images' })), ['images 2', 'all 2']);
});

t.test('sets of packages by their names, the one of longest ago first', async (t) => {
  const names = (hash: string): string => `artifacts/package-${hash}/etc/vuhca/packages`;
  prepare(t, names(`set-${H}`), names(`image-${H}`), names(`set-1${H.slice(1)}`), `artifacts/qemu-${H}/a`);
  const set = (path: string, text: string): void => writeFileSync(join(cacheFolder(), path), text);
  set(names(`set-${H}`), 'fio\ngcc\n');
  set(names(`image-${H}`), 'fio\ngcc\n');
  set(names(`set-1${H.slice(1)}`), 'nginx\n');
  const days = Date.now() / 1000 - 40 * DAY_S;
  utimesSync(join(cacheFolder(), `artifacts/package-set-1${H.slice(1)}`), days, days);
  const text = showSizes({ kind: 'all' });
  t.same(kindsOf(text.split('\n\n')[1] ?? ''), ['nginx 1', 'fio,gcc 2']);
  t.match(text, /^nginx .* 960 h 0 min ago$/m);
  t.match(text, 'Sets stay until `vuhca setup sets --remove --unused DAYS` removes them.');
  t.notMatch(showSizes({ kind: 'qemu' }), 'Sets stay');
  t.same(kindsOf(await remove({ kind: 'sets', unusedDays: 30 })), ['sets 1', 'all 1']);
});

t.test('an empty cache', async (t) => {
  prepare(t);
  t.same(kindsOf(showSizes({ kind: 'all' })), ['all 0']);
  t.same(kindsOf(await remove({ kind: 'all' })), ['all 0']);
});

t.test('contents of a kernel, by its version, its release and its name', async (t) => {
  prepare(t, ...KERNELS, `artifacts/qemu-${H}/a`);
  const answer = join(cacheFolder(), 'resolved', `guest-kernel-${hashOf(['release', 'bookworm'])}.json`);
  mkdirSync(join(answer, '..'));
  writeFileSync(answer, JSON.stringify([{ file: 'linux-image-6.1.0-50-amd64_6.1.1_amd64.deb' }]));
  for (const kernel of ['6.1', '6.1.0-50-amd64', 'bookworm'])
    t.same(kindsOf(showSizes({ kind: 'all', kernel })).sort(), ['all 2', 'kernel 1', 'toolchain 1'], kernel);
  t.same(kindsOf(showSizes({ kind: 'kernel', kernel: '6.12' })), ['kernel 1', 'all 1']);
  for (const kernel of ['5.1', '6.1.0-5', 'x', 'trixie'])
    t.throws(() => showSizes({ kind: 'all', kernel }), {
      name: 'UsageError',
      message: `the cache has nothing of a kernel ${kernel}; it has 6.1.0-50-amd64, 6.12.1+deb13-amd64`,
    });
  prepare(t);
  t.throws(() => showSizes({ kind: 'all', kernel: '6.1' }), { message: /it has nothing of any kernel/ });
});

t.test('a removal of a kind, of what is old, of all', async (t) => {
  prepare(t, ...KERNELS, `artifacts/qemu-${H}/a`, 'resolved/x-0123456789abcdef.json', 'tsx/1-x', 'notes.txt');
  const toolchain = join(cacheFolder(), `artifacts/kernel-toolchain-${H}`);
  const old = Date.now() / 1000 - 31 * DAY_S;
  utimesSync(toolchain, old, old);
  t.same(kindsOf(showSizes({ kind: 'all', unusedDays: 30 })), ['toolchain 1', 'all 1']);
  t.same(kindsOf(await remove({ kind: 'kernel', kernel: '6.12' })), ['kernel 1', 'all 1']);
  t.same(kindsOf(await remove({ kind: 'all', unusedDays: 30 })), ['toolchain 1', 'all 1']);
  t.notOk(existsSync(toolchain));
  t.same(kindsOf(await remove({ kind: 'all' })).sort(), ['all 4', 'kernel 1', 'packages 1', 'qemu 1', 'sources 1']);
  t.same(kindsOf(showSizes({ kind: 'all' })), ['all 0']);
  t.ok(existsSync(join(cacheFolder(), 'notes.txt')));
});

t.test('what a process uses is told', async (t) => {
  prepare(t, `artifacts/qemu-${H}/a`);
  const said = await removeFromCache({ kind: 'all' }, () => () => 77);
  t.match(said, new RegExp(`^stays: qemu-${H} \\([\\d.]+ KiB\\): process 77 uses it$`, 'm'));
  t.same(kindsOf(said), ['all 0']);
});
