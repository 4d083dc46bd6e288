// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca device` with a standard error that is not read: guests are served, lines without room are
 * lost, and the log tells their number once there is room again.
 */
import { execFileSync, spawn } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { makeDirectory } from '../testing/directory.ts';

const COMMAND = fileURLToPath(new URL('../../vuhca', import.meta.url));
const FUNCTIONS = 34;
/** More lines than one function may log at once. */
const CLIENTS = 40;

/** A stream without a reader, and a function that reads the rest of it. */
type Unread = (t: Test, directory: string) => { stdio: number | 'pipe'; open: () => void };

/** A process gets a socket from Node. */
const socket: Unread = () => ({ stdio: 'pipe', open: () => {} });

const fifo: Unread = (t, directory) => {
  const path = join(directory, 'fifo');
  execFileSync('mkfifo', [path]);
  const fd = openSync(path, constants.O_RDWR);
  t.teardown(() => closeSync(fd));
  return { stdio: fd, open: () => void readSync(fd, Buffer.alloc(1 << 16)) };
};

for (const [name, unread] of Object.entries({ socket, fifo }))
  t.test(`standard error is a ${name} that nobody reads`, async (t) => {
    const directory = makeDirectory(t);
    const path = join(directory, 'a');
    const { stdio, open } = unread(t, directory);
    const words = ['device', '--socket', path, '--functions', String(FUNCTIONS), '--log-level', 'info'];
    const child = spawn(COMMAND, words, {
      env: { ...process.env, XDG_RUNTIME_DIR: directory },
      stdio: ['ignore', 'pipe', stdio],
    });
    t.teardown(() => child.kill('SIGKILL'));
    await new Promise((done) => child.stdout?.once('data', done));
    for (let number = 0; number < FUNCTIONS; number++)
      for (let count = 0; count < CLIENTS; count++)
        VfioUserClient.connect(number === 0 ? path : `${path}.${number}`).close();
    const client = VfioUserClient.connect(path);
    t.not(client.read32(0, 0), 0xffff_ffff, 'the adapter answers');
    client.close();
    let text = '';
    child.stderr?.on('data', (chunk) => {
      text += chunk;
    });
    open();
    const ended = new Promise((done) => child.once('close', done));
    child.kill('SIGTERM');
    t.equal(await ended, 0);
    if (typeof stdio === 'number') {
      const bytes = Buffer.alloc(1 << 16);
      text = bytes.toString('utf8', 0, readSync(stdio, bytes));
      t.match(text, /\d+ lines of this log are lost \(EAGAIN\)/);
    }
  });
