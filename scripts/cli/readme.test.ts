// SPDX-License-Identifier: Apache-2.0
/**
 * The commands of the README. Those for guests of a user run here, with small files of that kind;
 * every other command in its shell blocks has an entry with the test, or the part of CI, that runs
 * it. readme.long.ts boots a user's own kernel.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { ControlClient } from '../../device/process/control/control-client.ts';
import { findControlPaths } from '../../device/process/control/control-path.ts';
import type { StatusReport } from '../../device/process/reports/status-report.ts';
import { readCommands, readmeArguments } from './testing/readme-commands.ts';
import { CliProcess, runCli } from './testing/run-cli.ts';

// A guest that falls silent is ended; no other bound holds on a busy machine.
t.setTimeout(0);

const root = fileURLToPath(new URL('../..', import.meta.url));

/** First words of a command, and the file that runs it. */
const runners: readonly (readonly [string, string])[] = [
  ['npm start', 'scripts/start/start.test.ts'],
  ['npm test', '.ci/run'],
  ['npm install', 'scripts/package/installed.long.ts'],
  ['npx vuhca setup', 'scripts/package/installed.long.ts'],
  ['npx vuhca run', 'scripts/package/installed.long.ts'],
  ['npm run debug', 'scripts/cli/debugger/breakpoint.long.ts'],
  ['scripts/vuhca view', 'scripts/cli/commands/view-command.long.ts'],
  ['scripts/vuhca status', 'scripts/cli/run/run-command.test.ts'],
  ['scripts/vuhca test', 'scripts/cli/test/test-command.test.ts'],
  ['scripts/vuhca show', 'scripts/cli/screens/queue-pair-status.test.ts'],
  ['scripts/vuhca top', 'scripts/cli/screens/functions.test.ts'],
  ['scripts/vuhca device --socket', 'scripts/cli/screens/functions.test.ts'],
  ['scripts/vuhca resources', 'scripts/cli/commands/resources.test.ts'],
  ['scripts/vuhca trace', 'scripts/cli/trace/trace-command.test.ts'],
  ['scripts/vuhca capture', 'scripts/cli/run/run-command.test.ts'],
  ['scripts/vuhca run --record', 'scripts/cli/run/run-command.test.ts'],
  ['scripts/vuhca run --kernel', 'scripts/cli/readme.long.ts'],
  ['scripts/vuhca run --disk', 'scripts/cli/readme.test.ts'],
  ['scripts/vuhca run --personality', 'scripts/cli/readme.test.ts'],
  ['scripts/vuhca cluster', 'scripts/cli/cluster/cluster-document.long.ts'],
  ['scripts/vuhca run --link', 'scripts/cli/readme.test.ts'],
  ['scripts/vuhca device --topology', 'scripts/cli/readme.test.ts'],
  ['scripts/vuhca topology', 'scripts/cli/commands/topology.test.ts'],
  ['scripts/vuhca replay', 'scripts/cli/commands/replay-command.test.ts'],
];

const directory = mkdtempSync(join(tmpdir(), 'vuhca-readme-'));
t.teardown(() => rmSync(directory, { recursive: true }));

/**
 * A disk that says hello on the serial port and turns the machine off: 16-bit code in its first
 * sector.
 */
function makeDisk(path: string): void {
  const message = 'hello from a disk\r\n';
  const code = [
    [0x31, 0xc0, 0x8e, 0xd8], // xor ax, ax; mov ds, ax
    [0xbe, 0x1d, 0x7c], // mov si, message
    [0xac, 0x84, 0xc0, 0x74, 0x06], // next: lodsb; test al, al; jz off
    [0xba, 0xf8, 0x03, 0xee, 0xeb, 0xf5], // mov dx, COM1; out dx, al; jmp next
    [0xba, 0x04, 0x06, 0xb8, 0x00, 0x20, 0xef], // off: mov dx, PM1a_CNT; mov ax, SLP_EN; out dx, ax
    [0xf4, 0xeb, 0xfd, 0x00], // halt: hlt; jmp halt; (pad)
  ].flat();
  const sector = Buffer.alloc(512);
  sector.set(code);
  sector.write(`${message}\0`, 0x1d, 'latin1');
  sector.writeUInt16LE(0xaa55, 510);
  writeFileSync(path, Buffer.concat([sector, Buffer.alloc(1024 * 1024 - 512)]));
}

t.test('every command is run by a test or by CI', async (t) => {
  const commands = readCommands();
  const startsWith = (command: string, start: string): boolean => command === start || command.startsWith(`${start} `);
  t.ok(commands.length > 5, 'the README has shell blocks');
  for (const command of commands) {
    const runner = runners.find(([start]) => startsWith(command, start));
    if (t.ok(runner, `a test runs \`${command}\``))
      t.ok(existsSync(join(root, runner?.[1] ?? '')), `${runner?.[1]} exists`);
  }
  for (const [start] of runners)
    t.ok(
      commands.some((command) => startsWith(command, start)),
      `the README still says \`${start}\``,
    );
});

t.test('what docs/COMPLIANCE.md says to run is there', async (t) => {
  const [text = ''] = readFileSync(join(root, 'docs/COMPLIANCE.md'), 'utf8').split('<!-- ledger: begin', 1);
  const files = [...text.matchAll(/[\w-]+(?:\/[\w-]+)+\.(?:test|long)\.ts/g)].map(([file]) => file);
  t.ok(files.length > 5);
  for (const file of files) t.ok(existsSync(join(root, file)), file);
});

t.test("one's own disk", async (t) => {
  const disk = join(directory, 'disk.img');
  makeDisk(disk);
  const args = readmeArguments('scripts/vuhca run --disk', { 'image.qcow2': disk });
  const result = await runCli(args, { XDG_RUNTIME_DIR: directory });
  t.match(result.stdout + result.stderr, /hello from a disk/);
  t.equal(result.status, 0);
});

t.test("the driver and programs of Debian's own", async (t) => {
  const script = join(directory, 'case.sh');
  const wait = 'until ibstat mlx5_0 1 | grep -q "State: Active"; do sleep 0.2; done';
  writeFileSync(script, `#!/bin/sh\n${wait}\nibv_devinfo -d mlx5_0\nsminfo\n`);
  const args = readmeArguments('scripts/vuhca run --personality', {});
  const result = await runCli([...args, '--case', script], { XDG_RUNTIME_DIR: directory });
  t.match(result.stdout, /VUHCA_MLX5_0001.*PORT_ACTIVE.*SMINFO_MASTER/s, result.stderr);
  t.equal(result.status, 0);
});

/** Status of all adapter processes of a folder for control sockets. */
async function readStatus(environment: NodeJS.ProcessEnv): Promise<StatusReport[]> {
  const reports: StatusReport[] = [];
  for (const path of await findControlPaths(environment)) {
    const client = await ControlClient.connect(path);
    reports.push(await client.request('status'));
    client.close();
  }
  return reports;
}

t.test('two guests with linked adapters', async (t) => {
  const environment = { XDG_RUNTIME_DIR: mkdtempSync(join(directory, 'two-')) };
  const cable = join(directory, 'cable');
  const disk = join(directory, 'idle.img');
  makeDisk(disk);
  const words = ['listen', 'connect'].map((role) => [`1=${role}:/tmp/cable`, `1=${role}:${cable}`] as const);
  const runs = words.map(([word, own]) => {
    const args = readmeArguments(`scripts/vuhca run --link ${word}`, { [word]: own });
    // The guest only has to exist: nothing runs in it.
    return new CliProcess([...args, '--disk', disk, '--snapshot', '--', '-S'], environment);
  });
  for (const run of runs) await run.until(/QEMU is process/);
  const isLinked = ({ links, adapters }: StatusReport): boolean =>
    links.some(({ kind, up }) => kind === 'socket' && up) && adapters[0].sockets[0].attached;
  let reports = await readStatus(environment);
  while (reports.length < 2 || !reports.every(isLinked)) {
    await new Promise((done) => setTimeout(done, 50));
    reports = await readStatus(environment);
  }
  const lids = reports.map(({ adapters }) => adapters[0].ports[0].lid);
  t.same(lids.sort(), [1, 3]);
  for (const { child } of runs) child.kill('SIGTERM');
  for (const run of runs) t.equal(await run.whenExited, 128 + 15, run.stderr);
});

t.test('several adapters in one process', async (t) => {
  const file = join(directory, 'two.json');
  const adapters = { a: { sockets: ['a.sock'] }, b: { sockets: ['b.sock'] } };
  writeFileSync(file, JSON.stringify({ adapters, links: [{ ports: ['a:1', 'b:1'] }] }));
  const args = readmeArguments('scripts/vuhca device --topology', { 'two.json': file });
  const device = new CliProcess(args, { XDG_RUNTIME_DIR: directory });
  await device.until(/^listening on \S+a\.sock \S+b\.sock control /m);
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
});
