// SPDX-License-Identifier: Apache-2.0
/**
 * The KVM path: `vuhca run` with a recording, its replay, `vuhca test`, and what `npm start` does,
 * in a machine whose KVM works (kvm-machine.ts). Each command runs on this host first, so that the
 * cache has all that it needs. It runs if VUHCA_LARGE is set.
 */
import { join, relative } from 'node:path';
import t, { type Test } from 'tap';
import { tryRun } from '../qemu/setup/tools/command.ts';
import { CLONE, runUnderKvm } from './kvm-machine.ts';

// An emulated machine, and a guest in it, are slow.
t.setTimeout(0);

const isLarge = process.env.VUHCA_LARGE !== undefined;
const large = isLarge ? {} : { skip: 'a machine in a machine takes minutes: set VUHCA_LARGE' };
/** Settings of a run on this host that the machine does not get. */
const CHOICES = ['QEMU', 'LIBVFIO_USER', 'VUHCA_KERNEL'] as const;
/** The guest in the emulated machine is silent while it boots. */
const SILENCE_SECONDS = 3600;

/** The clock of the guest, and traffic of our driver until both ports have had some. */
const CASE = `#!/bin/sh
counters=/sys/kernel/debug/vuhca-traffic/counters
cat /sys/devices/system/clocksource/clocksource0/current_clocksource
insmod /modules/vuhca_traffic.ko || exit
while grep -q 'delivered 0 ' $counters; do sleep 1; done
cat $counters
rmmod vuhca_traffic
`;

interface Command {
  readonly words: string;
  /** Printed on the host as well as in the machine. */
  readonly output: RegExp;
  /** Printed only under KVM. */
  readonly underKvm?: RegExp;
}

function listCommands(directory: string): Command[] {
  const recording = join(directory, 'x.rec');
  return [
    {
      words: `scripts/vuhca run --timeout ${SILENCE_SECONDS} --record ${recording} --case ${join(directory, 'case.sh')}`,
      output: /^port 1 .* delivered [1-9]\d* .* errors 0\nport 2 .* delivered [1-9]\d* .* errors 0$/m,
      underKvm: /^kvm-clock$/m,
    },
    { words: `scripts/vuhca replay ${recording}`, output: /identical: \d+ steps/ },
    {
      words: `scripts/vuhca test --timeout ${SILENCE_SECONDS} guest-tests/example`,
      output: /^passed: guest-tests\/example: 6 passed, 0 failed/m,
    },
    {
      words: 'env --unset=VUHCA_ACCEL node scripts/bootstrap.mjs scripts/start/main.ts',
      output: /traffic {2}second 10: +\d+ datagrams, 0 errors/,
      underKvm: /QEMU \S+ \(kvm\), process/,
    },
  ];
}

async function runHere(t: Test, words: string, output: RegExp): Promise<void> {
  const env: NodeJS.ProcessEnv = { ...process.env, VUHCA_ACCEL: 'tcg' };
  for (const name of CHOICES) delete env[name];
  const { status, stdout, stderr } = await tryRun('sh', ['-c', words], { cwd: CLONE, env });
  t.equal(status, 0, `${words} on this host`, { stdout, stderr });
  t.match(stdout, output);
}

t.test('commands of vuhca in a machine with KVM', large, async (t) => {
  const directory = t.testdir({ 'case.sh': CASE });
  const commands = listCommands(relative(CLONE, directory));
  for (const { words, output } of commands) await runHere(t, words, output);
  const began = performance.now();
  const seconds = (): string => ((performance.now() - began) / 1000).toFixed(1);
  const results = await runUnderKvm(
    commands.map(({ words }) => words),
    directory,
    // A comment of tap waits for the next assertion.
    (line) => process.stderr.write(`${seconds()} s  ${line}\n`),
  );
  t.equal(results.length, commands.length, 'all commands ran');
  for (const [number, { status, output }] of results.entries()) {
    const command = commands[number] as Command;
    t.equal(status, 0, `${command.words} under KVM`);
    t.match(output, command.output);
    if (command.underKvm !== undefined) t.match(output, command.underKvm);
  }
});
