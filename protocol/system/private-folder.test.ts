// SPDX-License-Identifier: Apache-2.0
/**
 * Folders whose paths others can guess. The tests check the same files as their owner and as
 * another user, so they need no second user; a test that runs as root, whom everybody trusts, first
 * gives its files to another user.
 */
import { chmodSync, lchownSync, lstatSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { cacheFolder, findStrangersPart, objectToFolder, providePrivateFolder } from './private-folder.mjs';

const SELF = process.geteuid?.() as number;
const OWNER = SELF === 0 ? 4243 : SELF;
const OTHER = OWNER + 1;
const SHARED = 0o1777;

/** A folder that everybody may write to, like /tmp, with a folder and links in it. */
function makeShared(t: Test): string {
  const shared = join(t.testdir({ shared: { made: { inner: {} } }, private: { run: {} } }), 'shared');
  symlinkSync(join(shared, '../private'), join(shared, 'link'));
  symlinkSync('shared/made', join(shared, '../way'));
  symlinkSync('loop', join(shared, 'loop'));
  if (SELF === 0) for (const name of readdirSync(shared)) lchownSync(join(shared, name), OWNER, OWNER);
  chmodSync(shared, SHARED);
  return shared;
}

t.test('a part that another user has put into a folder of everybody is found', (t) => {
  const shared = makeShared(t);
  const cases = {
    made: 'made',
    'made/inner': 'made',
    'made/absent': 'made',
    link: 'link',
    'link/run': 'link',
    'link/absent/deep': 'link',
    '../way': 'made',
    '../way/inner': 'made',
    absent: undefined,
    'absent/deep': undefined,
    '../private': undefined,
    '../private/run': undefined,
  };
  for (const [path, part] of Object.entries(cases)) {
    const expected = part === undefined ? undefined : join(shared, part);
    t.equal(findStrangersPart(join(shared, path), OTHER), expected, `${path} for another user`);
    t.equal(findStrangersPart(join(shared, path), OWNER), undefined, `${path} for its owner`);
  }
  t.equal(findStrangersPart(join(shared, 'loop'), OWNER), join(shared, 'loop'), 'a link to itself has an end');
  chmodSync(shared, 0o755);
  t.equal(findStrangersPart(join(shared, 'made'), OTHER), undefined, 'a folder that one user writes to');
  chmodSync(shared, 0o777);
  t.equal(findStrangersPart(join(shared, 'made'), OTHER), join(shared, 'made'), 'without the sticky bit too');
  const mine = join(shared, 'mine');
  mkdirSync(mine);
  t.equal(findStrangersPart(mine, OTHER), SELF === 0 ? undefined : mine, 'root is trusted, another user is not');
  t.end();
});

t.test('a private folder belongs to the user, is no link and is closed to others', (t) => {
  const shared = makeShared(t);
  const own = join(shared, 'made');
  chmodSync(own, 0o700);
  t.equal(objectToFolder(own, OWNER), undefined);
  t.match(objectToFolder(own, OTHER), /made belongs to another user$/);
  t.match(objectToFolder(join(shared, 'link'), OWNER), /is no folder of yours$/, 'a link');
  t.match(objectToFolder(join(shared, '../private'), SELF + 1), /is no folder of yours$/, 'elsewhere too');
  for (const mode of [0o701, 0o710, 0o770, 0o707, 0o777]) {
    chmodSync(own, mode);
    t.match(objectToFolder(own, OWNER), /is open to other users/, mode.toString(8));
  }
  t.equal(objectToFolder(join(shared, 'absent'), OWNER), undefined, 'there is none');
  t.end();
});

t.test('a private folder is made, closed, or refused', (t) => {
  const shared = makeShared(t);
  const path = join(shared, 'new/deep');
  t.equal(providePrivateFolder(path), undefined);
  for (const made of ['new', 'new/deep']) t.equal(lstatSync(join(shared, made)).mode & 0o777, 0o700, made);
  chmodSync(path, 0o755);
  t.equal(providePrivateFolder(path), undefined);
  t.equal(lstatSync(path).mode & 0o777, 0o700, 'one that is open is closed');
  chmodSync(join(shared, 'made'), 0o777);
  t.match(providePrivateFolder(join(shared, 'made'), OTHER), /belongs to another user/);
  t.equal(lstatSync(join(shared, 'made')).mode & 0o777, 0o777, 'one of another user stays as it is');
  t.match(providePrivateFolder(join(shared, 'link/made'), OTHER), /link belongs to another user/);
  t.same(readdirSync(join(shared, '../private')), ['run'], 'nothing is made behind a link of another user');
  writeFileSync(join(shared, '../file'), '');
  t.match(providePrivateFolder(join(shared, '../file')), /is no folder of yours/);
  t.match(providePrivateFolder(join(shared, '../file/x')), /cannot be made \(ENOTDIR\)/);
  t.match(providePrivateFolder('/proc/none'), /cannot be made \(ENOENT\)/);
  t.end();
});

t.test('the cache is where the XDG base directory specification puts it', async (t) => {
  const own = userInfo().homedir;
  const cases: [environment: NodeJS.ProcessEnv, folder: string][] = [
    [{ XDG_CACHE_HOME: '/somewhere', HOME: '/home/x' }, '/somewhere/vuhca'],
    [{ XDG_CACHE_HOME: '', HOME: '/home/x' }, '/home/x/.cache/vuhca'],
    [{ XDG_CACHE_HOME: 'relative', HOME: '/home/x' }, '/home/x/.cache/vuhca'],
    [{ XDG_CACHE_HOME: './.', HOME: 'relative' }, `${own}/.cache/vuhca`],
    [{ HOME: '' }, `${own}/.cache/vuhca`],
    [{}, `${own}/.cache/vuhca`],
  ];
  for (const [environment, folder] of cases) t.equal(cacheFolder(environment), folder, JSON.stringify(environment));
  t.match(cacheFolder(), /^\/.*\/vuhca$/, 'with the environment of this process');
});
