// SPDX-License-Identifier: Apache-2.0
/**
 * Live clusters from `up` to `down`: commands, files and faults in nodes, and nodes, adapters and
 * commands that end in the middle of it.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { ClusterReport } from '../cluster-client/cluster-protocol.ts';
import { isRunning } from '../session/running.ts';
import { makeDirectory } from '../testing/directory.ts';
import { ROOT } from '../testing/document-blocks.ts';
import { CliProcess, type CliResult, runCli } from '../testing/run-cli.ts';

// A node that hangs is ended by its supervisor; only the machine's own bound ends a slow one.
t.setTimeout(0);

const directory = makeDirectory(t);
const environment = { XDG_RUNTIME_DIR: directory };
const folder = join(directory, 'vuhca');

const call = (...words: string[]): Promise<CliResult> => runCli(['cluster', ...words], environment);

async function list(...words: string[]): Promise<ClusterReport> {
  const { stdout, stderr } = await call('list', '--json', ...words);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as ClusterReport;
}

/** All processes of a cluster. */
function processesOf({ pid, devicePid, nodes }: ClusterReport): number[] {
  return [pid, devicePid, ...nodes.flatMap((node) => (node.pid === undefined ? [] : [node.pid]))];
}

/** Folders of clusters that are there. */
function foldersThere(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.cluster'));
}

/** A guest of `vuhca run` at the place of node2, which is stopped, is node2 for the other nodes. */
async function checkGuestOfRun(t: Test): Promise<void> {
  const script = join(directory, 'guest.sh');
  writeFileSync(
    script,
    `#!/bin/sh
until [ "$(cat /sys/class/infiniband/*/ports/1/state)" = '4: ACTIVE' ]; do sleep 0.1; done
ip address add 10.77.0.2/16 dev ib0
ip link set ib0 up
ibv_rc_pingpong -n 20
`,
  );
  const run = new CliProcess(['run', '--attach', 'node2', '--distribution', '--case', script], environment);
  t.teardown(() => run.child.kill('SIGKILL'));
  await run.until(/other nodes look for node2 at 10\.77\.0\.2/);
  t.match((await list()).nodes[1], { state: 'taken', why: `by a guest of process ${run.child.pid}` });
  const taken = /node node2 is taken by a guest of process \d+: end that first/;
  t.match(await call('start', 'node2'), { status: 1, stderr: taken });
  t.match(await runCli(['run', '--attach', 'default:node2'], environment), { status: 1, stderr: taken });
  const client = 'until ibv_rc_pingpong -n 20 node2; do sleep 1; done';
  t.match(await call('exec', 'node1', '--', client), { status: 0, stdout: /20 iters/ });
  t.equal(await run.whenExited, 0, run.stderr);
  t.match(run.stdout, /20 iters/);
}

t.test('two nodes from up to down', async (t) => {
  const up = await call('up');
  t.equal(up.status, 0, up.stderr);
  t.teardown(() => call('down'));
  const report = await list();
  t.match(report.nodes, [
    { name: 'node1', state: 'up', address: '10.77.0.1', portState: 'ACTIVE' },
    { name: 'node2', state: 'up', address: '10.77.0.2', portState: 'ACTIVE' },
  ]);
  const again = await call('up');
  t.match(again, { status: 1, stderr: /cluster default is running: `vuhca cluster down` ends it/ });

  await t.test('a command has its streams and its status', async (t) => {
    t.match(await call('exec', 'node1', '--', 'echo out; echo err >&2; exit 7'), {
      status: 7,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    t.match(await call('exec', 'node1', '--', 'sh', '-c', 'kill -9 $$'), { status: 137 });
    t.match(await call('exec', 'node9', '--', 'true'), {
      status: 1,
      stderr: /there is no node node9; there are node1/,
    });
    const reader = new CliProcess(['cluster', 'exec', 'node2', '--', 'cat; hostname'], environment, 'pipe');
    reader.type('a line of input');
    reader.child.stdin?.end();
    t.equal(await reader.whenExited, 0);
    t.equal(reader.stdout, 'a line of input\nnode2\n');
    const much = await call('exec', 'node1', '--', 'head -c 3000000 /dev/zero | tr "\\0" x');
    t.equal(much.stdout.length, 3_000_000, 'much output arrives whole');
  });

  await t.test('in all nodes at once, with their names', async (t) => {
    const { status, stdout } = await call('exec', '--all', '--', 'hostname; [ $(hostname) = node1 ] || exit 4');
    t.equal(status, 4, 'the highest status');
    t.same(stdout.trim().split('\n').sort(), ['node1 | node1', 'node2 | node2']);
  });

  await t.test('Ctrl-C reaches the command', async (t) => {
    const waiting = new CliProcess(['cluster', 'exec', 'node1', '--', 'echo begun; exec sleep 1000'], environment);
    await waiting.until(/begun/);
    waiting.child.kill('SIGINT');
    t.equal(await waiting.whenExited, 130);
    const killed = new CliProcess(['cluster', 'exec', 'node1', '--', 'echo begun; exec sleep 2000'], environment);
    await killed.until(/begun/);
    killed.child.kill('SIGKILL');
    await killed.whenExited;
    const gone = await call('exec', 'node1', '--', 'while pgrep -x sleep >/dev/null; do sleep 0.1; done');
    t.equal(gone.status, 0, 'a command ends with its client');
  });

  await t.test('a shell has a terminal of the size of that here', async (t) => {
    const command = `stty rows 33 cols 99; exec ${join(ROOT, 'scripts/vuhca')} cluster shell node1`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { env: { ...process.env, ...environment } });
    let said = '';
    terminal.stdout.on('data', (text) => {
      const isPrompt = !said.includes('node1:~#') && `${said}${text}`.includes('node1:~#');
      said += text;
      if (isPrompt) terminal.stdin.write('tty; stty size; exit 5\n');
    });
    t.equal(await new Promise((resolve) => terminal.once('close', resolve)), 5, said);
    t.match(said, /\/dev\/pts\/\d+\r+\n33 99\r+\n/);
  });

  await t.test('nodes reach each other by name', async (t) => {
    t.match(await call('exec', 'node1', '--', 'ssh', 'node2', 'hostname'), { status: 0, stdout: 'node2\n' });
    t.match(await call('exec', 'node2', '--', 'ssh', 'node1', 'hostname'), { status: 0, stdout: 'node1\n' });
    const server = call('exec', 'node2', '--', 'ibv_rc_pingpong -e -n 20');
    const ready = 'until ss -Hltn sport = :18515 | grep -q .; do sleep 0.1; done';
    t.match(await call('exec', 'node2', '--', ready), { status: 0 });
    t.match(await call('exec', 'node1', '--', 'ibv_rc_pingpong -e -n 20 node2'), { status: 0, stdout: /20 iters/ });
    t.match(await server, { status: 0, stdout: /20 iters/ });
  });

  await t.test('files and folders there and back', async (t) => {
    const [source, target] = ['source', 'target'].map((name) => join(directory, name)) as [string, string];
    mkdirSync(join(source, 'deep'), { recursive: true });
    mkdirSync(target);
    const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, index) => index % 251));
    writeFileSync(join(source, 'deep', 'data'), bytes);
    writeFileSync(join(source, 'run.sh'), '#!/bin/sh\necho carried\n', { mode: 0o755 });
    // Neither side may go round for ever.
    symlinkSync('..', join(source, 'deep', 'up'));
    t.match(await call('copy', '--all', source, ':/root/'), { status: 0, stderr: '' });
    t.match(await call('exec', 'node2', '--', '/root/source/run.sh'), { status: 0, stdout: 'carried\n' });
    await call('exec', 'node1', '--', 'ln -s .. /root/source/up');
    t.match(await call('copy', 'node1:/root/source', target), { status: 0, stderr: '' });
    t.ok(readFileSync(join(target, 'source', 'deep', 'data')).equals(bytes));
    const absent = join(directory, 'none');
    t.match(await call('copy', absent, 'node1:/root/'), { status: 1, stderr: /none does not exist/ });
    t.match(await call('copy', 'node1:/none', target), { status: 1, stderr: /node node1 has no \/none/ });
    t.match(await call('copy', join(source, 'run.sh'), 'node1:/none/'), { status: 1, stderr: /no folder \/none\// });
    t.match(await call('copy', join(source, 'run.sh'), 'node1:/proc/'), { status: 1, stderr: /\/proc\/run\.sh: / });
  });

  await t.test('a cable that is pulled out, and a bad one', async (t) => {
    const state = async (): Promise<string | undefined> => (await list()).nodes[1].portState;
    t.match(await call('cut', 'node2'), { status: 0 });
    while ((await state()) !== 'DOWN') await new Promise((done) => setTimeout(done, 50));
    t.match(await call('mend', 'node2'), { status: 0 });
    while ((await state()) !== 'ACTIVE') await new Promise((done) => setTimeout(done, 50));
    t.match(await call('fault', 'node2', 'drop=0.01,seed=7'), { status: 0 });
    t.match(await runCli(['link'], environment), { stdout: /node2:1/ });
    t.match(await call('fault', 'node9', 'drop=0.01'), { status: 1, stderr: /no link is at port node9:1/ });
    t.match(await call('fault', 'node1', 'drop=7'), { status: 1, stderr: /drop/ });
  });

  await t.test('a node stops, and starts again', async (t) => {
    t.match(await call('stop', 'node2'), { status: 0, stderr: '' });
    t.match((await list()).nodes, [{ state: 'up' }, { state: 'stopped' }]);
    const refused = await call('exec', 'node2', '--', 'true');
    t.match(refused, { status: 1, stderr: /node node2 is stopped: `vuhca cluster start node2` starts it/ });
    t.match(await call('start', 'node1'), { status: 1, stderr: /node node1 is up: it cannot be started twice/ });
    const busy = await runCli(['run', '--attach', 'default:node1'], environment);
    t.match(busy, { status: 1, stderr: /node node1 is up: `vuhca cluster stop node1` makes its place free/ });
    await checkGuestOfRun(t);
    t.match(await call('start', 'node2'), { status: 0, stderr: '' });
    t.match(await call('exec', 'node1', '--', 'ssh', 'node2', 'hostname'), { status: 0, stdout: 'node2\n' });
  });

  await t.test('a node that panics is told, and the others go on', async (t) => {
    await call('exec', 'node2', '--', 'echo 1 >/proc/sys/kernel/sysrq; (sleep 0.2; echo c >/proc/sysrq-trigger) &');
    let [, node] = (await list()).nodes;
    while (node.state !== 'failed') {
      await new Promise((done) => setTimeout(done, 50));
      [, node] = (await list()).nodes;
    }
    t.match(node.why, /its kernel complained: .*(panic|crash)/i);
    t.match(await call('exec', 'node1', '--', 'hostname'), { status: 0, stdout: 'node1\n' });
    t.match(await call('log', 'node2'), { status: 0, stdout: /Linux version/ });
    t.match(await call('start', 'node2'), { status: 0 });
  });

  const pids = processesOf(await list());
  t.match(await call('down'), { status: 0, stdout: '', stderr: '' });
  t.same(pids.filter(isRunning), [], 'no process is left');
  t.same(foldersThere(), []);
});

t.test('a disk that makes no node is given up with a sentence', async (t) => {
  const disk = join(directory, 'deaf.img');
  // A boot sector that turns off interrupts and halts.
  const sector = Buffer.alloc(512);
  sector.set([0xfa, 0xf4]);
  sector.writeUInt16LE(0xaa55, 510);
  writeFileSync(disk, sector);
  const up = await call('up', '--name', 'deaf', '--nodes', '1', '--disk', disk, '--timeout', '1');
  t.teardown(() => call('down', '--name', 'deaf'));
  const silent = /node node1 has failed: it was silent for \d+ s and was ended; its image must .* have systemd 256/;
  t.match(up, { status: 1, stderr: silent });
  rmSync(disk);
  const absent = /node node1 has failed: disk names \S+deaf\.img, which does not exist/;
  t.match(await call('start', 'node1', '--name', 'deaf'), { status: 1, stderr: absent });
});

t.test('Ctrl-C while nodes boot leaves nothing', async (t) => {
  const up = new CliProcess(['cluster', 'up', '--name', 'cut'], environment);
  await up.until(/node1 +boots/);
  const pids = processesOf(await list('--name', 'cut'));
  up.child.kill('SIGINT');
  t.equal(await up.whenExited, 130, up.stderr);
  t.same(pids.filter(isRunning), []);
  t.same(foldersThere(), []);
});

t.test('a command that is killed while nodes boot takes the cluster with it', async (t) => {
  const up = new CliProcess(['cluster', 'up', '--name', 'killed'], environment);
  await up.until(/node1 +boots/);
  const pids = processesOf(await list('--name', 'killed'));
  up.child.kill('SIGKILL');
  while (pids.some(isRunning)) await new Promise((done) => setTimeout(done, 50));
  t.same(foldersThere(), []);
});

/** A guest of `vuhca run` with our own driver at a place without a node; returns when it runs. */
async function attachGuest(t: Test, cluster: string): Promise<CliProcess> {
  const script = join(directory, 'wait.sh');
  writeFileSync(script, '#!/bin/sh\necho waits\nsleep 100000\n');
  const run = new CliProcess(['run', '--attach', `${cluster}:door`, '--case', script], environment);
  t.teardown(() => run.child.kill('SIGKILL'));
  await run.until(/^waits$/m);
  return run;
}

t.test('two clusters at once, and the ends of an adapter process and of a supervisor', async (t) => {
  const names = ['one', 'two'] as const;
  const file = join(directory, 'with-door.json');
  writeFileSync(file, JSON.stringify({ nodes: 1, adapters: { door: { personality: 'vuhca' } } }));
  const ups = await Promise.all(names.map((name) => call('up', file, '--name', name, '--fabric', 'ring')));
  for (const { status, stderr } of ups) t.equal(status, 0, stderr);
  const [one, two] = (await Promise.all(names.map((name) => list('--name', name)))) as [ClusterReport, ClusterReport];
  const [first, second] = await Promise.all(names.map((name) => attachGuest(t, name)));
  process.kill(one.devicePid, 'SIGKILL');
  t.equal(await first.whenExited, 1);
  t.match(first.stderr, /\nvuhca run: the adapter process ended \(SIGKILL\), so the guest was ended\n/);
  let report = await list('--name', 'one');
  while (report.nodes.some(({ state }) => state === 'up' || state === 'stops')) report = await list('--name', 'one');
  t.match(report.failure, /the adapter process ended \(SIGKILL\)/);
  const refused = await call('start', 'node1', '--name', 'one');
  t.match(refused, { status: 1, stderr: /the adapter process ended \(SIGKILL\)/ });
  const other = await call('exec', 'node1', '--name', 'two', '--', 'hostname');
  t.match(other, { status: 0, stdout: 'node1\n' }, 'the other cluster goes on');
  t.match(await call('down', '--name', 'one'), { status: 0 });
  process.kill(two.pid, 'SIGKILL');
  t.equal(await second.whenExited, 1);
  t.match(second.stderr, /\nvuhca run: cluster two has ended\n/);
  while (processesOf(two).some(isRunning)) await new Promise((done) => setTimeout(done, 50));
  t.match(await call('list', '--name', 'two'), { status: 1, stderr: /the process of cluster two was killed/ });
  t.match(await call('up', '--name', 'two', '--nodes', '1'), { status: 0 }, 'its name is free again');
  t.match(await call('down', '--name', 'two'), { status: 0 });
});
