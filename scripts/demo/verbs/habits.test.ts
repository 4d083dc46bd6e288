// SPDX-License-Identifier: Apache-2.0
/** The table of habits; document, program and table have the same ones. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { HABITS, HabitReader } from './habits.ts';

const PROGRAM = readFileSync(new URL('../../../guest-tests/foreign/habits.py', import.meta.url), 'utf8');
const DOCUMENT = readFileSync(new URL('../../../docs/verbs/ROCE-HABITS.md', import.meta.url), 'utf8');

t.test('a habit and what to do instead, for each adapter', async (t) => {
  const reader = new HabitReader();
  reader.push('  # habit destination habit vuhca ends with RETRY_EXC_ERR');
  reader.push('  # habit destination instead vuhca works');
  reader.push('  # habit destination habit rxe works');
  const [head, habit, instead] = reader.format(['vuhca', 'rxe']).split('\n');
  t.match(head, /^a habit of RoCE +vuhca +soft-RoCE$/);
  t.match(habit, /^a destination by GID only, LID 0 +ends with RETRY_EXC_ERR +works$/);
  t.match(instead, /^ {2}instead: the LID of the destination +works +-$/);
});

t.test('the program tries the habits of the table, and the document has a row for each', async (t) => {
  const tried = [...PROGRAM.matchAll(/^ {4}\('([\w-]+)', \w+, \w+\),$/gm)].map(([, name]) => name);
  t.same(
    tried,
    HABITS.map(([name]) => name),
  );
  const rows = DOCUMENT.split('\n').filter((line) => line.startsWith('| ')).length - 1;
  t.equal(rows, HABITS.length);
});
