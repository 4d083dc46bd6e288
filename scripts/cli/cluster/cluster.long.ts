// SPDX-License-Identifier: Apache-2.0
/**
 * Live clusters from `up` to `down`: commands, files and faults in nodes, and nodes, adapters and
 * commands that end in the middle of it. A node costs more than all else here, so tests share them,
 * a guest at the place of a node is one that executes nothing (cluster-document.long.ts has one
 * that runs), and commands without streams of their own run in this process.
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
import { runWords } from '../testing/run-words.ts';
import { stoppedGuest } from '../testing/waiting-guest.ts';

// A node that hangs is ended by its supervisor; only the machine's own bound ends a slow one.
t.setTimeout(0);

const directory = makeDirectory(t);
process.env.XDG_RUNTIME_DIR = directory;
const folder = join(directory, 'vuhca');
const POLL_MS = 50;

/** Runs an action by a process of its own. */
const call = (...words: string[]): Promise<CliResult> => runCli(['cluster', ...words]);
/** Performs an action in this process, which is cheaper. */
const perform = (...words: string[]): Promise<CliResult> => runWords(['cluster', ...words]);

async function list(...words: string[]): Promise<ClusterReport> {
  const { stdout, stderr } = await perform('list', '--json', ...words);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as ClusterReport;
}

/** Waits until the report of a cluster is so, and returns it. */
async function listUntil(isSo: (report: ClusterReport) => boolean, ...words: string[]): Promise<ClusterReport> {
  for (;;) {
    const report = await list(...words);
    if (isSo(report)) return report;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}

/** All processes of a cluster. */
function processesOf({ pid, devicePid, nodes }: ClusterReport): number[] {
  return [pid, devicePid, ...nodes.flatMap((node) => (node.pid === undefined ? [] : [node.pid]))];
}

/** Folders of clusters that are there. */
function foldersThere(): string[] {
  return readdirSync(folder).filter((name) => name.endsWith('.cluster'));
}

/** Starts a guest of `vuhca run` that executes nothing; returns when QEMU has its place. */
async function attachGuest(t: Test, place: string): Promise<CliProcess> {
  const run = new CliProcess(['run', '--attach', place, ...stoppedGuest(directory)]);
  t.teardown(() => run.child.kill('SIGKILL'));
  await run.until(/QEMU is process/);
  return run;
}

/** While a guest of `vuhca run` has the place of node2, which is stopped, nobody else gets it. */
async function checkGuestOfRun(t: Test): Promise<void> {
  const run = await attachGuest(t, 'node2');
  await run.until(/other nodes look for node2 at 10\.77\.0\.2/);
  t.match((await list()).nodes[1], { state: 'taken', why: `by a guest of process ${run.child.pid}` });
  const taken = /node node2 is taken by a guest of process \d+: end that first/;
  t.match(await perform('start', 'node2'), { status: 1, stderr: taken });
  t.match(await runCli(['run', '--attach', 'default:node2']), { status: 1, stderr: taken });
  run.child.kill('SIGTERM');
  t.equal(await run.whenExited, 128 + 15);
  t.match((await list()).nodes[1], { state: 'stopped' });
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
    const reader = new CliProcess(['cluster', 'exec', 'node2', '--', 'cat; hostname'], {}, 'pipe');
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
    const waiting = new CliProcess(['cluster', 'exec', 'node1', '--', 'echo begun; exec sleep 1000']);
    await waiting.until(/begun/);
    waiting.child.kill('SIGINT');
    t.equal(await waiting.whenExited, 130);
    const killed = new CliProcess(['cluster', 'exec', 'node1', '--', 'echo begun; exec sleep 2000']);
    await killed.until(/begun/);
    killed.child.kill('SIGKILL');
    await killed.whenExited;
    const gone = await call('exec', 'node1', '--', 'while pgrep -x sleep >/dev/null; do sleep 0.1; done');
    t.equal(gone.status, 0, 'a command ends with its client');
  });

  await t.test('a shell has a terminal of the size of that here', async (t) => {
    const command = `stty rows 33 cols 99; exec ${join(ROOT, 'scripts/vuhca')} cluster shell node1`;
    const terminal = spawn('script', ['-qec', command, '/dev/null'], { env: process.env });
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
    t.match(await perform('copy', '--all', source, ':/root/'), { status: 0, stderr: '' });
    t.match(await call('exec', 'node2', '--', '/root/source/run.sh'), { status: 0, stdout: 'carried\n' });
    await call('exec', 'node1', '--', 'ln -s .. /root/source/up');
    t.match(await perform('copy', 'node1:/root/source', target), { status: 0, stderr: '' });
    t.ok(readFileSync(join(target, 'source', 'deep', 'data')).equals(bytes));
    const absent = join(directory, 'none');
    t.match(await perform('copy', absent, 'node1:/root/'), { status: 1, stderr: /none does not exist/ });
    t.match(await perform('copy', 'node1:/none', target), { status: 1, stderr: /node node1 has no \/none/ });
    t.match(await perform('copy', join(source, 'run.sh'), 'node1:/none/'), { status: 1, stderr: /no folder \/none\// });
    t.match(await perform('copy', join(source, 'run.sh'), 'node1:/proc/'), { status: 1, stderr: /\/proc\/run\.sh: / });
  });

  await t.test('a cable that is pulled out, and a bad one', async (t) => {
    t.match(await perform('cut', 'node2'), { status: 0 });
    await listUntil(({ nodes }) => nodes[1].portState === 'DOWN');
    t.match(await perform('mend', 'node2'), { status: 0 });
    await listUntil(({ nodes }) => nodes[1].portState === 'ACTIVE');
    t.match(await perform('fault', 'node2', 'drop=0.01,seed=7'), { status: 0 });
    t.match(await runWords(['link']), { stdout: /node2:1/ });
    t.match(await perform('fault', 'node9', 'drop=0.01'), { status: 1, stderr: /no link is at port node9:1/ });
    t.match(await perform('fault', 'node1', 'drop=7'), { status: 1, stderr: /drop/ });
  });

  await t.test('a node that panics is told, the others go on, and it starts again', async (t) => {
    await call('exec', 'node2', '--', 'echo 1 >/proc/sys/kernel/sysrq; (sleep 0.2; echo c >/proc/sysrq-trigger) &');
    const [, node] = (await listUntil(({ nodes }) => nodes[1].state === 'failed')).nodes;
    t.match(node.why, /its kernel complained: .*(panic|crash)/i);
    t.match(await call('exec', 'node1', '--', 'hostname'), { status: 0, stdout: 'node1\n' });
    t.match(await perform('log', 'node2'), { status: 0, stdout: /Linux version/ });
    t.match(await perform('start', 'node2'), { status: 0, stderr: '' });
    t.match(await call('exec', 'node1', '--', 'ssh', 'node2', 'hostname'), { status: 0, stdout: 'node2\n' });
  });

  await t.test('a node stops, and its place is free', async (t) => {
    t.match(await perform('stop', 'node2'), { status: 0, stderr: '' });
    t.match((await list()).nodes, [{ state: 'up' }, { state: 'stopped' }]);
    const refused = await call('exec', 'node2', '--', 'true');
    t.match(refused, { status: 1, stderr: /node node2 is stopped: `vuhca cluster start node2` starts it/ });
    t.match(await perform('start', 'node1'), { status: 1, stderr: /node node1 is up: it cannot be started twice/ });
    const busy = await runCli(['run', '--attach', 'default:node1']);
    t.match(busy, { status: 1, stderr: /node node1 is up: `vuhca cluster stop node1` makes its place free/ });
    await checkGuestOfRun(t);
  });

  await t.test('another cluster beside it, which ends before its node is up', async (t) => {
    const file = join(directory, 'with-door.json');
    // A node without a cable is never up, so it does not matter how long the guest needs.
    const fabric = { switches: { s: { ports: 2 } }, links: [{ ports: ['door:1', 's'] }] };
    writeFileSync(file, JSON.stringify({ nodes: 1, adapters: { door: { personality: 'vuhca' } }, ...fabric }));
    const up = new CliProcess(['cluster', 'up', file, '--name', 'other', '--tcg-thread', 'single']);
    await up.until(/node1 +boots/);
    const guest = await attachGuest(t, 'other:door');
    const report = await listUntil(({ nodes }) => nodes[0].pid !== undefined, '--name', 'other');
    for (const pid of [report.nodes[0].pid, /QEMU is process (\d+)/.exec(guest.stderr)?.[1]])
      t.match(readFileSync(`/proc/${pid}/cmdline`, 'utf8'), '\0tcg,thread=single\0', 'node and door take turns');
    const pids = processesOf(report);
    t.match(await call('down', '--name', 'other'), { status: 0, stdout: '', stderr: '' });
    t.same(pids.filter(isRunning), [], 'no process is left');
    t.equal(await up.whenExited, 1, up.stderr);
    t.equal(await guest.whenExited, 1);
    t.match(guest.stderr, /\nvuhca run: cluster other (has|was) ended/);
    t.match(await call('exec', 'node1', '--', 'hostname'), { status: 0, stdout: 'node1\n' });
  });

  await t.test('the adapter process is killed', async (t) => {
    const guest = await attachGuest(t, 'node2');
    process.kill((await list()).devicePid, 'SIGKILL');
    t.equal(await guest.whenExited, 1);
    t.match(guest.stderr, /\nvuhca run: the adapter process ended \(SIGKILL\), so the guest was ended\n/);
    const isOver = ({ nodes }: ClusterReport) => nodes.every(({ state }) => state === 'stopped' || state === 'failed');
    t.match((await listUntil(isOver)).failure, /the adapter process ended \(SIGKILL\)/);
    t.match(await perform('start', 'node1'), { status: 1, stderr: /the adapter process ended \(SIGKILL\)/ });
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
  t.match(await perform('start', 'node1', '--name', 'deaf'), { status: 1, stderr: absent });
});

t.test('commands and supervisors that end while a node boots', async (t) => {
  const whileItBoots = async (name: string): Promise<{ up: CliProcess; report: ClusterReport }> => {
    const up = new CliProcess(['cluster', 'up', '--name', name, '--nodes', '1']);
    await up.until(/node1 +boots/);
    return { up, report: await listUntil(({ nodes }) => nodes[0].pid !== undefined, '--name', name) };
  };

  await t.test('a command that is killed takes the cluster with it', async (t) => {
    const { up, report } = await whileItBoots('killed');
    up.child.kill('SIGKILL');
    while (processesOf(report).some(isRunning)) await new Promise((done) => setTimeout(done, POLL_MS));
    t.same(foldersThere(), []);
  });

  await t.test('a supervisor that is killed ends all', async (t) => {
    const { up, report } = await whileItBoots('lost');
    process.kill(report.pid, 'SIGKILL');
    t.equal(await up.whenExited, 1, up.stderr);
    while (processesOf(report).some(isRunning)) await new Promise((done) => setTimeout(done, POLL_MS));
    t.match(await perform('list', '--name', 'lost'), { status: 1, stderr: /the process of cluster lost was killed/ });
  });

  await t.test('Ctrl-C leaves nothing, of a cluster whose name is free again', async (t) => {
    const { up, report } = await whileItBoots('lost');
    up.child.kill('SIGINT');
    t.equal(await up.whenExited, 130, up.stderr);
    t.same(processesOf(report).filter(isRunning), []);
    t.same(foldersThere(), []);
  });
});
