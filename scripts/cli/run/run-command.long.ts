// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca run` with guests that fail, hang or lose packets, with several functions, and ended by a
 * signal at a breakpoint or by the death of the adapter.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { InspectorClient } from '../debugger/inspector-client.ts';
import { isRunning } from '../session/running.ts';
import { makeDirectory } from '../testing/directory.ts';
import { runFolders } from '../testing/left-behind.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';
import { checkCommandsAndSignal, startStoppedGuest } from '../testing/waiting-guest.ts';

// A guest that hangs is ended by `vuhca run`; only the machine's own bound ends a slow one.
t.setTimeout(0);
// For much of the time a guest boots or waits.
t.jobs = 2;

/**
 * Three functions in one guest, each bound by itself: traffic on the second while a suite of tests
 * runs on the first.
 */
const FUNCTIONS_CASE = `#!/bin/sh
insmod /modules/vuhca_test.ko
cd /sys/bus/pci/drivers/vuhca || exit 2
set -- 0000:*
for one; do echo "bound $(cat "$one/device")"; done
echo "$1" >unbind
insmod /modules/vuhca_traffic.ko
echo "$1" >bind
cat /sys/kernel/debug/vuhca-test/suites/collect >/tmp/suite
grep -q '^  ok' /tmp/suite || exit 3
grep '^  not ok' /tmp/suite && exit 4
cat /sys/kernel/debug/vuhca-traffic/counters
rmmod vuhca_traffic
`;

t.test('a case with failures in its KTAP, without our driver', async (t) => {
  const directory = makeDirectory(t);
  const [script, tool, control] = ['case.sh', 'tool', 'c'].map((name) => join(directory, name));
  writeFileSync(tool, 'the words of a file\n');
  writeFileSync(
    script,
    'lsmod; cat /bin/words\necho "KTAP version 1"\necho "1..2"\necho "ok 1 good"\necho "not ok 2 bad"\n',
  );
  const options = ['--driver', 'none', '--files', `${tool}:/bin/words`, '--control', control];
  const run = new CliProcess(['run', ...options, '--case', script]);
  t.teardown(() => run.child.kill('SIGKILL'));
  await run.until(/the adapter is process/);
  t.match(
    await runCli(['status', '--control', control]),
    { status: 0 },
    'the control socket is where it was asked to be',
  );
  t.equal(await run.whenExited, 1, run.stderr);
  t.match(run.stdout, /^the words of a file\nKTAP version 1\n/m);
  t.notMatch(run.stdout, /vuhca/, 'no module is loaded');
  t.match(run.stderr, /the KTAP of the case has 1 failures, first: bad/);
});

t.test('lost packets, by a topology', async (t) => {
  const directory = makeDirectory(t);
  const [script, topology] = ['case.sh', 'topology.json'].map((name) => join(directory, name));
  writeFileSync(
    script,
    [
      'counters=/sys/kernel/debug/vuhca-traffic/counters',
      'insmod /modules/vuhca_traffic.ko || exit 2',
      'until grep -q "^port 1 collected [1-9]" $counters; do usleep 100000; done',
      'cat $counters\n',
    ].join('\n'),
  );
  const links = [{ ports: ['a:1', 'a:2'], faults: { drop: 1 } }];
  writeFileSync(topology, JSON.stringify({ adapters: { a: { sockets: ['a.sock'] } }, links }));
  const words = ['run', '--topology', topology, '--case', script];
  const { stdout, stderr } = await runCli(words, { XDG_RUNTIME_DIR: directory });
  t.match(stdout, /^port 1 collected [1-9]\d* .* delivered 0 bytes/m, stderr);
});

t.test('lost packets, by an option', async (t) => {
  const { control } = await startStoppedGuest(t, {}, '--fault', 'drop=1,seed=7');
  t.match(await runWords(['link', '--control', control]), { stdout: /^link +a:1 - a:2, faulty up,/ });
});

t.test('a case that hangs', async (t) => {
  const directory = makeDirectory(t);
  const script = join(directory, 'case.sh');
  writeFileSync(script, 'echo here\nsleep 100000\n');
  const { status, stderr } = await runCli(['run', '--driver', 'none', '--timeout', '22', '--case', script]);
  t.equal(status, 124, stderr);
  // On a very busy machine the guest may not get as far as its first line.
  const known =
    /the guest \((TCG|KVM)\) has been silent for \d+ s: (its last line is ".+"|it has said nothing yet), it has/;
  t.match(stderr, known);
});

t.test('several functions in one guest', async (t) => {
  const directory = makeDirectory(t);
  const script = join(directory, 'case.sh');
  writeFileSync(script, FUNCTIONS_CASE);
  const run = new CliProcess(['run', '--functions', '3', '--case', script], { XDG_RUNTIME_DIR: directory });
  t.teardown(() => run.child.kill('SIGKILL'));
  t.equal(await run.whenExited, 0, run.stderr);
  t.match(
    run.stdout,
    /^bound 0x10f5\n(bound 0x10f6\n){2}port 1 collected [1-9]\d* .* errors 0\nport 2 collected [1-9]\d* .* errors 0\n$/,
  );
  t.same(readdirSync(join(directory, 'vuhca')), [], 'no socket is left');
});

t.test('a signal ends both, and the page of --view', async (t) => {
  const guest = await startStoppedGuest(t, {}, '--view=read');
  const [, address = ''] = await guest.run.until(/^vuhca: the page is at (http:\S+)$/m);
  const { origin, searchParams } = new URL(address);
  const headers = { authorization: `Bearer ${searchParams.get('token')}` };
  const answer = await fetch(`${origin}/api/state?adapter=a`, { headers });
  t.match(await answer.json(), { adapter: { functions: [{ enabled: false }] }, fabric: { nodes: [{ name: 'a' }] } });
  const act = { method: 'POST', body: '{}', headers: { ...headers, 'content-type': 'application/json' } };
  t.equal((await fetch(`${origin}/api/act`, act)).status, 403, 'for looking only');
  await checkCommandsAndSignal(t, guest);
  await t.rejects(fetch(origin), 'the page has gone with the guest');
});

t.test('a signal ends both though the adapter stands at a breakpoint', async (t) => {
  const { run, adapter, qemu, directory } = await startStoppedGuest(t, {}, '--inspect=127.0.0.1:0');
  const inspector = await InspectorClient.connect((await run.until(/ws:\S+/))[0]);
  const paused = inspector.waitFor('Debugger.paused');
  await inspector.call('Debugger.enable');
  inspector.call('Runtime.evaluate', { expression: 'debugger' }).catch(() => {});
  await paused;
  run.child.kill('SIGTERM');
  t.equal(await run.whenExited, 128 + 15);
  t.notOk(isRunning(adapter) || isRunning(qemu), 'no process is left');
  t.same(runFolders(run.child.pid), []);
  t.same(readdirSync(join(directory, 'vuhca')), [], 'no socket is left');
  await inspector.close();
});

/** Makes the clock of the pump throw in `vuhca device` when it gets SIGUSR2. */
const PLANT = `const { write } = process.stdout;
process.stdout.write = (text, ...rest) => {
  if (text.startsWith('listening on'))
    process.on('SIGUSR2', () => { performance.now = () => { throw new TypeError('planted'); }; });
  return write.call(process.stdout, text, ...rest);
};`;

t.test('an adapter that fails ends the guest, with its reason', async (t) => {
  const module = join(makeDirectory(t), 'plant.cjs');
  writeFileSync(module, PLANT);
  const { run, adapter, qemu, directory } = await startStoppedGuest(t, { NODE_OPTIONS: `--require ${module}` });
  process.kill(adapter, 'SIGUSR2');
  t.equal(await run.whenExited, 1);
  t.match(
    run.stderr,
    /^vuhca run: the adapter process ended with status 70, so .*; it said last: .* failed in [a-z ]+: TypeError: planted/m,
  );
  t.notOk(isRunning(adapter) || isRunning(qemu), 'no process is left');
  t.same(runFolders(run.child.pid), []);
  t.same(readdirSync(join(directory, 'vuhca')), [], 'no socket is left');
});

t.test('a QEMU that is killed is not explained by what it said at its start', async (t) => {
  const { run, qemu } = await startStoppedGuest(t);
  process.kill(qemu, 'SIGKILL');
  t.equal(await run.whenExited, 1);
  t.match(run.stderr, /^vuhca run: QEMU was ended by SIGKILL, which another process sent$/m);
});

t.test('an adapter that dies ends the guest, with a sentence', async (t) => {
  const { run, adapter, qemu, directory } = await startStoppedGuest(t);
  process.kill(adapter, 'SIGKILL');
  t.equal(await run.whenExited, 1);
  t.match(run.stderr, /^vuhca run: the adapter process ended \(SIGKILL\), so the guest was ended$/m);
  t.notOk(isRunning(qemu), 'no process is left');
  t.same(runFolders(run.child.pid), []);
  t.same(readdirSync(join(directory, 'vuhca')), [], 'no socket is left');
});
