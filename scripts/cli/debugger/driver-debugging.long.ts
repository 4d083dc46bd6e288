// SPDX-License-Identifier: Apache-2.0
/**
 * The section "gdb on the guest kernel" of docs/DEBUGGING.md: the guest prints the address of our
 * driver, and gdb, with the commands of the page, stops in the driver and shows its source.
 */
import { join } from 'node:path';
import t from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { blocksOf } from '../testing/document-blocks.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { commandsOf, runGdb, typedLines } from '../testing/run-gdb.ts';

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

const DOCUMENT = 'docs/DEBUGGING.md';

t.test('gdb stops in our driver by what the guest and the page say', async (t) => {
  const directory = makeDirectory(t);
  const socket = join(directory, 'gdb');
  const run = new CliProcess(['run', `--gdb=unix:${socket}`], { XDG_RUNTIME_DIR: directory }, 'pipe');
  t.teardown(async () => {
    run.child.kill('SIGTERM');
    await run.whenExited;
  });
  const [title, example] = blocksOf(DOCUMENT, 'Tell gdb:')[0];
  const shape = new RegExp(example.replace(/\/\S*(?=\/debug)/, '(\\S+)').replace(/0x[0-9a-f]+/, '(0x[0-9a-f]+)'));
  const [symbols] = await run.until(shape);
  t.match(run.stdout, title);
  await run.until(/Leave with `exit`/);
  run.type('insmod /modules/vuhca_traffic.ko');
  const [start, ...lines] = blocksOf(DOCUMENT, "gdb -ex 'set architecture i386:x86-64' -ex 'add-symbol-file ...'")[0];
  const given = commandsOf(start).map((text) =>
    text.replace('add-symbol-file ...', symbols.trim()).replace(':1234', socket),
  );
  const said = await runGdb([...given, ...typedLines(lines.join('\n')), 'info args', 'bt 2', 'delete', 'detach']);
  t.match(said, /hit Breakpoint 1, vuhca_post_send \(/);
  t.match(said, /#0 +vuhca_post_send .*\.c:\d+/, 'with the source');
});
