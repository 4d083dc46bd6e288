// SPDX-License-Identifier: Apache-2.0
/** `npm start` as a new user sees it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { FirstLightReport } from './report.ts';

const BOOTSTRAP = fileURLToPath(new URL('../bootstrap.mjs', import.meta.url));

// The first run on a machine also compiles the kernel modules; a busy one takes long.
t.setTimeout(0);

t.test('it shows a guest that drives the adapter', async (t) => {
  const child = spawn(process.execPath, [BOOTSTRAP, 'scripts/start/main.ts'], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.teardown(() => child.kill('SIGKILL'));
  let stdout = '';
  child.stdout.on('data', (chunk) => {
    stdout += chunk;
  });
  const [status] = await once(child, 'close');
  t.equal(status, 0, stdout);
  t.match(stdout, /^ *\d+\.\d s {2}driver {3}0000:\d\d:00\.0: physical function 0, 2 ports/m);
  t.match(stdout, /^ *\d+\.\d s {2}traffic {2}second 10: +\d+ datagrams, 0 errors$/m);
  t.match(stdout, /^ *\d+\.\d s {2}driver {3}MSI-X vector \d: [1-9]\d* interrupts$/m);
  t.match(stdout, /^ *\d+\.\d s {2}result {3}[1-9]\d+ datagrams delivered and checked, no error$/m);
  t.match(stdout, /^ *objects {6}2 PDs, 2 MRs, QPs: 4 RTS\b/m);
  t.match(stdout, /Explore further:/);
});

t.test('a failure is reported', async (t) => {
  const play = (...lines: string[]): string | undefined => {
    const report = new FirstLightReport(() => {});
    for (const line of lines) report.push(line);
    return report.findFailure();
  };
  const total = (port: number, delivered: number, errors: number): string =>
    `@total port ${port} collected 1 rung 1 delivered ${delivered} bytes 9 interrupts 1 errors ${errors}`;
  t.equal(play(total(1, 5, 0), total(2, 5, 0), '@unloaded'), undefined);
  t.match(play(), /ended before the demonstration did/);
  t.match(play('@fault the driver found no adapter'), /found no adapter/);
  t.match(play('@vuhca module vuhca failed: bad'), /module vuhca failed: bad/);
  t.match(play(total(1, 5, 0), total(2, 0, 0), '@unloaded'), /no datagram of port 2 was delivered/);
  t.match(play(total(1, 5, 3), total(2, 5, 0), '@unloaded'), /3 datagrams of port 1 had an error/);
});
