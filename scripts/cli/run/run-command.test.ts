// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca run`: the mistakes it refuses before anything starts, and live guests from start to end.
 * The status of the case becomes that of the command, the recording replays, the capture is valid,
 * the log is short, and nothing is left. run-command.long.ts has further ways to end.
 */
import { spawnSync } from 'node:child_process';
import { chmodSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { findTshark } from '../../../qemu/setup/tshark.ts';
import { isRunning } from '../session/running.ts';
import { makeDirectory } from '../testing/directory.ts';
import { runFolders } from '../testing/left-behind.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';
import { checkCommandsAndSignal, startStoppedGuest } from '../testing/waiting-guest.ts';

const LOG_LINES_MAX = 20;

// A guest that hangs is ended by `vuhca run`; only the machine's own bound ends a slow one.
t.setTimeout(0);
// For much of the time a guest boots or waits.
t.jobs = 2;

const CASE = `#!/bin/sh
insmod /modules/vuhca_traffic.ko
until [ "$(grep -c 'delivered [1-9]' /sys/kernel/debug/vuhca-traffic/counters)" = 2 ]; do usleep 100000; done
cat /sys/kernel/debug/vuhca-traffic/counters
echo 1..1
echo not ok 1 planted
rmmod vuhca_traffic
exit 7
`;

t.test('mistakes get a sentence before anything starts', async (t) => {
  const directory = makeDirectory(t);
  const file = join(directory, 'file');
  writeFileSync(file, '');
  const mistakes: [words: string[], stderr: RegExp][] = [
    [['--kernal', 'x'], /unknown option --kernal/],
    [['--memory', '1'], /option --memory is 1; it must be a whole number from 64 to/],
    [['--vcbs', '0'], /option --vcbs is 0/],
    [['--ordering', 'adversarial'], /option --ordering is adversarial; it must be strict, pcie or adversarial:SEED/],
    [['--functions', '29'], /option --functions is 29; one guest has room for 28, more need `vuhca device`/],
    [['--case', file, '--disk', file], /--case is for our own guest, so --disk cannot be given with it/],
    [['--distribution', '--disk', file], /--distribution is for our own guest, so --disk cannot be given with it/],
    [['--packages', 'gcc'], /option --packages adds to Debian's user space: give --distribution as well/],
    [['--packages', 'gcc,,fio'], /option --packages is gcc,,fio; a name is missing: it must be names of Debian/],
    [['--packages', 'gcc,-t'], /option --packages is gcc,-t; -t is no name/],
    [['--packages', 'gcc-'], /gcc- is no name/],
    [['--packages', 'fio=1.0'], /fio=1\.0 is no name/],
    [['--personality', 'mthca', '--vcbs', '4'], /option --vcbs cannot be given with --personality mthca/],
    [['--driver', 'none', '--initramfs', file], /--driver is for our own guest, so --initramfs cannot be given/],
    [['--driver', join(directory, 'none')], /--driver names \S+none, which does not exist/],
    [['--module', file], /--module names \S+file, which is neither a folder nor a \.ko file/],
    [['--files', file], /option --files is \S+file; it must be HOST:GUEST/],
    [['--topology', join(directory, 'none')], /option --topology names \S+none, which does not exist/],
    [['--fault', 'drop=2'], /option --fault is drop=2; drop=2 must be one of drop, duplicate,/],
    [['--fault', 'loss=0.1'], /loss=0\.1 must be one of drop/],
    [['--disk', file, '--append', 'x'], /--append needs --kernel/],
    [['--', '-m', '4G'], /-m 4G would not fit/],
    [['--', '-M', 'q35,memory-backend=p', '-object', 'memory-backend-ram,id=p,size=1G'], /backend p is not shared/],
  ];
  for (const [words, stderr] of mistakes)
    t.match(await runWords(['run', ...words]), { status: 2, stderr }, words.join(' '));
});

t.test('a QEMU that cannot do it', async (t) => {
  const qemu = join(makeDirectory(t), 'qemu');
  const pretend = (version: string, devices: string): void => {
    writeFileSync(
      qemu,
      `#!/bin/sh\ncase $* in *--version*) echo QEMU emulator version ${version};; *) echo '${devices}';; esac\n`,
    );
    chmodSync(qemu, 0o755);
  };
  pretend('7.2.0', 'name "vfio-user-pci"');
  t.match(await runCli(['run'], { QEMU: qemu }), {
    status: 1,
    stderr: /is QEMU 7\.2\.0, which is too old; vuhca needs QEMU 10\.1/,
  });
  pretend('11.0.00', 'name "virtio-net-pci"');
  t.match(await runCli(['run'], { QEMU: qemu }), { status: 1, stderr: /built without vfio-user-pci; vuhca needs/ });
});

t.test('a guest from start to end', async (t) => {
  const directory = makeDirectory(t);
  const [script, recording, capture] = ['case.sh', 'x.rec', 'x.pcap'].map((name) => join(directory, name));
  writeFileSync(script, CASE);
  const run = new CliProcess(
    [
      ...['run', '--case', script, '--record', recording, '--capture', capture],
      ...['--log-level', 'info', '--vcbs', '8', '--fabric', 'cable'],
    ],
    { XDG_RUNTIME_DIR: directory },
  );
  t.teardown(() => run.child.kill('SIGKILL'));
  const [, adapter, qemu] = await run.until(/the adapter is process (\d+), QEMU is process (\d+)/);
  t.equal(await run.whenExited, 7, run.stderr);
  t.match(
    run.stdout,
    /^port 1 collected \d+ .* errors 0\nport 2 collected \d+ .* errors 0\n1\.\.1\nnot ok 1 planted\n$/,
  );
  t.match(run.stderr, /\nFAILED {4}planted\n {10}adapter at that time:\n {12}function 0: faults none\n/);
  t.match(run.stderr, /\nFAILED {4}script case\.sh ended with 7\n {10}adapter at that time: as above\n/);
  const log = run.stderr.split('\n').filter((line) => /^\d\d:\d\d:\d\d/.test(line));
  t.ok(log.length > 0 && log.length <= LOG_LINES_MAX, `${log.length} lines of log for a whole boot`);
  t.notOk(isRunning(Number(adapter)) || isRunning(Number(qemu)), 'no process is left');
  t.same(runFolders(run.child.pid), [], 'no folder is left');
  t.same(readdirSync(join(directory, 'vuhca')), [], 'no socket is left');

  t.match(await runWords(['replay', recording]), { status: 0, stdout: /identical: / });
  const tshark = findTshark();
  if (tshark === undefined) return;
  const fields = ['infiniband.lrh.dlid', 'infiniband.bth.opcode', 'infiniband.deth.q_key', '_ws.malformed'];
  const args = ['-r', capture, '-T', 'fields', ...fields.flatMap((field) => ['-e', field])];
  const { stdout } = spawnSync(tshark, args, { encoding: 'utf8', maxBuffer: 1 << 28 });
  const kinds = new Set(stdout.split('\n').map((line) => line.trim()));
  const [toPortOne, toPortTwo] = [1, 2].map((lid) => `${lid}\t100\t0x0000000074726166`);
  t.same([...kinds].sort(), ['', toPortOne, toPortTwo], 'both ways, no malformed packet');
});

t.test('a signal ends both', async (t) => checkCommandsAndSignal(t, await startStoppedGuest(t)));
