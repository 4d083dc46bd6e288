// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca device` after an exception anywhere in the process, and on full disks.
 * device-failure.long.ts has further faults.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { partOf } from '../../../device/rig/fixtures/seeds.ts';
import { VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { makeDirectory } from '../testing/directory.ts';
import { checkPlanted, plantNames, READY } from '../testing/planted-failures.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

for (const name of partOf(plantNames, 2)) t.test(`what throws: ${name}`, (t) => checkPlanted(t, name));

t.test('full disks end a recording, not the adapter', async (t) => {
  const directory = makeDirectory(t);
  const socketPath = join(directory, 'vuhca.sock');
  const environment = { XDG_RUNTIME_DIR: directory };
  const device = new CliProcess(['device', '--socket', socketPath, '--record', '/dev/full'], environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(READY);
  const client = VfioUserClient.connect(socketPath);
  for (let i = 0; i < 1000; i++) client.read32(0, 0);
  client.close();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.equal(
    device.stderr.match(
      /the recording \/dev\/full ends with its first 0 bytes: it cannot be written any more \(ENOSPC\)/g,
    )?.length,
    1,
  );
});

interface EarlyEnd {
  readonly what: string;
  readonly options: readonly string[];
  /** The largest file that the process may write. */
  readonly fileBytes?: number;
  readonly reason: RegExp;
  readonly sizes: readonly [above: number, to: number];
}

const earlyEnds: readonly EarlyEnd[] = [
  {
    what: 'a disk that fills up',
    options: [],
    fileBytes: 300_000,
    reason: /^it cannot be written any more \(EFBIG\)/,
    sizes: [0, 299_999],
  },
  {
    what: 'the limit of a recording',
    options: ['--record-limit', '1'],
    reason: /^it has reached its limit of 1048576 bytes/,
    sizes: [2 ** 19, 2 ** 20],
  },
];

for (const { what, options, fileBytes, reason, sizes } of partOf(earlyEnds, 1))
  t.test(`${what} keeps whole chunks of it, which replay`, async (t) => {
    const directory = makeDirectory(t);
    const socketPath = join(directory, 'vuhca.sock');
    const recordPath = join(directory, 'x.rec');
    const words = ['device', '--socket', socketPath, '--record', recordPath, ...options];
    const device = new CliProcess(words, { XDG_RUNTIME_DIR: directory });
    t.teardown(() => device.child.kill('SIGKILL'));
    await device.until(READY);
    if (fileBytes !== undefined) execFileSync('prlimit', ['--pid', `${device.child.pid}`, `--fsize=${fileBytes}`]);
    const client = VfioUserClient.connect(socketPath);
    await readUntil(client, () => device.stderr.includes('ends with its first'));
    t.ok(client.read32(0, 0) !== 0xffffffff, 'the adapter goes on');
    client.close();
    device.child.kill('SIGTERM');
    t.equal(await device.whenExited, 0);
    const said = [...device.stderr.matchAll(/x\.rec ends with its first (\d+) bytes: (.*)/g)];
    t.equal(said.length, 1);
    const { size } = statSync(recordPath);
    t.equal(Number(said[0]?.[1]), size);
    t.match(said[0]?.[2], reason);
    t.ok(size > sizes[0] && size <= sizes[1], `${size} bytes`);
    t.match(await runWords(['replay', recordPath]), { status: 0, stdout: /identical/ });
  });

/** Reads a register until the adapter has logged something. */
async function readUntil(client: VfioUserClient, condition: () => boolean): Promise<void> {
  while (!condition()) {
    for (let i = 0; i < 1000; i++) client.read32(0, 0);
    await new Promise((done) => setImmediate(done));
  }
}

t.test('a FIFO is no file for a recording', async (t) => {
  const directory = makeDirectory(t);
  const path = join(directory, 'fifo');
  execFileSync('mkfifo', [path]);
  const words = ['device', '--socket', join(directory, 'vuhca.sock'), '--record', path];
  t.match(await runCli(words, { XDG_RUNTIME_DIR: directory }), { status: 1, stderr: /is a FIFO/ });
  t.notOk(existsSync(join(directory, 'vuhca.sock')));
});

t.test('what a killed adapter left is removed by the next one, and by a command that is sent there', async (t) => {
  const directory = makeDirectory(t);
  const environment = { XDG_RUNTIME_DIR: directory };
  const begin = async (name: string): Promise<[CliProcess, string]> => {
    const device = new CliProcess(['device', '--socket', join(directory, name)], environment);
    t.teardown(() => device.child.kill('SIGKILL'));
    const [, , controlPath] = await device.until(READY);
    return [device, controlPath];
  };
  const kill = async (device: CliProcess): Promise<void> => {
    device.child.kill('SIGKILL');
    await device.whenExited;
  };
  const [first, firstControl] = await begin('first');
  await kill(first);
  t.ok(existsSync(firstControl));
  const [second, secondControl] = await begin('second');
  t.notOk(existsSync(firstControl));
  await kill(second);
  const status = await runWords(['status', '--control', secondControl], environment);
  t.match(status, { status: 1, stderr: /no adapter listens there any more, and what a killed one left is removed/ });
  t.notOk(existsSync(secondControl));
});
