// SPDX-License-Identifier: Apache-2.0
/**
 * Completion scripts: bash itself completes words with its script, and zsh accepts its own. The
 * tests run the shells of this machine; without zsh, its test is skipped.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { runWords } from '../testing/run-words.ts';

const directory = makeDirectory(t);
const script = join(directory, 'vuhca.bash');
for (const name of ['a.rec', 'b c.rec', 'bzImage']) writeFileSync(join(directory, name), '');
mkdirSync(join(directory, 'folder'));

/**
 * Makes bash complete the last of `words`, in a folder with some files. */
function complete(...words: readonly string[]): string[] {
  const program = `source '${script}'; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _vuhca; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr, status } = spawnSync('bash', ['--norc', '-uc', program, 'bash', 'vuhca', ...words], {
    cwd: directory,
    encoding: 'utf8',
  });
  if (status !== 0 || stderr !== '') throw new Error(`bash ended with ${status}: ${stderr}`);
  return stdout.split('\n').filter((line) => line !== '');
}

t.before(async () => writeFileSync(script, (await runWords(['completion', 'bash'])).stdout));

t.test('bash completes commands', async (t) => {
  t.same(complete('re'), ['resources', 'replay']);
  t.same(complete('help', 'tr'), ['trace']);
  t.ok(complete('').includes('run'));
  t.same(complete('-'), ['--help']);
  t.same(complete('dance', ''), []);
});

t.test('bash completes options', async (t) => {
  t.same(complete('run', '--cap'), ['--capture', '--capture-limit']);
  t.same(complete('status', '-'), ['--control', '--json', '--function', '--watch', '--qp', '--help']);
  t.same(complete('device', '--socket', 'x', '--orde'), ['--ordering', '--order-check']);
  t.same(complete('status', 'x'), []);
});

t.test('bash completes values of options', async (t) => {
  t.same(complete('run', '--log-level', 's'), ['silent']);
  t.same(complete('run', '--log-level', '=', 's'), ['silent'], '--log-level=s, as bash splits it');
  t.ok(complete('device', '--log-level', '=').includes('warn'), '--log-level=');
  t.same(complete('run', '--ordering', ''), ['strict', 'pcie', 'adversarial:']);
  t.same(complete('cluster', 'up', '--spin', ''), ['auto', 'off']);
  t.same(complete('run', '--memory', ''), []);
  t.same(complete('trace', 'export', '--format', 'p'), ['perfetto']);
});

t.test('bash completes actions and files', async (t) => {
  t.same(complete('trace', 'o'), ['on', 'off']);
  t.same(complete('trace', '--qp', '2', 'e'), ['export']);
  t.same(complete('trace', 'export', '--format', 'erf', 'a'), ['a.rec']);
  t.same(complete('resources', ''), ['show', 'set']);
  t.same(complete('show', 'l'), ['lists', 'lanes']);
  t.same(complete('resources', 'set', ''), []);
  t.same(complete('completion', ''), ['bash', 'zsh']);
  t.same(complete('replay', '').sort(), ['a.rec', 'b c.rec', 'bzImage', 'folder', 'vuhca.bash']);
  t.same(complete('replay', '--trace', 'b '), ['b c.rec']);
  t.same(complete('run', '--kernel', 'bz'), ['bzImage']);
  t.same(complete('run', '--kernel', '=', 'bz'), ['bzImage']);
  t.same(complete('run', 'bz'), []);
  t.same(complete('run', '--kernel', 'bzImage', '--', '-drive', 'fo'), ['folder'], 'words for QEMU');
  t.same(complete('run', '--', '--k'), [], 'none of our options');
});

t.test('bash uses the script for the command, wherever it lies', async (t) => {
  const { stdout } = spawnSync('bash', ['--norc', '-c', `source '${script}'; complete -p vuhca`], { encoding: 'utf8' });
  t.equal(stdout, 'complete -F _vuhca vuhca\n');
});

const noZsh = spawnSync('zsh', ['--version']).status !== 0 && 'zsh is not installed';

t.test('zsh accepts its script', { skip: noZsh }, async (t) => {
  const file = join(directory, '_vuhca');
  writeFileSync(file, (await runWords(['completion', 'zsh'])).stdout);
  t.match(spawnSync('zsh', ['-n', file], { encoding: 'utf8' }), { status: 0, stderr: '' });
});

t.test('the script for zsh has every command, options, choices and files', async (t) => {
  const { stdout } = await runWords(['completion', 'zsh']);
  t.match(stdout, /^#compdef vuhca\n/);
  t.match(stdout, "    'replay:runs a recorded session again");
  t.match(
    stdout,
    "'*--kernel=[A bzImage, or Debian'\\''s trixie, bookworm, backports (default: Debian 13'\\''s stock kernel)]:FILE:_files'",
  );
  t.match(stdout, ':LEVEL:(trace debug info warn error silent)');
  t.match(stdout, ':MODE:(strict pcie adversarial\\:)');
  t.match(stdout, "'--inspect=-[Lets a debugger attach; see docs/DEBUGGING.md]::HOST\\:PORT: '");
  t.match(stdout, "'1:ACTION:(show set)'");
});
