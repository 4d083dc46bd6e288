// SPDX-License-Identifier: Apache-2.0
/** The commands of docs/CLUSTER.md, in their order, each block as a script. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { ROOT, readBlocks } from '../testing/document-blocks.ts';
import { runCli } from '../testing/run-cli.ts';

// A node that hangs is ended by its supervisor; only the machine's own bound ends a slow one.
t.setTimeout(0);

const directory = makeDirectory(t);
const environment = { XDG_RUNTIME_DIR: directory };
const blocks = readBlocks('docs/CLUSTER.md');
/** With the paths of this clone; the test runs elsewhere. */
const withPath = (lines: readonly string[]): string =>
  `${lines.join('\n').replaceAll(/(?<= |^)(?:scripts\/vuhca|guest-tests\/)/gm, (path) => join(ROOT, path))}\n`;

/** Runs a script in the folder; returns its status and all that it has printed. */
async function runScript(lines: readonly string[]): Promise<{ status: number | null; said: string }> {
  const child = spawn('sh', ['-ec', withPath(lines)], {
    cwd: directory,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const output of [child.stdout, child.stderr])
    output.on('data', (text) => {
      said += text;
    });
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { status, said };
}

/** What the blocks print, by their first line. */
const expected: Readonly<Record<string, RegExp>> = {
  'scripts/vuhca cluster up ': /node2 +up +10\.77\.0\.2 .*node2 \| \s*State: Active/s,
  'scripts/vuhca cluster exec node2 -- ibv_rc_pingpong': /1000 iters in .*1000 iters in/s,
  'echo ': /hello from a file/,
  'scripts/vuhca cluster cut ': /Linux version/,
  'scripts/vuhca cluster stop ': /1000 iters in .*1000 iters in .*node2 +stopped/s,
  'scripts/vuhca cluster down': /^$/,
  'export ': /immediate 2026, text "hello".*rank 1 of 2 on node2: 0 wrong sums/s,
  'scripts/vuhca cluster plan ': /^$/,
  'scripts/vuhca cluster test ': /ok 1 - ping\n.*\nok 2 - ibstat\n/s,
};

t.test('blocks in their order', async (t) => {
  t.teardown(() => runCli(['cluster', 'down'], environment));
  const [file] = blocks.filter(({ language }) => language === 'json');
  const [script] = blocks.filter(({ lines }) => lines[0] === '#!/bin/sh');
  writeFileSync(join(directory, 'cluster.json'), file.lines.join('\n'));
  writeFileSync(join(directory, 'my-test.sh'), withPath(script.lines), { mode: 0o755 });
  const run = blocks.filter((block) => block.language === 'sh' && block !== script);
  t.equal(run.length, Object.keys(expected).length);
  for (const { lines } of run) {
    const { status, said } = await runScript(lines);
    t.equal(status, 0, `${lines[0]}: ${said}`);
    const [, pattern] = Object.entries(expected).find(([begins]) => lines[0].startsWith(begins)) ?? [];
    t.match(said, pattern ?? /^never$/);
  }
  t.match(readFileSync(join(directory, 'hosts-of-node2'), 'utf8'), /10\.77\.0\.1 node1/);
  t.match(readFileSync(join(directory, 'results.xml'), 'utf8'), /tests="5"[^>]* failures="0"/);
  t.match(readFileSync(join(directory, 'job.sh'), 'utf8'), /^#SBATCH --nodes=2$/m);
  t.match(readFileSync(join(directory, 'by-ssh.sh'), 'utf8'), /^# trunk 2: .*connects$/m);
  for (const name of ['head', 'worker', 'cluster']) t.ok(existsSync(join(directory, 'logs', `${name}.log`)), name);
  t.same(
    readdirSync(join(directory, 'vuhca')).filter((name) => name.endsWith('.cluster')),
    [],
    'nothing is left',
  );
});
