// SPDX-License-Identifier: Apache-2.0
/**
 * The InfiniBand device of the driver (guest-tests/driver/ib) in a guest with Debian's user space:
 * Debian's tools show it, IPoIB works on it, so do kernel verbs (guest-tests/verbs), and its users
 * leave it under traffic when it is unbound, reset, removed or lost, also a program that polls.
 * cases/verbs.sh has the checks.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { ENTER_WITH_CASE, provideDistributionParts } from '../qemu/distribution-guest.ts';
import { provideGuestKernel, provideStockModules } from '../qemu/setup/guest-kernel.ts';
import { type BuiltKernelModule, buildKernelModules } from '../qemu/setup/kernel-modules.ts';
import type { DeviceProcess } from './harness/device-process.ts';
import type { GuestJob, JobModule } from './harness/guest-image.ts';
import { type GuestRun, runGuest } from './harness/guest-run.ts';
import { hasQemuAborted, runPastAborts } from './harness/qemu-abort.ts';
import { report } from './harness/report.ts';

const SCRIPT = 'verbs.sh';
/** Results of each part: those of the script, and of the module with tests of kernel verbs. */
const CHECKS = { life: 12 + 13, loss: 2, program: 2 } as const;
const MEMORY_MIB = 1024;
/** The script prints this to have the adapter process killed. */
const KILL_REQUEST = '# host: kill the device';
/** Under load QEMU aborts by itself nearly each time its server vanishes. */
const ATTEMPTS = 3;
/** Modules of the kernel that the device needs. */
const CORE = ['ib_uverbs'];

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

async function makeJob(
  part: keyof typeof CHECKS,
): Promise<GuestJob & { readonly disk: { readonly path: string; readonly readOnly?: boolean } }> {
  const [driver, verbs, tests] = (await buildKernelModules(['driver', 'driver/ib', 'verbs'].map(pathOf))) as [
    BuiltKernelModule,
    BuiltKernelModule,
    BuiltKernelModule,
  ];
  const parts = await provideDistributionParts(undefined, {
    caseText: readFileSync(pathOf(`cases/${SCRIPT}`), 'utf8'),
    hasVerbs: true,
    files: [
      { path: '/root/dead-device.py', content: readFileSync(pathOf('cases/dead-device.py'), 'utf8') },
      { path: '/etc/verbs', content: `PART=${part}\n`, mode: 0o644 },
      ...[verbs, tests].map(({ name, path }) => ({ path: `/root/${name}.ko`, content: { from: path } })),
    ],
  });
  const stock = [...parts.modules, ...(await provideStockModules(await provideGuestKernel(), CORE))];
  return {
    modules: [
      ...stock.map((module): JobModule => ({ kind: 'stock', ...module })),
      { kind: 'driver', ...driver },
      { kind: 'module', ...verbs },
    ],
    files: parts.files,
    script: { name: SCRIPT, text: ENTER_WITH_CASE },
    disk: parts.disk as { path: string; readOnly?: boolean },
  };
}

async function runPart(part: keyof typeof CHECKS): Promise<GuestRun> {
  const { disk, ...job } = await makeJob(part);
  let device: DeviceProcess | undefined;
  return runGuest(job, {
    guest: { disk, memoryMiB: MEMORY_MIB },
    device: { arguments: ['--fabric=switch'] },
    onDevice: (started) => {
      device = started;
    },
    onReport: (line) => {
      if (line === KILL_REQUEST) void device?.kill();
    },
  });
}

function reportPart(t: Test, run: GuestRun, part: keyof typeof CHECKS): void {
  report(t, run);
  const checks = run.results.filter(({ step, parent }) => step === undefined && !parent);
  t.equal(checks.length, CHECKS[part], 'all checks did run');
  t.comment(`${run.seconds.toFixed(1)} s`);
}

t.test('the InfiniBand device among its users', async (t) => {
  reportPart(t, await runPart('life'), 'life');
});

for (const [part, name] of [
  ['loss', 'an adapter that dies under the users of the InfiniBand device'],
  ['program', 'an adapter that dies under a program that polls'],
] as const)
  t.test(name, async (t) => {
    const run = await runPastAborts(t, ATTEMPTS, () => runPart(part));
    if (hasQemuAborted(run)) t.pass('the driver was not judged', { skip: `QEMU aborted by itself ${ATTEMPTS} times` });
    else reportPart(t, run, part);
  });

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
