// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of the documents that need adapters but no guest, as the documents show them, and the
 * promises of the text about them. Other tests run those with guests (testing/document-blocks.ts).
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { blocksOf, commandBlocksOf } from './testing/document-blocks.ts';
import { Terminal } from './testing/terminal.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const READY = /^listening on .* control (\S+)/m;

/** Begins a line that serves an adapter; returns the path of its control socket. */
async function serve(terminal: Terminal, command: string): Promise<string> {
  const { found } = await terminal.beginUntil(command, READY);
  return READY.exec(found)?.[1] ?? '';
}

t.test('README: what looks inside, on an adapter that does nothing', async (t) => {
  const terminal = new Terminal(t, {}, [['PATH', 'x.sock']]);
  await serve(terminal, commandBlocksOf('README.md', 'scripts/vuhca device --socket PATH')[0][0]);
  const [lines] = commandBlocksOf('README.md', 'scripts/vuhca view ');
  for (const line of lines.filter((one) => /vuhca (status|show|resources)/.test(one))) {
    const output = await terminal.run(line);
    if (line.endsWith('status')) t.match(output, /function 0-33/, 'all functions');
  }
  await terminal.beginUntil('scripts/vuhca top', /function/);
  const view = await terminal.beginUntil(`exec ${lines.find((line) => line.includes('view'))}`, /the page is at http:/);
  view.child.kill('SIGINT');
  t.equal(await view.whenEnded, 0, view.output);
  const capture = await terminal.beginUntil(`exec ${lines.find((line) => line.includes('capture'))}`, /capturing to /);
  capture.child.kill('SIGINT');
  t.equal(await capture.whenEnded, 0, capture.output);
});

t.test('VIEW: an adapter that stands still and makes steps', async (t) => {
  const terminal = new Terminal(t, {}, [['PATH', 'x.sock']]);
  const [[device, ...steps]] = commandBlocksOf('docs/VIEW.md', 'scripts/vuhca device --socket PATH --stepwise');
  await serve(terminal, device);
  t.match(await terminal.run('scripts/vuhca status'), /^steps +stands still after 0: `vuhca step` moves it$/m);
  const said = [];
  for (const line of steps) said.push((await terminal.run(line)).trim());
  t.match(said, [
    'the adapter stands still after 1 step',
    'the adapter stands still after 11 steps',
    'the adapter runs until overflow not empty',
    'the adapter runs',
    /^the adapter stands still after \d+ steps$/,
  ]);
});

t.test('PERSONALITIES: adapters that a stock driver binds', async (t) => {
  for (const line of blocksOf('docs/verbs/PERSONALITIES.md', 'scripts/vuhca device')[0]) {
    const terminal = new Terminal(t, {}, [['PATH', 'x.sock']]);
    await serve(terminal, line);
    const ports = (await terminal.run('scripts/vuhca status')).match(/^port \d/gm) ?? [];
    t.equal(ports.length, line.endsWith(', one port') ? 1 : 2, line);
  }
});

t.test('TOPOLOGY: two processes with a cable', async (t) => {
  const terminal = new Terminal(t, {}, [['/tmp/cable', 'cable']]);
  const [lines] = commandBlocksOf('docs/TOPOLOGY.md', 'scripts/vuhca device --socket a.sock');
  const controls: string[] = [];
  for (const line of lines) controls.push(await serve(terminal, line));
  for (const control of controls)
    await untilPrinted(t, terminal, `scripts/vuhca link --control ${control}`, /socket.*\bup\b|\bup\b.*socket/);
});

t.test('TOPOLOGY: a link with a key', async (t) => {
  const terminal = new Terminal(t, {}, [['0.0.0.0:7000', '127.0.0.1:0']]);
  const [[makeKey, line]] = commandBlocksOf('docs/TOPOLOGY.md', '(umask 077');
  await terminal.run(makeKey);
  const control = await serve(terminal, line);
  const listed = await terminal.run(`scripts/vuhca link --control ${control} --json`);
  const [, address] = /listen (tcp:[^"]+)/.exec(listed) ?? [];
  await serve(
    terminal,
    `${line.replace(/--link .*(?= --link-key)/, `--link 1=connect:${address}`).replace('a.sock', 'b.sock')} --lids 3,4 --node-guid 0056554843410010`,
  );
  await untilPrinted(t, terminal, `scripts/vuhca link --control ${control}`, /socket.*\bup\b|\bup\b.*socket/);
});

t.test('TOPOLOGY: links at run time', async (t) => {
  const terminal = new Terminal(t);
  const text =
    commandBlocksOf('docs/TOPOLOGY.md', '{').find((lines) => lines.some((line) => line.includes('"switches"'))) ?? [];
  writeFileSync(join(terminal.folder, 'two.json'), text.join('\n'));
  await serve(terminal, commandBlocksOf('README.md', 'scripts/vuhca device --topology')[0][0]);
  const [[list, down, up, ...changes]] = commandBlocksOf('docs/TOPOLOGY.md', 'scripts/vuhca link');
  t.match(await terminal.run(list), /a:1/);
  t.match(await terminal.run(down), /^the link of a:1 is down$/m);
  t.match(await terminal.run(up), /a:1/);
  for (const change of changes) t.match(await terminal.run(change), /^the link of a:1 has .*(drop|bitsPerSecond)/m);
  t.match(await terminal.run('scripts/vuhca topology two.json --picture two.svg'), '');
});

t.test('DEBUGGING: errors of completions', async (t) => {
  const terminal = new Terminal(t);
  const [line] = commandBlocksOf('docs/DEBUGGING.md', 'vuhca explain')[0];
  t.match(await terminal.run(`scripts/${line}`), /key/i);
});

/** Runs a line until it prints the expected text: two ends of a cable need a moment. */
async function untilPrinted(t: Test, terminal: Terminal, command: string, pattern: RegExp): Promise<void> {
  let output = '';
  while (t.passing() && !pattern.test(output)) output = await terminal.run(command);
  t.match(output, pattern);
}
