// SPDX-License-Identifier: Apache-2.0
/**
 * The launcher in a clone of its own: it runs the present sources, even after a change, names
 * faults in a source, and works without a place for compiled code.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { makeDirectory } from '../testing/directory.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** The inputs of the compiled program, and the file that distinguishes a clone from a package. */
const COPIED = ['device', 'protocol', 'qemu', 'guest-tests/harness', 'scripts', 'package.json', 'package-lock.json'];
/** A sentence of the help, and its source file. */
const [SENTENCE, SOURCE] = ['An InfiniBand host channel adapter in user space', 'scripts/cli/program.ts'];

function makeClone(t: Test): string {
  const clone = makeDirectory(t);
  for (const path of COPIED) cpSync(join(ROOT, path), join(clone, path), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(clone, 'node_modules'));
  return clone;
}

function launch(clone: string, ...words: readonly string[]) {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const command = [join(clone, 'scripts/cli/launch.mjs'), ...words];
  const { status, stdout, stderr } = spawnSync(process.execPath, command, { encoding: 'utf8', env });
  return { status, stdout, stderr };
}

function change(clone: string, from: string, to: string): void {
  const path = join(clone, SOURCE);
  writeFileSync(path, readFileSync(path, 'utf8').replace(from, to));
}

function listCompiled(clone: string): string[] {
  return readdirSync(join(clone, 'build/program')).filter((name) => name !== 'current.json');
}

t.test('the program is what its sources are', (t) => {
  const clone = makeClone(t);
  t.match(launch(clone, '--help'), { status: 0, stdout: SENTENCE });
  const [compiled] = listCompiled(clone);
  launch(clone, '--help');
  t.same(listCompiled(clone), [compiled], 'it is compiled once');

  change(clone, SENTENCE, 'A changed sentence');
  t.match(launch(clone, '--help'), { status: 0, stdout: 'A changed sentence' });
  t.equal(listCompiled(clone).length, 2, 'a process may still run the older one');

  change(clone, 'A changed sentence', "'");
  const broken = launch(clone, '--help');
  t.match(broken, { status: 1, stderr: `${SOURCE}:` }, 'the place of the mistake');
  t.match(launch(clone, '--help'), { status: 1, stderr: `${SOURCE}:` }, 'nothing of it is kept');
  t.end();
});

t.test('without a place for compiled code the sources run', (t) => {
  const clone = makeClone(t);
  writeFileSync(join(clone, 'build'), 'a file, not a folder');
  t.match(launch(clone, '--help'), { status: 0, stdout: SENTENCE });
  t.end();
});

t.test('with a debugger the sources run', (t) => {
  const clone = makeClone(t);
  const { status, stderr } = launch(clone, 'device', '--socket', '/none/x', '--inspect=127.0.0.1:0');
  t.equal(status, 1);
  t.match(stderr, 'Debugger listening on');
  t.throws(() => listCompiled(clone), { code: 'ENOENT' });
  t.end();
});

t.test('an archive has its program compiled', (t) => {
  const clone = makeClone(t);
  rmSync(join(clone, 'scripts/bootstrap.mjs'));
  const folder = join(clone, 'dist/program');
  mkdirSync(folder, { recursive: true });
  t.equal(spawnSync(process.execPath, [join(clone, 'scripts/setup/compile.mjs'), folder]).status, 0);
  t.match(launch(clone, '--help'), { status: 0, stdout: SENTENCE });
  change(clone, SENTENCE, 'Not compiled');
  t.match(launch(clone, '--help'), { status: 0, stdout: SENTENCE }, 'sources are not looked at');
  t.end();
});
