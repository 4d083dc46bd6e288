// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca break` on a running adapter: a breakpoint by file and line of the source is set through
 * the inspector and is hit; and places in source and script, by the source map.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';
import { SourcePlaces } from './source-places.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FILE = 'device/process/reports/status-report.ts';
/** `vuhca status` runs this line. */
const CODE = '    uptimeNs: process.clock.now(),';

/** Number of the first line of the file with this text, from 1. */
function findLine(text: string): number {
  return readFileSync(join(ROOT, FILE), 'utf8').split('\n').indexOf(text) + 1;
}

// Nothing here waits for time to pass; a machine that is busy with other tests may need long.
t.setTimeout(0);

t.test('a breakpoint by file and line is hit', async (t) => {
  const directory = makeDirectory(t);
  const environment = { XDG_RUNTIME_DIR: directory };
  const device = new CliProcess(
    ['device', '--socket', join(directory, 's.sock'), '--inspect=127.0.0.1:0'],
    environment,
  );
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, port] = await device.until(/ws:\/\/127\.0\.0\.1:(\d+)\//);
  await device.until(/^listening on/m);
  const at = `--inspect=${port}`;
  const line = findLine(CODE);
  t.ok(line > 30);

  const child = spawn(join(ROOT, 'scripts/vuhca'), ['break', `${FILE}:${line}`, at]);
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  const until = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(output) && child.exitCode === null) await new Promise((done) => setTimeout(done, 20));
    t.match(output, pattern);
  };
  const whenEnded = new Promise((resolve) => child.once('close', resolve));
  await until(/^breakpoint at /);
  const stopped = runCli(['status'], environment);
  await until(/^> +\d+ {5}uptimeNs: .*$/m);
  t.match(output, `breakpoint at ${FILE}:${line}\n`, 'exactly this line');
  t.match(output, new RegExp(`stopped in reportProcess, ${join(ROOT, FILE)}:${line}\n`));
  child.stdin.write('pid\n1 +\nprocess.adapters[0].name\nbt\n');
  await until(new RegExp(`^\\(.*\\) ${device.child.pid}\n.*SyntaxError.*\n.*"a"\n.*0 {2}reportProcess, `, 'm'));
  // A status makes two reports: the second stop ends the session.
  child.stdin.write('c\nq\n');
  t.equal(await whenEnded, 0);
  t.match(await stopped, { status: 0, stdout: /^vuhca \d/ }, 'the adapter answers when it goes on');

  const watching = runCli(['break', `${FILE}:${line}`, at, '--print', 'process.adapters.length', '--count', '1']);
  let isOver = false;
  void watching.then(() => {
    isOver = true;
  });
  while (!isOver) await runWords(['status'], environment);
  t.match(await watching, { status: 0, stdout: `breakpoint at ${FILE}:${line}\n1\n` });
  t.match(await runWords(['break', 'nothing.ts:1', at]), { status: 1, stderr: /has loaded no file nothing\.ts/ });
  t.match(await runWords(['break', `${FILE}:99999`, at]), { status: 1, stderr: /has no code at line 99999 or behind/ });
  t.match(await runWords(['status'], environment), { status: 0 }, 'the breakpoint is gone');
});

t.test('without a debugger, and words that are no place', async (t) => {
  t.match(await runWords(['break', 'x.ts:1', '--inspect=127.0.0.1:1']), {
    status: 1,
    stderr: /ECONNREFUSED; begin with/,
  });
  t.match(await runWords(['break', 'x.ts']), { status: 2, stderr: /x\.ts is no line of a file; say for instance/ });
});

t.test('places by a source map', async (t) => {
  // Two lines of source in one line of the script; then a line without code.
  const mappings = 'AAAA,IAAI;AAEA,CAAC';
  const data = Buffer.from(JSON.stringify({ version: 3, sources: ['x.ts'], names: [], mappings })).toString('base64');
  const places = new SourcePlaces(`data:application/json;base64,${data}`);
  t.same(places.toScript(0)?.generated, { line: 0, column: 0 });
  t.match(places.toScript(1), { generated: { line: 1, column: 0 }, original: { line: 2, column: 4 } }, 'the next line');
  t.equal(places.toScript(3), undefined);
  t.same(places.toSource({ line: 0, column: 3 }), { line: 0, column: 0 });
  t.same(places.toSource({ line: 0, column: 9 }), { line: 0, column: 4 });
  t.throws(() => new SourcePlaces('x.map'), /no source map in it/);
});

t.test('the places in docs/DEBUGGING.md and in the help exist', async (t) => {
  const document = readFileSync(join(ROOT, 'docs/DEBUGGING.md'), 'utf8');
  const help = readFileSync(join(ROOT, 'scripts/cli/debugger/break-command.ts'), 'utf8');
  const lines = [...`${document}${help}`.matchAll(/vuhca break (device\/\S+\.ts):(\d+)/g)];
  t.equal(lines.length, 4);
  for (const [, file, line] of lines) {
    const text = readFileSync(join(ROOT, file), 'utf8').split('\n');
    t.match(text[Number(line) - 2], /^ {2}\w+\(.*\{$/, `${file}:${line} is the first line of a method`);
  }
  const [, table = ''] = /Good places:\n\n(.*?)\n\n/s.exec(document) ?? [];
  const rows = [...table.matchAll(/^\| `(device\/[^`]*\/)([^`/]+)`, (.*?) \|/gm)];
  t.ok(rows.length >= 7);
  for (const [, folder, first, rest] of rows) {
    const words = [first, ...[...rest.matchAll(/`([^`]+)`/g)].map(([, word]) => word)];
    const code = words
      .filter((word) => word.endsWith('.ts'))
      .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'));
    for (const name of words.filter((word) => !word.endsWith('.ts')))
      t.match(code.join('\n'), new RegExp(`^ {2}${name}\\(`, 'm'), `${folder}${first} has ${name}`);
  }
});
