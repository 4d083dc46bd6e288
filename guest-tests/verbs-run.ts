// SPDX-License-Identifier: Apache-2.0
/**
 * A guest with Debian's user space in which a part of cases/verbs.sh runs on the InfiniBand device
 * of the driver. Called by verbs.test.ts, verbs-loss.long.ts and suspend.long.ts, among others.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { ENTER_WITH_CASE, provideDistributionParts } from '../qemu/distribution-guest.ts';
import { provideGuestKernel, provideStockModules } from '../qemu/setup/guest-kernel.ts';
import { type BuiltKernelModule, buildKernelModules } from '../qemu/setup/kernel-modules.ts';
import { provideVerbsPrograms } from '../qemu/setup/verbs-programs.ts';
import type { DeviceProcess } from './harness/device-process.ts';
import { asStock, type GuestJob } from './harness/guest-image.ts';
import { type GuestRun, type GuestRunOptions, runGuest } from './harness/guest-run.ts';
import { requestProgram } from './harness/host-requests.ts';
import { report } from './harness/report.ts';

const SCRIPT = 'verbs.sh';
/**
 * Number of results of each part: those of the script, and of the module with tests of kernel
 * verbs.
 */
const CHECKS = { life: 14 + 14, loss: 7, asleep: 8 } as const;
export type VerbsPart = keyof typeof CHECKS;

/**
 * QEMU aborts by itself nearly each time its server vanishes under traffic, so a loss with traffic
 * is seldom judged.
 */
const TRAFFIC = process.env.VUHCA_LARGE ? 'yes' : '';

const MEMORY_MIB = 1024;
/** The script prints this to request that the adapter process is killed. */
const KILL_REQUEST = '# host: kill the device';
/** Those in `foreign` are run by foreign suites as well. */
const PROGRAMS = [
  'cases/dead-device.py',
  'cases/on-demand.py',
  'foreign/ignored-attributes.py',
  'foreign/limits.py',
  'foreign/counters.py',
];
/** Modules of the kernel that the device needs. */
const CORE = ['ib_uverbs'];

async function makeJob(
  part: VerbsPart,
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
      ...PROGRAMS.map((path) => ({ path: `/root/${basename(path)}`, content: { from: pathOf(path) } })),
      { path: '/etc/verbs', content: `PART=${part}\nTRAFFIC=${TRAFFIC}\n`, mode: 0o644 },
      // Only this part runs a program that is compiled.
      ...(part === 'loss'
        ? [{ path: '/root/stream', content: { from: (await provideVerbsPrograms()).stream }, mode: 0o755 }]
        : []),
      requestProgram('/usr/bin/adapter'),
      ...[verbs, tests].map(({ name, path }) => ({ path: `/root/${name}.ko`, content: { from: path } })),
    ],
  });
  const stock = [...parts.modules, ...(await provideStockModules(await provideGuestKernel(), CORE))];
  return {
    modules: [...stock.map(asStock), { kind: 'driver', ...driver }, { kind: 'module', ...verbs }],
    files: parts.files,
    script: { name: SCRIPT, text: ENTER_WITH_CASE },
    disk: parts.disk as { path: string; readOnly?: boolean },
  };
}

/** Runs a part in a guest of its own. `options`: options of a guest that sleeps. */
export async function runPart(part: VerbsPart, options: GuestRunOptions = {}): Promise<GuestRun> {
  const { disk, ...job } = await makeJob(part);
  let device: DeviceProcess | undefined;
  return runGuest(job, {
    ...options,
    guest: { ...options.guest, disk, memoryMiB: MEMORY_MIB },
    device: { arguments: ['--fabric=switch'] },
    onDevice: (started) => {
      device = started;
      return options.onDevice?.(started);
    },
    onReport: (line) => {
      if (line === KILL_REQUEST) void device?.kill();
      options.onReport?.(line);
    },
  });
}

/** Adds the results of a part to `t`, and checks that all of it ran. */
export function reportPart(t: Test, run: GuestRun, part: VerbsPart): void {
  report(t, run, CHECKS[part]);
  t.comment(`${run.seconds.toFixed(1)} s`);
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
