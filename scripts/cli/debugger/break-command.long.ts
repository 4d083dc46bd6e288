// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca break` on a running adapter: a breakpoint by file and line of the source is set through
 * the inspector, is hit, and is gone afterwards.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const FILE = 'device/process/reports/status-report.ts';
/** `vuhca status` runs this line. */
const CODE = '    uptimeNs: process.clock.now(),';

/** Number of the first line of the file with this text, from 1. */
function findLine(text: string): number {
  return readFileSync(join(ROOT, FILE), 'utf8').split('\n').indexOf(text) + 1;
}

// Nothing here waits for a time; a machine that is busy with other tests may need long.
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
  // A status makes two reports, so the second stop ends the session.
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
