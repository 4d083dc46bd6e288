// SPDX-License-Identifier: Apache-2.0
/** TypeScript runs without a folder that other users could have made, and leaves no traces. */
import { execFileSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
/**
 * Prints the settings of tsx that a program run by tsx sees. tsx writes its cache in a thread that
 * the end of the process stops, so the program lives until the folder it is given has a file.
 */
const PROGRAM = `import { readdirSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
const seen: readonly unknown[] = [process.env.TMPDIR, process.env.TSX_DISABLE_CACHE];
console.log(JSON.stringify(seen));
const [kept] = process.argv.slice(2);
const hasFile = (): boolean => readdirSync(kept, { recursive: true, withFileTypes: true }).some((entry) => entry.isFile());
if (kept !== undefined) while (!hasFile()) await setTimeout(10);
`;

// A busy machine may need long for a process.
t.setTimeout(0);

/** `kept`: a folder below the cache that gets a file before the program ends. */
function run(t: Test, cache: string, kept?: string): { folder: string; seen: unknown } {
  const folder = t.testdir({ 'package.json': '{ "type": "module" }', 'program.ts': PROGRAM, tmp: {} });
  const { NODE_OPTIONS: _, TSX_DISABLE_CACHE: __, ...rest } = process.env;
  const env = { ...rest, TMPDIR: join(folder, 'tmp'), XDG_CACHE_HOME: cache.replace('FOLDER', folder) };
  const words = kept === undefined ? [] : [join(env.XDG_CACHE_HOME, kept)];
  const program = ['--import=#typescript', join(folder, 'program.ts'), ...words];
  const said = execFileSync(process.execPath, program, { cwd: ROOT, env });
  return { folder, seen: JSON.parse(said.toString()) };
}

t.test('what tsx keeps is in the cache of this user', (t) => {
  const { folder, seen } = run(t, 'FOLDER/cache', 'vuhca/tsx');
  t.same(seen, [join(folder, 'tmp'), null], 'the program has its own environment');
  const kept = join(folder, 'cache/vuhca/tsx');
  t.equal(statSync(kept).mode & 0o777, 0o700);
  t.equal(readdirSync(kept).length, 1);
  t.same(readdirSync(join(folder, 'tmp')), [], 'and nothing elsewhere');
  t.end();
});

t.test('without such a folder nothing is kept', (t) => {
  const { folder, seen } = run(t, '/dev/null');
  t.same(seen, [join(folder, 'tmp'), null]);
  t.same(readdirSync(join(folder, 'tmp')), []);
  t.end();
});
