// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca device` when something in the process throws, three faults here and all of them in
 * device-failure.long.ts; and `vuhca device` on disks that are full.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { makeDirectory } from '../testing/directory.ts';
import { checkPlanted, READY } from '../testing/planted-failures.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

for (const name of ['timer', 'rejection', 'clock of the pump'])
  t.test(`what throws: ${name}`, (t) => checkPlanted(t, name));

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

t.test('a disk that fills up keeps whole chunks of a recording, which replay', async (t) => {
  const directory = makeDirectory(t);
  const socketPath = join(directory, 'vuhca.sock');
  const recordPath = join(directory, 'x.rec');
  const environment = { XDG_RUNTIME_DIR: directory };
  const device = new CliProcess(['device', '--socket', socketPath, '--record', recordPath], environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(READY);
  execFileSync('prlimit', ['--pid', String(device.child.pid), '--fsize=300000']);
  const client = VfioUserClient.connect(socketPath);
  await readUntil(client, () => device.stderr.includes('ends with its first'));
  t.ok(client.read32(0, 0) !== 0xffffffff, 'the adapter goes on');
  client.close();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.equal(
    device.stderr.match(/x\.rec ends with its first \d+ bytes: it cannot be written any more \(EFBIG\)/g)?.length,
    1,
  );
  const { size } = statSync(recordPath);
  t.ok(size > 0 && size < 300_000);
  t.match(device.stderr, `its first ${size} bytes`);
  t.match(await runWords(['replay', recordPath]), { status: 0, stdout: /identical/ });
});

/** Reads a register until the adapter has said something. */
async function readUntil(client: VfioUserClient, condition: () => boolean): Promise<void> {
  while (!condition()) {
    for (let i = 0; i < 1000; i++) client.read32(0, 0);
    await new Promise((done) => setImmediate(done));
  }
}

t.test('a recording ends at its limit, and what it has replays', async (t) => {
  const directory = makeDirectory(t);
  const socketPath = join(directory, 'vuhca.sock');
  const recordPath = join(directory, 'x.rec');
  const device = new CliProcess(['device', '--socket', socketPath, '--record', recordPath, '--record-limit', '1'], {
    XDG_RUNTIME_DIR: directory,
  });
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(READY);
  const client = VfioUserClient.connect(socketPath);
  await readUntil(client, () => device.stderr.includes('ends with its first'));
  t.ok(client.read32(0, 0) !== 0xffffffff, 'the adapter goes on');
  client.close();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.equal(
    device.stderr.match(/x\.rec ends with its first \d+ bytes: it has reached its limit of 1048576 bytes/g)?.length,
    1,
  );
  t.ok(statSync(recordPath).size <= 2 ** 20 && statSync(recordPath).size > 2 ** 19);
  t.match(await runWords(['replay', recordPath]), { status: 0, stdout: /identical/ });
});

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
