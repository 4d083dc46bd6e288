// SPDX-License-Identifier: Apache-2.0
/** Real guests boot to init, talk over their ports, and leave nothing behind, however they end. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { createInterface } from 'node:readline';
import t from 'tap';
import type { Guest } from './guest.ts';
import { buildInitramfs } from './initramfs.ts';
import { KernelLogWatch } from './kernel-log.ts';
import { launchGuest } from './launch.ts';

/** Whether a process exists and is not a zombie. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Run folders of the guests of process `pid`. */
function runFolders(pid: number): string[] {
  return readdirSync(tmpdir()).filter((name) => name.startsWith(`vuhca-guest-${pid}-`));
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}

t.test('a guest boots, reports over its ports and powers off', async (t) => {
  const caseScript = `#!/bin/sh
read -r word </dev/virtio-ports/extra
echo "host said $word"
echo "to the console" >/dev/console
echo "<7>to the log" >/dev/kmsg
exit 3
`;
  const watch = new KernelLogWatch();
  const console: string[] = [];
  const kernelLog: string[] = [];
  const consoleLog = `${t.testdir({})}/console.log`;
  const guest = await launchGuest({
    initramfs: await buildInitramfs({ caseScript }),
    ports: ['extra'],
    consoleLog,
    onKernelLine: (line) => kernelLog.push(line),
    onConsoleLine: (line) => {
      console.push(line);
      watch.push(line);
    },
  });
  const report: string[] = [];
  guest.port().onLine((line) => report.push(line));
  await guest.port('extra').write('hello\n');
  t.match(await guest.qmp.execute('query-status'), { running: true });
  t.match(await guest.whenExited, { status: 0, signal: null });
  t.match(report, [/^@vuhca init [0-9.]+$/, 'host said hello', '@vuhca exit 3']);
  t.ok(console.includes('to the console'));
  t.match(kernelLog[0], /Linux version/);
  t.ok(
    kernelLog.some((line) => line.endsWith('] to the log')),
    'whatever the level of the console',
  );
  t.notOk(console.some((line) => line.endsWith('to the log')));
  t.match(readFileSync(consoleLog, 'utf8'), /to the console/);
  t.same(watch.complaints, []);
  t.same(runFolders(process.pid), []);
  t.throws(() => guest.port('other'), /has no port other/);
});

t.test('quit and kill end a guest at any time', async (t) => {
  for (const end of ['quit', 'kill'] as const) {
    const guest: Guest = await launchGuest({ paused: true });
    t.ok(isRunning(guest.pid));
    const exit = await guest[end]();
    t.equal(exit.signal, end === 'kill' ? 'SIGKILL' : null);
    t.notOk(isRunning(guest.pid));
    t.same(runFolders(process.pid), []);
    t.same(await guest[end](), exit, 'a second time changes nothing');
  }
});

t.test('QMP errors and events', async (t) => {
  const guest = await launchGuest({ paused: true });
  await t.rejects(guest.qmp.execute('no-such-command'), /QMP no-such-command: /);
  const resumed = guest.qmp.waitForEvent('RESUME');
  await guest.qmp.execute('cont');
  t.match(await resumed, { event: 'RESUME' });
  await guest.quit();
  await t.rejects(guest.qmp.execute('query-status'), /closed the QMP connection/);
});

t.test('a QEMU that does not start says why', async (t) => {
  const devices = [{ socketPath: `${t.testdir({})}/nobody.sock` }];
  await t.rejects(launchGuest({ devices }), {
    name: 'SetupError',
    message: /^QEMU ended at once \(1\); .*nobody\.sock/,
  });
  t.same(runFolders(process.pid), []);
});

for (const signal of ['SIGTERM', 'SIGINT', 'SIGKILL'] as const) {
  t.test(`${signal} to the process that launched a guest ends the guest`, async (t) => {
    const script = `import { launchGuest } from ${JSON.stringify(new URL('./launch.ts', import.meta.url).href)};
      const guest = await launchGuest({ paused: true });
      console.log(guest.pid);
      await guest.whenExited;`;
    // tap adds a signal listener to every Node process through NODE_OPTIONS; env removes it again.
    const node = [
      '--unset=NODE_OPTIONS',
      process.execPath,
      '--import=#typescript',
      '--input-type=module',
      '--eval',
      script,
    ];
    const parent = spawn('env', node, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string];
    const qemu = Number(line);
    t.ok(isRunning(qemu));
    t.equal(runFolders(parent.pid as number).length, 1);
    parent.kill(signal);
    t.equal((await once(parent, 'exit'))[1], signal, 'the signal ends the process, as it would end any other');
    await until(() => !isRunning(qemu));
    t.notOk(existsSync(`/proc/${qemu}/exe`));
    // The next launch removes the folder that SIGKILL leaves.
    if (signal === 'SIGKILL') await (await launchGuest({ paused: true })).quit();
    t.same(runFolders(parent.pid as number), []);
  });
}
