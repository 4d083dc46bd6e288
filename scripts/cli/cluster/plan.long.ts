// SPDX-License-Identifier: Apache-2.0
/**
 * The script of `vuhca cluster plan --format ssh`, with a program `ssh` that runs its command here:
 * two machines are two clusters of this machine, with supervisors and adapter processes of their
 * own, and the fabric between them is joined by TCP alone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import t from 'tap';
import { makeDirectory } from '../testing/directory.ts';
import { runCli } from '../testing/run-cli.ts';

// A node that hangs is ended by its supervisor; only the machine's own bound ends a slow one.
t.setTimeout(0);

const directory = makeDirectory(t);
const environment = { XDG_RUNTIME_DIR: directory, TMPDIR: join(directory, 'tmp') };
const programs = join(directory, 'programs');
const calls = join(directory, 'calls');

/** Notes which machine is called, and runs the line as the shell of a login would. */
const SSH = `#!/bin/sh
[ "$1 $2" = '-o BatchMode=yes' ] || exit 255
echo "$3" >>${calls}
exec sh -c "$4"
`;

/** Those of docs/CLUSTER.md, whose root file system may be there already. */
const PACKAGES = 'gcc,librdmacm-dev,openmpi-bin,libopenmpi-dev';
/** What a job of MPI needs of two machines; cluster-document.long.ts has such a job on one. */
const COMMAND = `#!/bin/sh -e
echo by standard input | on-node node1 'command -v mpirun; cat >said; scp -q said node2:'
on-node node2 -- cat said
on-node node2 -- ibv_rc_pingpong -n 100 &
on-node node1 'until ibv_rc_pingpong -n 100 node2; do sleep 1; done'
wait
on-node node2 ibnetdiscover
on-node node2 -- echo two words "it's"
on-node node9 true || echo status $?
exit 7
`;

/** Runs the script to its end; returns what it printed, in order. */
async function runScript(path: string, command: readonly string[]): Promise<{ status: number; said: string }> {
  const child = spawn('sh', [path, ...command], {
    env: { ...process.env, ...environment, PATH: `${programs}${delimiter}${process.env.PATH}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  for (const output of [child.stdout, child.stderr])
    output.on('data', (text) => {
      said += text;
    });
  const [status] = (await once(child, 'close')) as [number];
  return { status, said };
}

/** A port with free ones behind it, as far as can be known. */
async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

t.test('a fat tree on two machines', async (t) => {
  mkdirSync(programs);
  mkdirSync(environment.TMPDIR);
  writeFileSync(join(programs, 'ssh'), SSH, { mode: 0o755 });
  const [file, script, command] = ['cluster.json', 'script', 'command'].map((name) => join(directory, name));
  const tree = { 'fat-tree': { leaves: 2, spines: 2, adaptersPerLeaf: 1 } };
  writeFileSync(file, JSON.stringify({ nodes: 2, generate: tree }));
  writeFileSync(command, COMMAND, { mode: 0o755 });
  const split = ['--machines', '2', '--nodes-per-machine', '1', '--format', 'ssh', '--name', 'tree'];
  const machines = ['--hosts', '127.0.0.1,someone@127.0.0.2', '--port', String(await findPort())];
  const plan = await runCli(['cluster', 'plan', file, '--packages', PACKAGES, ...split, ...machines], environment);
  t.match(plan, { status: 0, stderr: '' });
  writeFileSync(script, plan.stdout);
  const { status, said } = await runScript(script, [command]);
  t.equal(status, 7, said);
  t.match(said, /all 2 machines are up, with 2 trunks\n/);
  t.match(said, /\/usr\/bin\/mpirun\nby standard input\n/, 'files cross the trunks by ssh');
  t.match(said, /100 iters in .*100 iters in /s, 'and messages of a reliable connection');
  const found = [...said.matchAll(/^(?:Switch|Ca)\t.*# "([^"]*)"/gm)].map(([, name]) => name.split(' ')[0]);
  t.same(found.sort(), ['leaf1', 'leaf2', 'node1', 'node2', 'spine1', 'spine2'], said);
  t.match(said, /\ntwo words it's\n/);
  t.match(said, /there is no node node9\nstatus 2\n/);
  const called = readFileSync(calls, 'utf8').split('\n');
  t.ok(called.includes('127.0.0.1') && called.includes('someone@127.0.0.2'));
  t.same(
    readdirSync(join(directory, 'vuhca')).filter((name) => name.endsWith('.cluster')),
    [],
    'both parts have ended',
  );
  t.same(
    readdirSync(environment.TMPDIR).filter((name) => name.startsWith('tmp.')),
    [],
    'no folder with keys is left',
  );
});

t.test('a machine that does not come up ends the others, which boot', async (t) => {
  const script = join(directory, 'script');
  const broken = SSH.replace('exec sh', `case $3 in *2) exit 255;; esac\nexec sh`);
  writeFileSync(join(programs, 'ssh'), broken, { mode: 0o755 });
  const { status, said } = await runScript(script, ['true']);
  t.equal(status, 1, said);
  t.match(said, /machine 2 has not come up\n/);
  t.same(
    readdirSync(join(directory, 'vuhca')).filter((name) => name.endsWith('.cluster')),
    [],
  );
});
