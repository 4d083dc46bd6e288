// SPDX-License-Identifier: Apache-2.0
/**
 * Commands in environments that users have: their output is not read or goes to a full disk,
 * variables are empty, relative or of another user, and the terminal is tiny. Each ends with its
 * status and at most one sentence. environments.long.ts has further ones.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { partOf } from '../../../device/rig/fixtures/seeds.ts';
import { renderStatus } from '../screens/status-screen.ts';
import { makeDirectory } from '../testing/directory.ts';
import { makeTruth } from '../testing/false-adapter.ts';
import { computeRates } from './status-sample.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const VUHCA = fileURLToPath(new URL('../../vuhca', import.meta.url));

/** Runs a line of a shell in a folder of its own; `vuhca` in it is the command. */
function runLine(line: string, cwd: string, environment: NodeJS.ProcessEnv = {}) {
  const env = { ...process.env, ...environment };
  for (const [name, value] of Object.entries(environment)) if (value === undefined) delete env[name];
  const command = `vuhca() { '${VUHCA}' "$@"; }; ${line}`;
  const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-c', command], { cwd, env, encoding: 'utf8' });
  return { status, stdout, stderr };
}

t.test('standard output and error that take nothing', async (t) => {
  const cwd = makeDirectory(t);
  const lines: [line: string, ended: object][] = [
    ['vuhca --help | head -n 1', { status: 0, stdout: /^Usage: vuhca [^\n]*\n$/, stderr: '' }],
    [
      'vuhca --help >/dev/full',
      { status: 1, stderr: /^vuhca: standard output cannot be written \(ENOSPC\): the disk is full; [^\n]*\n$/ },
    ],
    ['vuhca dance 2>/dev/full', { status: 2, stdout: '' }],
    ['vuhca --help >&-', { status: 0, stderr: '' }],
    ['vuhca dance 2>&-', { status: 2, stdout: '' }],
    ['vuhca --help </dev/null >/dev/null', { status: 0, stderr: '' }],
  ];
  for (const [line, ended] of partOf(lines, 4)) t.match(runLine(line, cwd), ended, line);
});

t.test('variables', async (t) => {
  const environments: NodeJS.ProcessEnv[] = [
    { HOME: undefined, XDG_RUNTIME_DIR: undefined, XDG_CACHE_HOME: undefined, TMPDIR: undefined },
    { HOME: '.', XDG_RUNTIME_DIR: '.', XDG_CACHE_HOME: '.', TMPDIR: '.' },
    { HOME: '', XDG_RUNTIME_DIR: '', XDG_CACHE_HOME: '', TMPDIR: '' },
    { HOME: '/none', XDG_RUNTIME_DIR: '/none', XDG_CACHE_HOME: '/none', TMPDIR: '/none' },
    { HOME: '/proc', XDG_CACHE_HOME: '/proc', TMPDIR: '/proc' },
    { LANG: 'C', LC_ALL: 'C', TERM: 'dumb', COLUMNS: '1', NO_COLOR: '1' },
    { TERM: undefined, COLUMNS: '-5', LINES: 'x' },
  ];
  for (const environment of partOf(environments, 2)) {
    const cwd = makeDirectory(t);
    mkdirSync(join(cwd, 'here'));
    const name = JSON.stringify(environment);
    // Nothing listens there, so every command of this kind ends with one sentence.
    const { status, stdout, stderr } = runLine('vuhca status --control here/none', cwd, environment);
    t.equal(status, 1, `${name}: ${stderr}`);
    t.equal(stdout, '', name);
    t.match(stderr, /^vuhca status: control socket here\/none: no adapter listens there; [^\n]*\n$/, name);
    t.same(readdirSync(cwd), ['here'], `${name} leaves nothing where it was called`);
  }
});

t.test('terminals of any width', async (t) => {
  const truth = makeTruth();
  const report = truth({ version: 1, id: 1, command: 'status', parameters: {} }) as Parameters<typeof renderStatus>[0];
  const rates = computeRates(report, { ...report, uptimeNs: report.uptimeNs + 1e9 });
  for (const columns of [0, 1, 2, 5, 10, 20, 79, 80, 1000])
    for (const colour of [false, true])
      t.ok(renderStatus(report, rates, { columns, colour }).length > 0, `${columns} columns`);
});
