// SPDX-License-Identifier: Apache-2.0
/** Folders of guests live as long as their process, whatever number that has, and no longer. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { makeRunDirectory, removeAbandoned, removeRunDirectory } from './run-directory.ts';

const MODULE = new URL('./run-directory.ts', import.meta.url).href;
/** Says where its folder is, and lives until it is killed. */
const HOLDER = `import { makeRunDirectory } from ${JSON.stringify(MODULE)};
console.log(makeRunDirectory());
setInterval(() => {}, 60_000);`;
const NODE = ['--import=#typescript', '--input-type=module', '--eval'];
/** More than the kernel gives to a process. */
const NO_PROCESS = 1 << 22;

// A machine that is busy may need long for a process.
t.setTimeout(0);

t.beforeEach((t) => {
  const before = process.env.TMPDIR;
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-test-'));
  process.env.TMPDIR = folder;
  t.teardown(() => {
    if (before === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = before;
    rmSync(folder, { recursive: true });
  });
});

interface Holder {
  readonly path: string;
  readonly number: number;
  kill(): Promise<void>;
}

async function startHolder(): Promise<Holder> {
  const child = spawn(process.execPath, [...NODE, HOLDER], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [path] = (await once(child.stdout, 'data')) as [Buffer];
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  };
  return { path: path.toString().trim(), number: child.pid as number, kill };
}

t.test('the folder of a process stays until the process is dead', async (t) => {
  const { path, number, kill } = await startHolder();
  await removeAbandoned();
  t.ok(existsSync(path), 'it lives');
  // Seen from another PID namespace, where the number is nobody's or another one's.
  const [nobodys, others] = [NO_PROCESS, process.pid].map((seen) => path.replace(`-${number}-`, `-${seen}-`));
  renameSync(path, nobodys as string);
  await removeAbandoned();
  t.ok(existsSync(nobodys as string), 'it lives, although there is no such process here');
  renameSync(nobodys as string, others as string);
  await kill();
  t.ok(existsSync(others as string));
  await removeAbandoned();
  t.notOk(existsSync(others as string), 'it is dead, although there is such a process here');
});

t.test('only folders of the dead are removed', async (t) => {
  const tmp = process.env.TMPDIR as string;
  const { path, kill } = await startHolder();
  await kill();
  mkdirSync(join(tmp, `vuhca-guest-${process.pid}-unborn`));
  symlinkSync(path, join(tmp, 'vuhca-guest-1-link'));
  await removeAbandoned();
  t.same(readdirSync(tmp).sort(), ['vuhca-guest-1-link', `vuhca-guest-${process.pid}-unborn`].sort());
});

t.test('a folder is removed with what is in it, and may be removed twice', (t) => {
  const tmp = process.env.TMPDIR as string;
  const directory = makeRunDirectory();
  mkdirSync(join(directory, 'inner'));
  removeRunDirectory(directory);
  removeRunDirectory(directory);
  t.same(readdirSync(tmp), []);
  t.end();
});

t.test('a TMPDIR that serves nothing is a sentence with a remedy', (t) => {
  const tmp = process.env.TMPDIR as string;
  process.env.TMPDIR = join(tmp, 'absent');
  const cannot = { name: 'SetupError', message: /absent takes no folder for sockets \(ENOENT\); set TMPDIR/ };
  t.throws(() => makeRunDirectory(), cannot);
  process.env.TMPDIR = join(tmp, 'x'.repeat(100));
  mkdirSync(process.env.TMPDIR);
  const tooLong = { name: 'SetupError', message: /is longer than 107 bytes; set TMPDIR to a shorter folder/ };
  t.throws(() => makeRunDirectory(), tooLong);
  t.same(readdirSync(process.env.TMPDIR), [], 'nothing is left');
  t.end();
});
