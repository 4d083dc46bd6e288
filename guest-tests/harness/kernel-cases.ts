// SPDX-License-Identifier: Apache-2.0
/**
 * The in-kernel tests of this project as jobs of guests: driver and test module, compiled, with the
 * scripts of cases/. Called by guest.test.ts, run-guest-cases.ts and the runs with several guests.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { resolveGuestKernel } from '../../qemu/setup/kernel-choice.ts';
import { buildKernelModules } from '../../qemu/setup/kernel-modules.ts';
import type { DeviceProcess } from './device-process.ts';
import type { GuestJob } from './guest-image.ts';
import { type GuestRun, type GuestRunOptions, runGuest } from './guest-run.ts';

/**
 * The suites to run, and their settings; by default all, with the sizes of the acceptance criteria.
 */
export interface CaseOptions {
  readonly suites?: readonly string[];
  /** Suites of these that are left out. */
  readonly without?: readonly string[];
  /** The one case to run in each suite. */
  readonly only?: string;
  /** Datagrams of the bulk tests; 10,000 when absent. */
  readonly count?: number;
  /** Seed of all random numbers in the guest; 1 when absent. */
  readonly seed?: number;
  /** Parameters of the driver, as insmod takes them. */
  readonly driverParameters?: string;
  /** Number of the guest, 0 or 1, if it has a peer. */
  readonly side?: number;
  /** The script in cases/ to run; kernel.sh when absent. */
  readonly script?: string;
  /** Folders of the modules to pack, the driver first; driver and tests when absent. */
  readonly modules?: readonly string[];
  readonly deviceArguments?: readonly string[];
  /** The guest's kernel, as resolveGuestKernel() takes it; Debian 13's when absent. */
  readonly kernel?: string;
}

const ROOT = new URL('../', import.meta.url);
/** Parts of kernel.sh, which are no suites. */
const PARTS = ['rebind.sh', 'shares.sh'];
/** A script prints this to request that the adapter process is killed. */
const KILL_REQUEST = '# host: kill the device';

/** Runs the tests to their end. Throws SetupError only when adapter or guest cannot be started. */
export async function runGuestCases(options: CaseOptions & GuestRunOptions = {}): Promise<GuestRun> {
  let device: DeviceProcess | undefined;
  const { imagePath } = await resolveGuestKernel(options.kernel);
  return runGuest(await makeCaseJob(options), {
    ...options,
    guest: { ...options.guest, kernel: imagePath },
    device: { arguments: options.deviceArguments ?? [] },
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

/** The job of a guest that runs a script of cases/. */
export async function makeCaseJob(options: CaseOptions): Promise<GuestJob> {
  const kernel = await resolveGuestKernel(options.kernel);
  const toolchain = await kernel.provideToolchain();
  const script = options.script ?? 'kernel.sh';
  const settings = [
    `SUITES="${(options.suites ?? []).join(' ')}"`,
    `WITHOUT="${(options.without ?? []).join(' ')}"`,
    `ONLY="${options.only ?? ''}"`,
    `COUNT=${options.count ?? 10_000}`,
    `SEED=${options.seed ?? 1}`,
    `DRIVER_PARAMETERS="${options.driverParameters ?? ''}"`,
    `SIDE=${options.side ?? 0}`,
  ];
  return {
    bootModules: kernel.bootModules,
    packed: await buildKernelModules((options.modules ?? ['driver', 'kernel']).map(pathOf), { toolchain }),
    files: [
      ...PARTS.map((name) => ({ path: `/cases/${name}`, content: { from: pathOf(`cases/${name}`) } })),
      { path: '/etc/vuhca-test', content: `${settings.join('\n')}\n`, mode: 0o644 },
    ],
    script: { name: script, text: readFileSync(pathOf(`cases/${script}`), 'utf8') },
  };
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, ROOT));
}
