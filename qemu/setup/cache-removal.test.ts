// SPDX-License-Identifier: Apache-2.0
/** A removal takes what nobody uses, whatever happens meanwhile, and nothing outside. */
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { cacheRoot, provide } from './cache.ts';
import { type CacheEntry, listCache } from './cache-contents.ts';
import { removeEntries } from './cache-removal.ts';
import type { FindUser } from './cache-users.ts';
import { withLock } from './lock.ts';

const nobody = (): FindUser => () => undefined;

function prepare(t: Test): string {
  process.env.XDG_CACHE_HOME = t.testdir({ vuhca: {} });
  return cacheRoot();
}

function makeArtifact(name: string, digit = '0'): string {
  const path = join(cacheRoot(), 'artifacts', `${name}-${digit.repeat(16)}`);
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, 'out'), name);
  return path;
}

/** What the removal says of each entry, by its name. */
async function remove(entries: readonly CacheEntry[], look?: () => FindUser): Promise<Record<string, string>> {
  const removals = await removeEntries(entries, look ?? nobody);
  return Object.fromEntries(removals.map(({ entry, kept }) => [basename(entry.path), kept ?? 'gone']));
}

t.test('more entries than are removed at a time', async (t) => {
  const answers = join(prepare(t), 'resolved');
  mkdirSync(answers);
  for (let i = 10; i < 50; i++) writeFileSync(join(answers, `answer-${'0'.repeat(14)}${i}.json`), '');
  const said = await remove(listCache());
  t.equal(Object.keys(said).length, 40);
  t.ok(Object.values(said).every((text) => text === 'gone'));
  t.same(readdirSync(answers), []);
});

t.test('what is being made stays, with what it needs', async (t) => {
  const root = prepare(t);
  const busy = makeArtifact('busy');
  makeArtifact('free');
  mkdirSync(join(root, 'artifacts', `half-${'1'.repeat(16)}.tmp`));
  mkdirSync(join(root, 'downloads', '2'.repeat(16)), { recursive: true });
  mkdirSync(join(root, 'builds', `module-${'3'.repeat(16)}`), { recursive: true });
  const locks = [`busy-${'0'.repeat(16)}`, `half-${'1'.repeat(16)}`, `compilers-${'3'.repeat(16)}`];
  const all = locks.reduceRight<() => Promise<void>>(
    (inner, name) => () => withLock(join(root, 'locks', `${name}.lock`), inner),
    async () => {
      const said = await remove(listCache());
      const kept = 'another process makes it';
      t.same(said, {
        [basename(busy)]: kept,
        [`free-${'0'.repeat(16)}`]: 'gone',
        [`half-${'1'.repeat(16)}.tmp`]: kept,
        ['2'.repeat(16)]: kept,
        [`module-${'3'.repeat(16)}`]: kept,
      });
      t.equal(readFileSync(join(busy, 'out'), 'utf8'), 'busy');
    },
  );
  await all();
  t.ok(Object.values(await remove(listCache())).every((text) => text === 'gone'));
});

t.test('what a process uses stays, also one that has begun in the last moment', async (t) => {
  prepare(t);
  const [early, late, moved] = ['early', 'late', 'moved'].map((name) => makeArtifact(name)) as [string, string, string];
  let looks = 0;
  const look = (): FindUser => {
    looks++;
    return (path) => {
      if (path === early) return 11;
      if (path === late) return looks > 1 ? 12 : undefined;
      return path === `${moved}.tmp` ? 13 : undefined;
    };
  };
  t.same(await remove(listCache(), look), {
    [basename(early)]: 'process 11 uses it',
    [basename(late)]: 'process 12 uses it',
    [basename(moved)]: 'process 13 uses it',
  });
  for (const path of [early, late, moved]) t.ok(existsSync(join(path, 'out')), path);
  t.equal(readdirSync(dirname(early)).length, 3, 'nothing is left aside');
});

t.test('links: only the link goes', async (t) => {
  const root = prepare(t);
  const outside = join(dirname(root), 'outside');
  mkdirSync(outside);
  writeFileSync(join(outside, 'mine'), '');
  const artifact = makeArtifact('thing');
  symlinkSync(outside, join(artifact, 'folder'));
  symlinkSync(outside, join(root, 'artifacts', `linked-${'0'.repeat(16)}`));
  symlinkSync(join(outside, 'absent'), join(root, 'artifacts', `broken-${'0'.repeat(16)}`));
  t.same(Object.values(await remove(listCache())), ['gone', 'gone', 'gone']);
  t.same(readdirSync(join(root, 'artifacts')), []);
  t.same(readdirSync(outside), ['mine']);
});

t.test('what another process has removed meanwhile, and what a killed removal left', async (t) => {
  const root = prepare(t);
  const path = makeArtifact('thing');
  const entries = listCache();
  t.same(await remove(entries), { [basename(path)]: 'gone' });
  t.same(await remove(entries), { [basename(path)]: 'gone' });
  makeArtifact('thing');
  mkdirSync(join(root, 'artifacts', `${basename(path)}.tmp`, 'half'), { recursive: true });
  await remove(listCache());
  t.same(readdirSync(join(root, 'artifacts')), []);
});

t.test('a process that was given an artifact is seen to use it', async (t) => {
  prepare(t);
  const recipe = {
    name: 'thing',
    key: 1,
    outputs: ['out'],
    build: async (at: string) => writeFileSync(join(at, 'out'), ''),
  };
  const path = await provide(recipe);
  const { lookForUsers } = await import('./cache-users.ts');
  // Seen as another process sees it: this one does not count for itself.
  const proc = join(dirname(cacheRoot()), 'proc');
  mkdirSync(proc);
  symlinkSync(`/proc/${process.pid}`, join(proc, '1'));
  const look = (root: string): FindUser => lookForUsers(root, proc);
  t.match(await removeEntries(listCache(), look), [{ kept: 'process 1 uses it' }]);
  t.ok(existsSync(join(path, 'out')));
  await removeEntries(listCache(), nobody);
  t.notOk(existsSync(path));
  t.equal(await provide(recipe), path, 'made anew');
  t.match(await removeEntries(listCache(), look), [{ kept: 'process 1 uses it' }], 'and used again');
});
