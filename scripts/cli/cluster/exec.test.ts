// SPDX-License-Identifier: Apache-2.0
/** The line that a shell of a node gets for the words of a command, and the status that follows. */
import { spawnSync } from 'node:child_process';
import t from 'tap';
import { isInForeground, statusOf, toShellLine } from './exec.ts';

t.test('words reach a program as they are', async (t) => {
  const words = ['plain', 'two words', "it's", '$HOME', '*', '', 'a;b', '"', '\\', 'line\nline', '-n', '~'];
  const { stdout } = spawnSync('sh', ['-c', toShellLine(['printf', '%s\\0', ...words])], { encoding: 'utf8' });
  t.same(stdout.split('\0').slice(0, -1), words);
});

t.test('one word is a line for the shell', async (t) => {
  t.equal(toShellLine(['echo $HOME | wc']), 'echo $HOME | wc');
});

t.test('a command that a signal has ended has the status of a shell', async (t) => {
  t.equal(statusOf({ status: 3 }), 3);
  t.equal(statusOf({ signal: 'KILL' }), 137);
  t.equal(statusOf({ signal: 'NONE' }), 255);
  t.equal(statusOf({}), 255);
});

t.test('a command in the background is told from one in the foreground', async (t) => {
  t.equal(isInForeground('71 (a) b) S 70 71 70 34816 71 4194304 1'), true);
  t.equal(isInForeground('72 (node) S 70 72 70 34816 71 4194304 1'), false);
  t.equal(isInForeground('73 (node) S 70 73 70 0 -1 4194304 1'), false, 'without a terminal');
});
