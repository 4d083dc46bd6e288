// SPDX-License-Identifier: Apache-2.0
/**
 * The exit statuses of a command are the same in the table, in its help and in docs/DEBUGGING.md.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { makeProgram } from '../program.ts';
import { runWords } from '../testing/run-words.ts';
import { commandsWithStatuses, statusesOf } from './exit-statuses.ts';

const names = makeProgram(async () => {}).commands.map((command) => command.name());

t.test('the help of every command has its statuses', async (t) => {
  for (const name of names) {
    const { stdout } = await runWords(['help', name]);
    const text = stdout.replaceAll(/\s+/g, ' ');
    for (const [status, meaning] of statusesOf(name)) t.match(text, ` ${status} ${meaning}`, name);
  }
  for (const name of commandsWithStatuses) t.ok(names.includes(name), `${name} is a command`);
});

t.test('docs/DEBUGGING.md has the same table', async (t) => {
  const text = readFileSync(new URL('../../../docs/DEBUGGING.md', import.meta.url), 'utf8');
  const table = [...commandsWithStatuses.map((name) => `\`${name}\``), 'all others'].flatMap((title, index) =>
    statusesOf(commandsWithStatuses[index] ?? '').map(
      ([status, meaning], row) => `| ${row === 0 ? title : ''} | ${status} | ${meaning} |`,
    ),
  );
  t.match(text, `${table.join('\n')}\n`);
});
