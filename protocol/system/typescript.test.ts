// SPDX-License-Identifier: Apache-2.0
/** TypeScript runs without a folder that other users could have made, and leaves no traces. */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/** What a program that tsx runs sees of the settings of tsx. */
const PROGRAM = `const seen: readonly unknown[] = [process.env.TMPDIR, process.env.TSX_DISABLE_CACHE];
console.log(JSON.stringify(seen));
`;

// A machine that is busy may need long for a process.
t.setTimeout(0);

function run(t: Test, cache: string): { folder: string; seen: unknown } {
  const folder = t.testdir({ 'program.ts': PROGRAM, tmp: {} });
  const { NODE_OPTIONS: _, TSX_DISABLE_CACHE: __, ...rest } = process.env;
  const env = { ...rest, TMPDIR: join(folder, 'tmp'), XDG_CACHE_HOME: cache.replace('FOLDER', folder) };
  const said = execFileSync(process.execPath, ['--import=#typescript', join(folder, 'program.ts')], { cwd: ROOT, env });
  return { folder, seen: JSON.parse(said.toString()) };
}

t.test('what tsx keeps is in the cache of this user', (t) => {
  const { folder, seen } = run(t, 'FOLDER/cache');
  t.same(seen, [join(folder, 'tmp'), null], 'the program has its own environment');
  const kept = join(folder, 'cache/vuhca/tsx');
  t.equal(statSync(kept).mode & 0o777, 0o700);
  t.equal(readdirSync(kept).length, 1);
  t.ok(readdirSync(join(kept, readdirSync(kept)[0] as string)).length > 0, 'it has translated something');
  t.same(readdirSync(join(folder, 'tmp')), [], 'and nothing elsewhere');
  t.end();
});

t.test('without such a folder nothing is kept', (t) => {
  const { folder, seen } = run(t, '/dev/null');
  t.same(seen, [join(folder, 'tmp'), null]);
  t.same(readdirSync(join(folder, 'tmp')), []);
  t.end();
});
