// SPDX-License-Identifier: Apache-2.0
/**
 * Packages that bootstrap.mjs installs in a clone, with an npm that only notes how it is called: no
 * tools for `npm start`, all for `npm test`, and nothing twice; and that every npm script calls it.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { makeDirectory } from './cli/testing/directory.ts';

const BOOTSTRAP = fileURLToPath(new URL('bootstrap.mjs', import.meta.url));
/** Installs the packages of the lock file, as far as node_modules' own list tells. */
const NPM = `#!${process.execPath}
const fs = require('node:fs');
fs.appendFileSync('npm.log', process.argv.slice(2, 4).join(' ') + '\\n');
const { packages } = JSON.parse(fs.readFileSync('package-lock.json', 'utf8'));
const wanted = Object.entries(packages).filter(([, entry]) => !entry.dev || process.argv.includes('--include=dev'));
fs.rmSync('node_modules', { recursive: true, force: true });
fs.mkdirSync('node_modules/.bin', { recursive: true });
fs.writeFileSync('node_modules/.package-lock.json', JSON.stringify({ packages: Object.fromEntries(wanted) }));
fs.mkdirSync('node_modules/tap', { recursive: true });
fs.writeFileSync('node_modules/.bin/tap', "require('node:fs').mkdirSync('.tap/plugins', { recursive: true })");
`;

// npm would take seconds; a busy machine makes even this slow.
t.setTimeout(0);

class Clone {
  readonly #folder: string;

  constructor(t: Test) {
    this.#folder = makeDirectory(t);
    for (const folder of ['scripts', 'programs']) mkdirSync(join(this.#folder, folder));
    cpSync(join(BOOTSTRAP, '../../protocol/system'), join(this.#folder, 'protocol/system'), { recursive: true });
    copyFileSync(BOOTSTRAP, join(this.#folder, 'scripts/bootstrap.mjs'));
    writeFileSync(join(this.#folder, 'programs/npm'), NPM, { mode: 0o755 });
    writeFileSync(join(this.#folder, '.taprc'), 'plugin: []\n');
    this.lock('1.0.0');
  }

  /** Writes a lock file with a package of run time in that version, and one for development. */
  lock(version: string): void {
    const packages = {
      '': {},
      'node_modules/runs': { version },
      'node_modules/elsewhere': { version: '1.0.0', optional: true },
      'node_modules/tap': { version: '1.0.0', dev: true },
    };
    writeFileSync(join(this.#folder, 'package-lock.json'), JSON.stringify({ packages }));
  }

  /** Makes node_modules a link to those of another clone. */
  borrow(other: Clone): void {
    symlinkSync(join(other.#folder, 'node_modules'), join(this.#folder, 'node_modules'));
  }

  /** Runs bootstrap.mjs; returns the calls of npm, and the output. */
  bootstrap(...words: readonly string[]): { calls: string[]; said: string; printed: string } {
    const log = join(this.#folder, 'npm.log');
    rmSync(log, { force: true });
    const path = [join(this.#folder, 'programs'), dirname(process.execPath), process.env.PATH].join(delimiter);
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      [join(this.#folder, 'scripts/bootstrap.mjs'), ...words],
      {
        encoding: 'utf8',
        env: { ...process.env, PATH: path, XDG_CACHE_HOME: this.#folder },
      },
    );
    if (status !== 0) throw new Error(stderr);
    return {
      calls: existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [],
      said: stderr,
      printed: stdout,
    };
  }

  script(name: string, text: string): void {
    writeFileSync(join(this.#folder, name), text);
  }

  hasBuiltTap(): boolean {
    return existsSync(join(this.#folder, '.tap/plugins'));
  }
}

t.test('npm start installs no tools, and builds no test runner', async (t) => {
  const clone = new Clone(t);
  const { calls, said } = clone.bootstrap();
  t.same(calls, ['ci --omit=dev']);
  t.match(said, /^set-up: installing npm packages: done in \d+\.\d s$/m, 'with its time');
  t.notOk(clone.hasBuiltTap());
  t.same(clone.bootstrap(), { calls: [], said: '', printed: '' }, 'once');
});

t.test('npm test installs everything, once', async (t) => {
  const clone = new Clone(t);
  const { calls, said } = clone.bootstrap('--tests');
  t.same(calls, ['ci --include=dev']);
  t.ok(clone.hasBuiltTap());
  t.match(said, /^set-up: building tap .*: done in \d+\.\d s$/m);
  for (const words of [['--tests'], ['--tools'], []])
    t.same(clone.bootstrap(...words), { calls: [], said: '', printed: '' });
});

t.test('npm test after npm start installs what was left out', async (t) => {
  const clone = new Clone(t);
  clone.bootstrap();
  t.same(clone.bootstrap('--tools').calls, ['ci --include=dev']);
  t.notOk(clone.hasBuiltTap(), 'tools do not need the test runner');
  t.same(clone.bootstrap('--tests').calls, []);
  t.ok(clone.hasBuiltTap());
});

t.test('a new lock file is followed, and tools stay', async (t) => {
  const clone = new Clone(t);
  clone.bootstrap();
  clone.lock('1.0.1');
  t.same(clone.bootstrap().calls, ['ci --omit=dev']);
  clone.bootstrap('--tests');
  clone.lock('1.0.2');
  t.same(clone.bootstrap().calls, ['ci --include=dev']);
});

t.test('the packages of another clone are left alone', async (t) => {
  const [clone, other] = [new Clone(t), new Clone(t)];
  other.bootstrap('--tools');
  clone.borrow(other);
  t.same(clone.bootstrap('--tools').calls, [], 'nothing to install');
  clone.lock('2.0.0');
  t.throws(() => clone.bootstrap('--tools'), /node_modules is a link, and npm would empty the folder/);
  t.same(other.bootstrap('--tools').calls, [], 'it has its packages');
});

t.test('npm ci builds tap, so that the first npx tap works', async (t) => {
  const clone = new Clone(t);
  t.same(clone.bootstrap('--prepare'), { calls: [], said: '', printed: '' }, 'not where npm left tap out');
  clone.bootstrap('--tools');
  t.notOk(clone.hasBuiltTap());
  t.same(clone.bootstrap('--prepare').calls, []);
  t.ok(clone.hasBuiltTap());
});

t.test('help comes before any package, from the words of the file', async (t) => {
  const clone = new Clone(t);
  clone.script('demo.ts', '/**\n * Shows a link,\n * in two lines.\n */\nconst left = "out";\n');
  const { calls, printed } = clone.bootstrap('--tools', 'demo.ts', '--help');
  t.same(calls, []);
  t.match(printed, /^Shows a link,\nin two lines\.\n/);
  t.match(printed, /npm ci/);
  t.notMatch(printed, /left/);
});

t.test('every npm script sets up what it needs', async (t) => {
  const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  for (const [name, command] of Object.entries<string>(scripts)) {
    // Old names call another script.
    if (name === '//' || command.startsWith('node scripts/npm/renamed.mjs ')) continue;
    const file = /^scripts\/\S+/.exec(command)?.[0];
    // A shell script that does its own set-up runs unchanged.
    if (file !== undefined)
      t.match(readFileSync(new URL(`../${file}`, import.meta.url), 'utf8'), /bootstrap\.mjs/, name);
    else t.match(command, /^node scripts\/bootstrap\.mjs /, name);
    if (/\b(tap|tsc|biome|tsx)\b/.test(command)) t.match(command, /--(tools|tests) &&/, name);
  }
});
