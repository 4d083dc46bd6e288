// SPDX-License-Identifier: Apache-2.0
/**
 * The artifact cache repairs itself: whatever a dead run left, the next run ends with a whole
 * artifact.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import t from 'tap';
import { cacheRoot, provide, type Recipe } from './cache.ts';
import { withLock } from './lock.ts';

/** A recipe that counts its builds and writes one file. */
function countingRecipe(name: string, key: unknown = 1): { recipe: Recipe; builds: () => number } {
  let builds = 0;
  const build = async (directory: string): Promise<void> => {
    builds++;
    writeFileSync(join(directory, 'out'), String(key));
  };
  return { recipe: { name, key, outputs: ['out'], build }, builds: () => builds };
}

t.beforeEach((t) => {
  process.env.XDG_CACHE_HOME = t.testdir({});
});

t.test('an artifact is built once and found again', async (t) => {
  const { recipe, builds } = countingRecipe('thing');
  const first = await provide(recipe);
  t.equal(await provide(recipe), first);
  t.equal(builds(), 1);
  t.equal(readFileSync(join(first, 'out'), 'utf8'), '1');
});

t.test('another key is another artifact', async (t) => {
  const one = await provide(countingRecipe('thing', 1).recipe);
  const two = await provide(countingRecipe('thing', 2).recipe);
  t.not(one, two);
  t.equal(readFileSync(join(one, 'out'), 'utf8'), '1');
});

t.test('a half-built artifact of a dead run is removed', async (t) => {
  const { recipe } = countingRecipe('thing');
  const directory = await provide(recipe);
  rmSync(directory, { recursive: true });
  const leftover = `${directory}.tmp-999999`;
  mkdirSync(leftover);
  writeFileSync(join(leftover, 'half'), '');
  await provide(recipe);
  t.notOk(existsSync(leftover));
  t.ok(existsSync(join(directory, 'out')));
});

t.test('a half-built artifact stays while its lock is held, and goes when it is free', async (t) => {
  const other = join(cacheRoot(), 'artifacts', `thing-${'0'.repeat(16)}`);
  // A number that no process here has: a builder in another PID namespace may have any.
  const leftovers = ['.tmp', '.tmp-999999', `.tmp-${process.pid}`].map((ending) => `${other}${ending}`);
  for (const leftover of leftovers) mkdirSync(leftover, { recursive: true });
  await withLock(join(cacheRoot(), 'locks', `${basename(other)}.lock`), async () => {
    await provide(countingRecipe('thing', 1).recipe);
    for (const leftover of leftovers) t.ok(existsSync(leftover), `${leftover}: its builder lives`);
  });
  await provide(countingRecipe('thing', 2).recipe);
  for (const leftover of leftovers) t.notOk(existsSync(leftover), `${leftover}: its builder is dead`);
});

t.test('an old artifact stays while its lock is held', async (t) => {
  const old = await provide(countingRecipe('thing', 1).recipe);
  const lock = join(cacheRoot(), 'locks', `${basename(old)}.lock`);
  const pruning = { ...countingRecipe('thing', 2).recipe, keep: 1 };
  utimesSync(old, new Date(0), new Date(0));
  await withLock(lock, () => provide(pruning));
  t.ok(existsSync(old));
  utimesSync(old, new Date(0), new Date(0));
  await provide({ ...countingRecipe('thing', 3).recipe, keep: 1 });
  t.notOk(existsSync(old));
  t.ok(existsSync(lock), 'a process that waits for the file and one that opens it anew exclude each other');
});

t.test('an old artifact stays while another process uses it', async (t) => {
  const old = await provide(countingRecipe('thing', 1).recipe);
  const user = spawn(process.execPath, ['-e', 'process.stdin.resume(); console.log("up")'], { cwd: old });
  await once(user.stdout, 'data');
  utimesSync(old, new Date(0), new Date(0));
  await provide({ ...countingRecipe('thing', 2).recipe, keep: 1 });
  t.ok(existsSync(old), 'a cluster starts its nodes again from it');
  user.stdin.end();
  await once(user, 'exit');
  await provide({ ...countingRecipe('thing', 3).recipe, keep: 1 });
  t.notOk(existsSync(old));
});

t.test('a cache that cannot be had is a sentence with a remedy', (t) => {
  const folder = t.testdir({ file: '' });
  for (const place of ['/dev/null', '/proc/none', join(folder, 'file')]) {
    process.env.XDG_CACHE_HOME = place;
    t.throws(() => cacheRoot(), {
      name: 'SetupError',
      message: /cannot be written to \(E[A-Z]+\); set XDG_CACHE_HOME/,
    });
  }
  t.end();
});

t.test('an artifact that lost an output is built again', async (t) => {
  const { recipe, builds } = countingRecipe('thing');
  rmSync(join(await provide(recipe), 'out'));
  t.ok(existsSync(join(await provide(recipe), 'out')));
  t.equal(builds(), 2);
});

t.test('a failed build leaves nothing and the next one succeeds', async (t) => {
  const { recipe } = countingRecipe('thing');
  const failing = { ...recipe, build: () => Promise.reject(new Error('no compiler')) };
  await t.rejects(provide(failing), { message: 'no compiler' });
  t.same(readdirSync(join(cacheRoot(), 'artifacts')), []);
  t.ok(existsSync(join(await provide(recipe), 'out')));
});

t.test('two callers at once build once', async (t) => {
  const { recipe, builds } = countingRecipe('thing');
  const [one, two] = await Promise.all([provide(recipe), provide(recipe)]);
  t.equal(one, two);
  t.equal(builds(), 1);
});

t.test('of artifacts not used for an hour only the newest are kept', async (t) => {
  const long = new Date(Date.now() - 2 * 3_600_000);
  for (const key of [1, 2, 3, 4]) utimesSync(await provide(countingRecipe('thing', key).recipe), long, long);
  await provide(countingRecipe('thing', 5).recipe);
  await provide(countingRecipe('thing-else').recipe);
  await provide({ ...countingRecipe('thing', 6).recipe, keep: 1 });
  const names = readdirSync(join(cacheRoot(), 'artifacts'));
  t.equal(names.filter((name) => /^thing-[0-9a-f]{16}$/.test(name)).length, 2, 'the two just made');
  t.equal(names.filter((name) => name.startsWith('thing-else')).length, 1);
});

t.test('a new artifact stays, whatever time its build gave the folder', async (t) => {
  const [old, older] = [new Date(Date.now() - 2 * 3_600_000), new Date(0)];
  for (const key of [1, 2, 3]) utimesSync(await provide(countingRecipe('thing', key).recipe), old, old);
  const { recipe } = countingRecipe('thing', 4);
  const build = async (directory: string): Promise<void> => {
    await recipe.build(directory, directory);
    utimesSync(directory, older, older);
  };
  t.equal(readFileSync(join(await provide({ ...recipe, build, keep: 1 }), 'out'), 'utf8'), '4');
});

t.test('the lock of a killed process is taken over', async (t) => {
  const lock = join(cacheRoot(), 'locks', 'thing.lock');
  const module = new URL('./lock.ts', import.meta.url).href;
  const script = `import { withLock } from ${JSON.stringify(module)};
    await withLock(${JSON.stringify(lock)}, () => { console.log('held'); return new Promise((r) => setTimeout(r, 60000)); });`;
  const holder = spawn(process.execPath, ['--import=#typescript', '--input-type=module', '--eval', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(holder.stdout, 'data');
  t.equal(readFileSync(lock, 'utf8').trim(), String(holder.pid), 'the lock file names its holder');
  let entered = false;
  const mine = withLock(lock, async () => {
    entered = true;
  });
  t.notOk(entered, 'a live holder keeps others out');
  holder.kill('SIGKILL');
  await mine;
  t.ok(entered);
});
