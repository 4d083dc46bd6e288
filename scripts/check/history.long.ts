// SPDX-License-Identifier: Apache-2.0
/**
 * The check of commits finds the one that does not resolve, in a tiny repository, and leaves no
 * worktree; and the hook checks the commits that a push adds.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { makeDirectory } from '../cli/testing/directory.ts';
import { findBadCommit } from './commits.ts';

const HOOK = fileURLToPath(new URL('hooks/pre-push', import.meta.url));
const CONFIG = { compilerOptions: { module: 'NodeNext', types: [], allowImportingTsExtensions: true, noEmit: true } };

t.setTimeout(0);

class Repository {
  readonly root: string;

  constructor(t: Test) {
    this.root = makeDirectory(t);
    this.git('init', '--quiet', '--initial-branch=main');
    this.commit('begin', { 'tsconfig.json': JSON.stringify(CONFIG), 'package.json': '{"type": "module"}' });
  }

  git(...words: string[]): string {
    const identity = ['-c', 'user.name=test', '-c', 'user.email=test@localhost', '-c', 'commit.gpgsign=false'];
    const { status, stdout, stderr } = spawnSync('git', [...identity, ...words], { cwd: this.root, encoding: 'utf8' });
    if (status !== 0) throw new Error(stderr);
    return stdout.trim();
  }

  /** Writes files and commits them; returns the commit. */
  commit(subject: string, files: Readonly<Record<string, string>>): string {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(this.root, name), text);
    this.git('add', '.');
    this.git('commit', '--quiet', '-m', subject);
    return this.git('rev-parse', '--short', 'HEAD');
  }
}

const LIBRARY = 'export function half(size: number): number {\n  return size / 2;\n}\n';
const CALLER = "import { half } from './library.ts';\n\nexport const size = half(8);\n";

t.test('a commit that imports what a later one adds is named', async (t) => {
  const repository = new Repository(t);
  const first = repository.git('rev-parse', 'HEAD');
  const good = repository.commit('add a number', { 'number.ts': 'export const number = 1;\n' });
  const bad = repository.commit('call the library', { 'caller.ts': CALLER });
  const last = repository.commit('add the library', { 'library.ts': LIBRARY });
  const passed: string[] = [];
  const found = await findBadCommit(repository.root, `${first}..HEAD`, ({ id }) => passed.push(id));
  t.match(found, { id: bad, subject: 'call the library', output: /library\.ts/ });
  t.same(passed, [good], 'those before it pass, and none after it is tried');

  const later: string[] = [];
  t.equal(await findBadCommit(repository.root, `${bad}..HEAD`, ({ id }) => later.push(id)), undefined);
  t.same(later, [last], 'its successor is whole');
  t.equal(await findBadCommit(repository.root, 'HEAD..HEAD', () => t.fail('no commit')), undefined);
});

t.test('a commit that does not pass types is named, also when a later one corrects it', async (t) => {
  const repository = new Repository(t);
  const first = repository.commit('add both', { 'library.ts': LIBRARY, 'caller.ts': CALLER });
  const bad = repository.commit('want text', { 'library.ts': LIBRARY.replace('size: number', 'size: string') });
  repository.commit('want a number again', { 'library.ts': LIBRARY });
  t.match(await findBadCommit(repository.root, `${first}..HEAD`, () => {}), { id: bad });
});

t.test('nothing is left, and the checkout stays as it is', async (t) => {
  const repository = new Repository(t);
  repository.commit('add a number', { 'number.ts': 'export const number = 1;\n' });
  writeFileSync(join(repository.root, 'number.ts'), 'not yet committed');
  const temporary = makeDirectory(t);
  // Git sets GIT_DIR for hooks. Other checks of commits use the usual folder meanwhile.
  const changed = { GIT_DIR: join(repository.root, 'elsewhere'), TMPDIR: temporary };
  const { env } = process;
  process.env = { ...env, ...changed };
  t.teardown(() => {
    process.env = env;
  });
  t.equal(await findBadCommit(repository.root, 'HEAD~1..HEAD', () => {}), undefined);
  process.env = env;
  t.equal(repository.git('status', '--short'), 'M number.ts');
  t.equal(repository.git('worktree', 'list').split('\n').length, 1);
  t.same(readdirSync(temporary), []);
  await t.rejects(
    findBadCommit(repository.root, 'nowhere..HEAD', () => {}),
    /git log/,
  );
});

t.test('the hook checks what the remote repository does not have', async (t) => {
  const folder = makeDirectory(t);
  writeFileSync(join(folder, 'npm'), '#!/bin/sh\necho "$@"\ncase $6 in bad*) exit 1 ;; esac\n', { mode: 0o755 });
  const zeros = '0'.repeat(40);
  const push = (...lines: string[]) =>
    spawnSync(HOOK, ['origin', 'somewhere'], {
      encoding: 'utf8',
      input: lines.map((line) => `${line}\n`).join(''),
      env: { PATH: [folder, process.env.PATH].join(delimiter) },
    });
  const call = (range: string): string => `run --silent check -- history ${range}\n`;
  t.match(push('refs/heads/a 12ab refs/heads/a 34cd'), { status: 0, stdout: call('34cd..12ab') });
  t.match(push(`refs/heads/a 12ab refs/heads/a ${zeros}`), { status: 0, stdout: call('origin/main..12ab') }, 'new');
  t.match(push(`(delete) ${zeros} refs/heads/a 34cd`), { status: 0, stdout: '' }, 'deleted');
  const two = push('refs/heads/a 12ab refs/heads/a bad', 'refs/heads/b 56ef refs/heads/b 34cd');
  t.match(two, { status: 1, stdout: call('bad..12ab') }, 'the first that fails ends it');
});
