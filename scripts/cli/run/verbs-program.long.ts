// SPDX-License-Identifier: Apache-2.0
/**
 * The promises of docs/verbs/VERBS-PROGRAM.md: its program is extracted, compiled by its command
 * and run by its commands in two guests, which print the output of the page.
 */
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from 'tap';
import { provideProviderHeaders } from '../../../qemu/setup/provider-headers.ts';
import { makeDirectory } from '../testing/directory.ts';
import { readBlocks } from '../testing/document-blocks.ts';
import { CliProcess } from '../testing/run-cli.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const blocks = readBlocks('docs/verbs/VERBS-PROGRAM.md').map(({ lines }) => lines);

/** The lines of the block with a line that begins with this text. */
function blockWith(begins: string): readonly string[] {
  const found = blocks.find((lines) => lines.some((line) => line.trimStart().startsWith(begins)));
  if (found === undefined) throw new Error(`docs/verbs/VERBS-PROGRAM.md has no block with ${begins}`);
  return found;
}

/** The page's files, by their names. */
const FILES = {
  'write-imm.c': '#include',
  'server.json': '"adapters": { "server"',
  'client.json': '"adapters": { "client"',
  'server.sh': 'write-imm',
  'client.sh': 'until',
} as const;

t.test('a program for verbs, compiled and run in two guests', async (t) => {
  const folder = makeDirectory(t);
  for (const [name, begins] of Object.entries(FILES))
    writeFileSync(join(folder, name), `${blockWith(begins).join('\n')}\n`);

  // The machine may lack the two packages: the program gets those of Debian 13.
  const { sysroot, libibverbs } = await provideProviderHeaders();
  const [compiler = '', ...words] = (blockWith('gcc')[0] as string).split(' ');
  const options = ['-Werror', `--sysroot=${sysroot}`, `-L${dirname(libibverbs)}`];
  const compiled = spawnSync(compiler, [...options, ...words], { cwd: folder, encoding: 'utf8' });
  t.equal(compiled.status, 0, compiled.stderr);

  const own = (word: string): string => (/^(?:write-imm|server|client)[.:]/.test(word) ? join(folder, word) : word);
  const guests = blockWith('scripts/vuhca run').map((line) => new CliProcess(line.split(' ').slice(1).map(own)));
  t.teardown(() => guests.map(({ child }) => child.kill()));
  t.same(await Promise.all(guests.map(({ whenExited }) => whenExited)), [0, 0], 'both scripts ended well');
  const [server = '', client = ''] = guests.map(({ stdout, stderr }) => stdout + stderr);
  t.match(server, /^immediate 2026, text "hello"\r?$/m);
  t.match(server, /^receive: remote invalid request error\r?$/m);
  t.match(server, /^the second client failed\r?$/m);
  t.match(client, /^WRITE: remote access error\r?$/m);
});
