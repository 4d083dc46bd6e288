// SPDX-License-Identifier: Apache-2.0
/**
 * The script of `vuhca cluster plan --format slurm` as a job of Debian's Slurm: two machines of
 * Slurm, which are two slurmd on this machine, run four guests on one fat tree. Slurm checks no
 * users here, so that no other service is needed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { hostname, userInfo } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { installMissingPackages } from '../../../qemu/setup/system-packages.ts';
import { isRunning } from '../session/running.ts';
import { makeDirectory } from '../testing/directory.ts';
import { runCli } from '../testing/run-cli.ts';

// A node that hangs is ended by its supervisor; only the machine's own bound ends a slow one.
t.setTimeout(0);

const PACKAGES = [
  { name: 'slurmctld', evidence: '/usr/sbin/slurmctld' },
  { name: 'slurmd', evidence: '/usr/sbin/slurmd' },
  { name: 'slurm-client', evidence: '/usr/bin/sbatch' },
];
const MACHINES = ['m1', 'm2'];

const directory = makeDirectory(t);
const configuration = join(directory, 'slurm.conf');
const environment = { ...process.env, XDG_RUNTIME_DIR: directory, SLURM_CONF: configuration };

const COMMAND = `#!/bin/sh -e
on-node node3 -- ibv_rc_pingpong -e -n 50 &
on-node node1 -- 'until ibv_rc_pingpong -e -n 50 node3; do sleep 1; done'
wait
on-node node2 -- ssh node3 ssh node4 hostname
on-node node4 ibnetdiscover
exit 7
`;

/** TCP ports that are free now. */
async function findPorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server: Server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** A configuration of two machines with room for any plan of this test. */
function configure([control, ...ports]: readonly number[]): string {
  const host = hostname().split('.')[0];
  const user = userInfo().username;
  return [
    'ClusterName=trial',
    `SlurmctldHost=${host}(127.0.0.1)`,
    `SlurmUser=${user}`,
    `SlurmdUser=${user}`,
    ...['AuthType=auth/none', 'CredType=cred/none', 'ProctrackType=proctrack/linuxproc', 'TaskPlugin=task/none'],
    ...['SwitchType=switch/none', 'MpiDefault=none', 'JobAcctGatherType=jobacct_gather/none'],
    ...['AccountingStorageType=accounting_storage/none', 'ReturnToService=2'],
    ...['SelectType=select/cons_tres', 'SelectTypeParameters=CR_CPU_Memory', 'SlurmdParameters=config_overrides'],
    `StateSaveLocation=${directory}/state`,
    `SlurmdSpoolDir=${directory}/spool-%n`,
    `SlurmctldPidFile=${directory}/slurmctld.pid`,
    `SlurmdPidFile=${directory}/slurmd-%n.pid`,
    `SlurmctldPort=${control}`,
    ...MACHINES.map(
      (name, index) =>
        `NodeName=${name} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${ports[index]} CPUs=8 RealMemory=16000`,
    ),
    `PartitionName=all Nodes=${MACHINES} Default=YES State=UP MaxTime=INFINITE`,
    '',
  ].join('\n');
}

/** Runs a program of Slurm to its end. */
async function call(program: string, ...words: string[]): Promise<{ status: number | null; stdout: string }> {
  const child = spawn(program, words, { env: environment, cwd: directory, stdio: ['ignore', 'pipe', 'inherit'] });
  let stdout = '';
  child.stdout.on('data', (text) => {
    stdout += text;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stdout };
}

t.test('a job of two machines with four guests', async (t) => {
  await installMissingPackages(PACKAGES);
  let [trunk, ...ports] = await findPorts(2 + MACHINES.length);
  // The second trunk has the port behind.
  while (ports.includes(trunk + 1)) [trunk, ...ports] = await findPorts(2 + MACHINES.length);
  writeFileSync(configuration, configure(ports));
  mkdirSync(join(directory, 'state'));
  const daemons: ChildProcess[] = [];
  const start = (program: string, ...words: string[]): void => {
    const child = spawn(program, words, { env: environment, stdio: 'ignore' });
    daemons.push(child);
  };
  t.teardown(async () => {
    for (const daemon of daemons.reverse()) {
      const ended = once(daemon, 'close');
      daemon.kill('SIGTERM');
      await ended;
    }
  });
  start('/usr/sbin/slurmctld', '-D', '-i');
  for (const name of MACHINES) start('/usr/sbin/slurmd', '-D', '-N', name);

  const split = ['--nodes', '4', '--fabric', 'fat-tree', '--machines', '2', '--nodes-per-machine', '2'];
  const words = [...split, '--format', 'slurm', '--name', 'job', '--port', String(trunk)];
  const plan = await runCli(['cluster', 'plan', ...words], { XDG_RUNTIME_DIR: directory });
  t.match(plan, { status: 0, stderr: '' });
  const [script, command, output] = ['job.sh', 'command', 'job.out'].map((name) => join(directory, name));
  writeFileSync(script, plan.stdout);
  writeFileSync(command, COMMAND, { mode: 0o755 });
  // The controller listens when it has read its state.
  while (daemons.every(({ exitCode }) => exitCode === null) && (await call('sinfo', '--noheader')).status !== 0);
  const { status } = await call('sbatch', '--wait', `--output=${output}`, script, command);
  const said = readFileSync(output, 'utf8');
  t.equal(status, 7, said);
  t.match(said, /all 2 machines are up, with 2 trunks\n/);
  t.match(said, /50 iters in .*50 iters in /s);
  t.match(said, /\nnode4\n/, 'ssh leads from machine to machine');
  const found = [...said.matchAll(/^(?:Switch|Ca)\t.*# "([^"]*)"/gm)].map(([, name]) => name.split(' ')[0]);
  const nodes = [1, 2, 3, 4].map((number) => `node${number}`);
  t.same(found.sort(), ['leaf1', 'leaf2', ...nodes, 'spine1', 'spine2'], said);
  const adapters = [...said.matchAll(/adapter {2}process (\d+) serves 2 nodes/g)].map(([, pid]) => Number(pid));
  t.equal(adapters.length, 2);
  t.same(adapters.filter(isRunning), [], 'nothing of the job is left');
});
