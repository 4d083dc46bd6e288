// SPDX-License-Identifier: Apache-2.0
/** A download that differs from apt's index is fetched again; an answer of apt is remembered. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import type { ArchiveFile } from './apt.ts';
import { cacheRoot } from './cache.ts';
import { type Download, dropFiles, fetchFiles, type Transport, withPackages } from './packages.ts';
import { SetupError } from './tools/errors.ts';

const GOOD = Buffer.from('the bytes of a package');

function describe(file: string, content = GOOD): ArchiveFile {
  const sha256 = createHash('sha256').update(content).digest('hex');
  return { uri: `file:/nowhere/${file}`, file, sizeBytes: content.length, sha256 };
}

/** A download that writes these contents in turn, then the last one always, and counts. */
function scripted(...contents: (Buffer | string)[]): { transport: Transport; calls: () => number } {
  let calls = 0;
  const download: Download = async (items) => {
    const content = contents[Math.min(calls++, contents.length - 1)] as Buffer | string;
    if (typeof content === 'string') return content;
    for (const { target } of items) writeFileSync(target, content);
    return '';
  };
  return { transport: { download, pauseMs: 1 }, calls: () => calls };
}

t.beforeEach((t) => {
  process.env.XDG_CACHE_HOME = t.testdir({});
});

t.test('a whole file is fetched once', async (t) => {
  const { transport, calls } = scripted(GOOD);
  const [path] = await fetchFiles([describe('a.deb')], transport);
  t.same(readFileSync(path as string), GOOD);
  await fetchFiles([describe('a.deb')], transport);
  t.equal(calls(), 1);
});

t.test('a download cut short or corrupt is fetched again', async (t) => {
  const corrupt = Buffer.from(GOOD);
  corrupt[3] = (corrupt[3] as number) ^ 1;
  const { transport, calls } = scripted(GOOD.subarray(0, 5), corrupt, GOOD);
  const [path] = await fetchFiles([describe('a.deb')], transport);
  t.same(readFileSync(path as string), GOOD);
  t.equal(calls(), 3);
});

t.test('a corrupt file of an earlier run is replaced', async (t) => {
  const [path] = (await fetchFiles([describe('a.deb')], scripted(GOOD).transport)) as [string];
  writeFileSync(path, GOOD.toString().toUpperCase());
  t.same(await fetchFiles([describe('a.deb')], scripted(GOOD).transport), [path]);
  t.same(readFileSync(path), GOOD);
});

t.test('a file that never arrives whole is refused, and nothing of it stays', async (t) => {
  const { transport, calls } = scripted(Buffer.from('junk'));
  await t.rejects(fetchFiles([describe('a.deb')], transport), SetupError);
  t.equal(calls(), 3);
  t.notMatch(readdirSync(join(cacheRoot(), 'downloads'), { recursive: true }).join(' '), /deb/);
});

t.test('a first 404 is tried again', async (t) => {
  const { transport } = scripted('404  Not Found', GOOD);
  const [path] = await fetchFiles([describe('a.deb')], transport);
  t.same(readFileSync(path as string), GOOD);
});

t.test('dropped files are gone, and only they', async (t) => {
  const shared = describe('shared.deb');
  const files = [describe('a.deb'), shared];
  await fetchFiles(files, scripted(GOOD).transport);
  const [kept] = (await fetchFiles([shared], scripted(GOOD).transport)) as [string];
  dropFiles(files);
  t.ok(existsSync(kept), 'another recipe still needs it');
  t.notMatch(readdirSync(join(cacheRoot(), 'downloads'), { recursive: true }).join(' '), /a\.deb/);
});

t.test('an answer of apt is remembered', async (t) => {
  let asked = 0;
  const resolver = async (): Promise<ArchiveFile[]> => {
    asked++;
    return [describe('a.deb')];
  };
  const use = async (files: readonly ArchiveFile[]): Promise<string> => (files[0] as ArchiveFile).file;
  t.equal(await withPackages('request', 'q', resolver, use), 'a.deb');
  t.equal(await withPackages('request', 'q', resolver, use), 'a.deb');
  t.equal(asked, 1);
  await withPackages('request', 'another question', resolver, use);
  t.equal(asked, 2);
});

t.test('a damaged answer is asked for again', async (t) => {
  const resolver = async (): Promise<ArchiveFile[]> => [describe('a.deb')];
  await withPackages('request', 'q', resolver, async () => {});
  const directory = join(cacheRoot(), 'resolved');
  const [name] = readdirSync(directory);
  writeFileSync(join(directory, name as string), '[{"uri": "fi');
  t.equal(await withPackages('request', 'q', resolver, async (files) => files.length), 1);
});

t.test('a version the archive dropped is resolved with a new index', async (t) => {
  const seen: boolean[] = [];
  const resolver = async (refresh: boolean): Promise<ArchiveFile[]> => {
    seen.push(refresh);
    return [refresh ? describe('new.deb') : describe('old.deb')];
  };
  const download: Download = async (items) => {
    for (const { file, target } of items) if (file.file === 'new.deb') writeFileSync(target, GOOD);
    return '404  Not Found';
  };
  const [path] = await withPackages('request', 'q', resolver, (files) => fetchFiles(files, { download, pauseMs: 1 }));
  t.match(path, /new\.deb$/);
  t.same(seen, [false, true]);
});
