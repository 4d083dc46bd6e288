// SPDX-License-Identifier: Apache-2.0
/**
 * Faults that are planted in a process of `vuhca device` where no test of a unit can reach: a
 * timer, a promise, an event of a socket, the clock of the pump. A module that Node loads first
 * plants them, so the command itself needs no support.
 */
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Test } from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { makeDirectory } from './directory.ts';
import { CliProcess } from './run-cli.ts';

/** Output of a device that is ready: its socket and its control socket. */
export const READY = /^listening on (\S+) control (\S+)$/m;

/** Statements that run when the adapter is ready; `fail` throws. */
const plants: Readonly<Record<string, string>> = {
  timer: 'setTimeout(fail, 1)',
  'clock of the pump': 'performance.now = fail',
  immediate: 'setImmediate(fail)',
  tick: 'process.nextTick(fail)',
  promise: 'Promise.resolve().then(fail)',
  rejection: "Promise.reject(new Error('planted'))",
  'something else than an error': "setTimeout(() => { throw 'planted' }, 1)",
  'clock of the log': 'Date.now = fail; setTimeout(fail, 1)',
  'encoding of an answer':
    "const real = JSON.stringify; JSON.stringify = (value, ...more) => 'id' in value ? fail() : real(value, ...more)",
  'a new connection': "require('node:net').Server.prototype.emit = fail",
  'a signal': "process.prependListener('SIGUSR2', fail); process.kill(process.pid, 'SIGUSR2')",
};

/** An adapter process that fails once it is ready. */
async function start(t: Test, statements: string) {
  const directory = makeDirectory(t);
  const module = join(directory, 'plant.cjs');
  writeFileSync(
    module,
    `const fail = () => { throw new TypeError('planted') };
     const { write } = process.stdout;
     process.stdout.write = (text, ...rest) => {
       const result = write.call(process.stdout, text, ...rest);
       if (text.startsWith('listening on')) { ${statements} }
       return result;
     };`,
  );
  const socketPath = join(directory, 'vuhca.sock');
  const device = new CliProcess(['device', '--socket', socketPath], {
    XDG_RUNTIME_DIR: directory,
    NODE_OPTIONS: `--require ${module}`,
  });
  t.teardown(() => device.child.kill('SIGKILL'));
  return { device, directory, socketPath };
}

/** The faults, by the code that throws. */
export const plantNames: readonly string[] = Object.keys(plants);

/** Plants the fault, and checks that the process ends with one line and leaves no socket. */
export async function checkPlanted(t: Test, name: string): Promise<void> {
  const { device, directory, socketPath } = await start(t, plants[name]);
  const [, , controlPath] = await device.until(READY);
  // Some faults wait for a client.
  const client = await ControlClient.connect(controlPath).catch(() => undefined);
  await client?.request('status').catch(() => {});
  client?.close();
  t.equal(await device.whenExited, 70);
  t.notOk(existsSync(socketPath));
  t.same(readdirSync(join(directory, 'vuhca')), [], 'no control socket is left');
  const lines = device.stderr.split('\n').filter((line) => line.includes('planted'));
  t.equal(lines.length, 1, device.stderr);
  t.match(lines[0], /the adapter has failed in [a-z ]+: .*planted.*; it ends, and its guests read ones$/);
}
