// SPDX-License-Identifier: Apache-2.0
/**
 * The section "A stock driver" of docs/DEBUGGING.md: its scenario with injected faults is run by
 * its command, gdb with Debian's symbols stops in the stock driver, and the places that a request
 * passes exist. The symbols are a download of 1 GB, so those two run if VUHCA_LARGE is set.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { commandsOf, runGdb, typedLines } from '../testing/run-gdb.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const document = readFileSync(join(ROOT, 'docs/DEBUGGING.md'), 'utf8');
const begin = document.indexOf('## A stock driver');
const section = document.slice(begin, document.indexOf('\n## ', begin + 1));
/** The lines of commands, without `scripts/vuhca`. */
const commands = [...section.matchAll(/^ {4}scripts\/vuhca (.*)$/gm)].map(([, words]) => (words as string).split(' '));
const directory = mkdtempSync(join(tmpdir(), 'vuhca-debugging-'));
t.setTimeout(0);
t.teardown(() => rmSync(directory, { recursive: true }));

const isLarge = process.env.VUHCA_LARGE !== undefined;
const large = isLarge ? {} : { skip: 'symbols of 1 GB, and minutes: set VUHCA_LARGE' };

function command(first: string): string[] {
  const found = commands.find(([word]) => word === first);
  if (found === undefined) throw new Error(`the section has no command ${first}`);
  return found;
}

t.test('the scenario with injected faults', large, async (t) => {
  const script = join(directory, 'test.sh');
  writeFileSync(script, /```sh\n(.*?)```/s.exec(section)?.[1] ?? '');
  const words = command('test').map((word) => (word === 'test.sh' ? script : word));
  const { status, stdout, stderr } = await runCli(words);
  t.equal(status, 0, stdout + stderr);
  t.match(stdout, /^passed: .* 5 passed, 0 failed/m);
  for (const name of ['the link comes up', 'a ping-pong waits', 'times out', 'recovers from a fatal error'])
    t.match(stdout, name);
});

t.test("gdb with Debian's symbols", large, async (t) => {
  const { status, stdout, stderr } = await runCli(command('setup'));
  t.equal(status, 0, stderr);
  const [vmlinux = '', modules = ''] = stdout.split('\n');
  const socket = join(directory, 'gdb');
  const script = join(directory, 'ping.sh');
  // The guest asks for an address until the test ends it.
  writeFileSync(
    script,
    '#!/bin/sh\necho "text $(cat /sys/module/ib_mthca/sections/.text)"\nwhile :; do ping -c 1 -W 1 10.1.0.9; done\n',
  );
  const words = command('run').map((word) => (word === '--gdb' ? `--gdb=unix:${socket}` : word));
  const run = new CliProcess([...words, '--case', script]);
  const [, address = ''] = await run.until(/^text (0x[0-9a-f]+)$/m);
  const [, line = ''] = /^ {4}gdb (.*)$/m.exec(section) ?? [];
  const given = commandsOf(line).map((text) =>
    text.replace('VMLINUX', vmlinux).replace('MODULES', modules).replace('ADDRESS', address),
  );
  const all = [...given, ...typedLines(section), 'bt 4', 'info args', 'print *wr', 'delete', 'detach'];
  const said = await runGdb(all.map((text) => text.replace(':1234', socket)));
  t.match(said, /Breakpoint 1, mthca_arbel_post_send \(ibqp=0x[0-9a-f]+, wr=0x[0-9a-f]+/);
  t.match(said, /#0 +mthca_arbel_post_send .*mthca_qp\.c:\d+/);
  t.match(said, /opcode = IB_WR_SEND/);
  run.child.kill('SIGTERM');
  await run.whenExited;
});

t.test('the places that a request passes', (t) => {
  const places = [...section.matchAll(/^\| `(\w+)\.(\w+)` in `([\w/.-]+)`/gm)];
  t.ok(places.length > 4, `${places.length} places`);
  for (const [, type, method, file = ''] of places) {
    const path = join(ROOT, file.startsWith('device/') ? file : `device/personality/mthca/${file}`);
    t.ok(existsSync(path), file);
    t.match(readFileSync(path, 'utf8'), new RegExp(`class ${type}\\b[^]*^  #?${method}\\(`, 'm'), `${type}.${method}`);
  }
  t.end();
});
