// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca test` with modules that warn, hang, panic, do not load, do not bind, or print broken KTAP:
 * each gets its exit status, one clear sentence and the log. And with a debugger.
 */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { buildKernelModules } from '../../../qemu/setup/kernel-modules.ts';
import { TestStatus } from '../session/exit-statuses.ts';
import { type Case, check, EXAMPLE, FIXTURES } from '../testing/check-test-case.ts';
import { CliProcess } from '../testing/run-cli.ts';

/** Rings the doorbells of 20 requests too early. */
const EARLY = fileURLToPath(new URL('testing/early', import.meta.url));
/** Only the bound of the machine that runs the tests ends a slow one. */
t.setTimeout(0);

/** The packet of gdb's remote protocol that lets the guest run. */
const CONTINUE = '$c#63';
const POLL_MS = 50;

t.test('modules', { jobs: 2 }, async (t) => {
  const built = await buildKernelModules([FIXTURES]);
  const fixture = (name: string): string => built.find((module) => module.name === name)?.path ?? '';
  const folder = t.testdir({
    'fails.sh': 'echo "the words of the script"\nexit 3\n',
    scripted: { 'test.sh': 'echo fine\n' },
    quiet: {
      'test.sh': 'echo 1 >/proc/sys/kernel/printk\ninsmod /warn.ko\necho "KTAP version 1"\necho "1..0"\n',
    },
  });
  const record = join(folder, 'failed.rec');
  const late = /FAILED +17 further stores came after their announcement/;
  // A guest is dear: results that leave each other alone share one.
  const cases: Readonly<Record<string, Case>> = {
    'two folders at once, one with a module that warns while the console shows nothing': {
      words: [
        ...[join(folder, 'quiet'), join(folder, 'scripted'), '--jobs', '2'],
        ...['--files', `${fixture('bad_warn')}:/warn.ko`],
      ],
      status: TestStatus.KERNEL_COMPLAINED,
      says: [
        /ok +passes/,
        /FAILED +the guest's kernel complained \(warning\): .*bad_warn_init/,
        /kernel log around it/,
        /^FAILED: \S+quiet: /m,
        /^passed: \S+scripted: /m,
      ],
    },
    'a kernel that Debian does not have': {
      words: [EXAMPLE, '--kernel', '4.19'],
      status: TestStatus.USAGE,
      says: [/^vuhca test: .*4\.19.*6\.1/m],
    },
    'a module that hangs': {
      words: ['--module', fixture('bad_hang'), '--timeout', '40'],
      status: TestStatus.SILENT,
      says: [/FAILED +the guest was silent for \d+ s in step load bad_hang and was ended/, /adapter at that time/],
    },
    'a module that panics': {
      words: ['--module', fixture('bad_panic')],
      status: TestStatus.KERNEL_COMPLAINED,
      says: [/complained \(panic\): .*bad_panic was loaded/, /ended before its case did in step load bad_panic/],
    },
    'a driver that does not bind': {
      words: ['--driver', fixture('bad_bind'), '--record', record],
      status: TestStatus.NOT_LOADED,
      after: (t) => t.ok(existsSync(record)),
      says: [/FAILED +bind bad_bind\n +it bound none of: 0000:01:00\.0/, /`vuhca replay .*failed\.rec` runs it again/],
    },
    'a driver that rings before it posts, broken KTAP with a prefix, a script that fails': {
      words: ['--module', EARLY, '--module', fixture('bad_results'), '--script', join(folder, 'fails.sh')],
      status: TestStatus.FAILED,
      says: [
        /ok +all-messages-arrive/,
        /FAILED +the tail of queue pair \d+ behind command 0 at 0x[0-9a-f]+ was stored after the access that announced it/,
        late,
        /FAILED +ring\/overflows\n +overflows: EXPECTATION FAILED at ring_test\.c:12/,
        /ring: 3 planned, 2 seen/,
        /FAILED +script fails\.sh\n +it ended with status 3\n +the words of the script/,
      ],
    },
    'that driver with disturbed memory, and a module that does not load': {
      words: ['--module', EARLY, '--module', fixture('bad_load'), '--seeds', '1'],
      status: TestStatus.NOT_LOADED,
      says: [
        late,
        /FAILED +load bad_load/,
        /Invalid argument/,
        /^again: vuhca test --module \S+ --module \S+ --ordering=adversarial:1 --write-combining=1$/m,
      ],
    },
  };
  for (const [name, one] of Object.entries(cases)) {
    t.test(name, async (t) => {
      await check(t, one);
    });
  }
});

t.test('--debug waits for gdb', async (t) => {
  // The default ports may be those of a user's own debugger, or of another run of the tests.
  const [port = 0, inspector = 0] = await findPorts(2);
  const test = new CliProcess(['test', EXAMPLE, `--debug=${port},${inspector}`]);
  t.teardown(() => test.child.kill('SIGKILL'));
  await test.until(/the guest waits for gdb/);
  await test.until(new RegExp(`the adapter is process \\d+: chrome://inspect, or port ${inspector};`));
  t.match(
    await fetchJson(`http://127.0.0.1:${inspector}/json/list`),
    [{ type: 'node' }],
    'a debugger finds the adapter',
  );
  t.equal(test.stdout, '', 'nothing has run');
  const gdb = await connectTo(port);
  gdb.write(CONTINUE);
  t.equal(await test.whenExited, TestStatus.PASSED, test.stdout + test.stderr);
  gdb.destroy();
});

/** TCP ports that nobody uses now. */
async function findPorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  await Promise.all(servers.map((server) => once(server, 'listening')));
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
  return ports;
}

async function fetchJson(url: string): Promise<unknown> {
  return (await fetch(url)).json();
}

/** QEMU listens soon after it has started. */
async function connectTo(port: number): Promise<Socket> {
  for (;;) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await new Promise<boolean>((resolve) => {
      socket.once('connect', () => resolve(true));
      socket.once('error', () => resolve(false));
    });
    if (isOpen) return socket;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
