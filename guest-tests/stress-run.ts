// SPDX-License-Identifier: Apache-2.0
/**
 * A script of guest-tests/cases that puts stress on an adapter from Debian's user space, with
 * stress-library.sh beside it and the program `adapter`, by which it requests counts of objects,
 * and faults. Called by mthca-stress.long.ts, mlx5-stress.long.ts, process-stress.long.ts,
 * provider-valgrind.long.ts and soak.long.ts.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { ControlClient } from '../device/process/control/control-client.ts';
import { answerGuest } from '../device/process/control/guest-requests.ts';
import { ENTER_WITH_CASE, provideDistributionParts } from '../qemu/distribution-guest.ts';
import type { GuestDisk } from '../qemu/guest-options.ts';
import type { DistributionSet } from '../qemu/setup/distribution.ts';
import { provideGuestKernel, provideStockModules } from '../qemu/setup/guest-kernel.ts';
import { type BuiltKernelModule, buildKernelModules } from '../qemu/setup/kernel-modules.ts';
import { provideVerbsPrograms, type VerbsProgram } from '../qemu/setup/verbs-programs.ts';
import type { DeviceStart } from './harness/device-process.ts';
import { asStock, type GuestJob, type JobModule } from './harness/guest-image.ts';
import { type GuestRun, runGuest } from './harness/guest-run.ts';
import { requestProgram } from './harness/host-requests.ts';
import { runPastOthersFaults } from './harness/others-faults.ts';
import { report } from './harness/report.ts';

export interface StressRun {
  /** The script, and files that it needs, in guest-tests/cases. */
  readonly script: string;
  readonly files?: readonly string[];
  /** Programs that it needs, in guest-tests/programs. */
  readonly programs?: readonly VerbsProgram[];
  /** Settings of the script, in /etc/vuhca/stress. */
  readonly settings: Readonly<Record<string, string | number>>;
  /** The adapters. */
  readonly device: DeviceStart;
  /** True if the guest has our drivers, and programs may use the verbs of our adapter. */
  readonly hasVerbs?: boolean;
  /** True if memory that the kernel allocates is cleared, not poisoned. */
  readonly cleared?: boolean;
  /** The packages of the guest; `base` when absent. */
  readonly set?: DistributionSet;
  /** Results that the script prints; those of a start and four parts when absent. */
  readonly checks?: number;
  /** Called with each line of the script, and the process of the adapter. */
  readonly onLine?: (line: string, adapter: number) => void;
}

const MEMORY_MIB = 1024;
const SILENCE_SECONDS = 1200;
/** Results of the start and four parts, and the check after each. */
const CHECKS = 9;
/** Number of runs that faults of others may spoil. */
const ATTEMPTS = 4;

/** The numbers in the environment variable `name`, with commas between; none when it is not set. */
export function readRounds(name: string): number[] {
  return (process.env[name] ?? '').split(',').filter(Boolean).map(Number);
}

/** Runs it and reports its results. */
export async function runStress(t: Test, stress: StressRun): Promise<void> {
  const { script, files = [], programs = [], settings, hasVerbs = false } = stress;
  const compiled = programs.length > 0 ? await provideVerbsPrograms() : undefined;
  const lines = Object.entries(settings).map(([name, value]) => `${name}="${value}"\n`);
  const parts = await provideDistributionParts(undefined, {
    hasVerbs,
    set: stress.set ?? 'base',
    caseText: readCase(script),
    files: [
      requestProgram('/usr/bin/adapter'),
      { path: '/etc/vuhca/stress', content: lines.join(''), mode: 0o644 },
      ...['stress-library.sh', ...files].map((name) => {
        return { path: `/etc/vuhca/${name}`, content: readCase(name), mode: 0o644 };
      }),
      ...programs.map((name) => {
        return { path: `/etc/vuhca/${name}`, content: { from: compiled?.[name] as string }, mode: 0o755 };
      }),
    ],
  });
  const modules = hasVerbs ? await provideVerbsModules() : [];
  const job = {
    modules: [...parts.modules.map(asStock), ...modules],
    files: parts.files,
    script: { name: script, text: ENTER_WITH_CASE },
  };
  const run = await runPastOthersFaults(t, ATTEMPTS, () => runJob(t, stress, job, parts.disk));
  report(t, run, stress.checks ?? CHECKS);
  t.comment(`${run.seconds.toFixed(1)} s`);
}

async function runJob(t: Test, stress: StressRun, job: GuestJob, disk: GuestDisk): Promise<GuestRun> {
  const { device, cleared = false } = stress;
  let client: ControlClient | undefined;
  let adapter: number | undefined;
  const run = await runGuest(job, {
    guest: { memoryMiB: MEMORY_MIB, disk },
    device,
    cleared,
    silenceSeconds: SILENCE_SECONDS,
    onReport: (line) => {
      t.comment(line);
      if (adapter !== undefined) stress.onLine?.(line, adapter);
    },
    onDevice: async ({ child }) => {
      adapter = child.pid;
      client = await ControlClient.connect(child.controlPath);
    },
    answer: (words) => answerGuest(client as ControlClient)(words),
  });
  client?.close();
  return run;
}

/** Our driver, and the InfiniBand device on top of it. */
async function provideVerbsModules(): Promise<JobModule[]> {
  const folders = ['driver', 'driver/ib'].map((name) => fileURLToPath(new URL(name, import.meta.url)));
  const [driver, verbs] = (await buildKernelModules(folders)) as [BuiltKernelModule, BuiltKernelModule];
  const stock = await provideStockModules(await provideGuestKernel(), ['ib_uverbs']);
  return [...stock.map(asStock), { kind: 'driver', ...driver }, { kind: 'module', ...verbs }];
}

function readCase(name: string): string {
  return readFileSync(new URL(`cases/${name}`, import.meta.url), 'utf8');
}
