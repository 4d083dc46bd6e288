// SPDX-License-Identifier: Apache-2.0
/**
 * One run of the in-kernel tests: compiles driver and test module, packs them with a script of
 * cases/, starts an adapter and a guest attached to it, and collects the reports of the guest.
 * Everything that goes wrong is an entry in `faults`. Called by guest.test.ts, run-guest-cases.ts
 * and, for its images, the runs with several guests.
 */
import { fileURLToPath } from 'node:url';
import { buildInitramfs } from '../../qemu/initramfs.ts';
import { buildKernelModules } from '../../qemu/setup/kernel-modules.ts';
import { DeviceProcess } from './device-process.ts';
import { GuestSession } from './guest-session.ts';
import type { KtapResult } from './ktap.ts';

/**
 * The suites to run, and how; all of them, with the sizes of the acceptance criteria, by default.
 */
export interface GuestRunOptions {
  readonly suites?: readonly string[];
  /** The one case to run in each suite. */
  readonly only?: string;
  /** Datagrams of the bulk tests; 10,000 when absent. */
  readonly count?: number;
  /** Seed of everything random in the guest; 1 when absent. */
  readonly seed?: number;
  /** Which of two guests it is, 0 or 1, for a guest with a peer. */
  readonly side?: number;
  readonly deviceArguments?: readonly string[];
  /** The script in cases/ to run; kernel.sh when absent. */
  readonly script?: string;
  /** Folders of the modules to pack, the driver first; driver and tests when absent. */
  readonly modules?: readonly string[];
  /** Called with the adapter process before the guest starts. */
  readonly onDevice?: (device: DeviceProcess) => void;
  readonly onResult?: (result: KtapResult) => void;
  readonly onConsoleLine?: (line: string) => void;
  /** Called with every line that the guest reports. */
  readonly onReport?: (line: string) => void;
}

export interface GuestRun {
  readonly results: readonly KtapResult[];
  readonly faults: readonly string[];
  readonly seconds: number;
  /** The guest's kernel log while `suite/case` ran, or all of it that is kept. */
  kernelLog(suite?: string, name?: string): readonly string[];
}

const ROOT = new URL('../', import.meta.url);
const CASE_FILES = ['kernel.sh', 'rebind.sh', 'gone.sh', 'peer.sh', 'tenant.sh', 'shares.sh'];
/** A script prints this to have the adapter process killed. */
const KILL_REQUEST = '# host: kill the device';

/** Runs the tests to their end. Throws SetupError only when adapter or guest cannot be started. */
export async function runGuestCases(options: GuestRunOptions = {}): Promise<GuestRun> {
  const initramfs = await packCases(options);
  const start = performance.now();
  const device = await DeviceProcess.start({ arguments: options.deviceArguments ?? [] });
  options.onDevice?.(device);
  const onReport = (line: string): void => {
    if (line === KILL_REQUEST) void device.kill();
    options.onReport?.(line);
  };
  const session = new GuestSession({ ...options, onReport });
  try {
    await session.run(initramfs, device.child.socketPath());
  } finally {
    session.faults.push(...(await device.stop()));
  }
  return makeRun(session, start);
}

/** The results of a guest that has ended. */
export function makeRun(session: GuestSession, startMs: number): GuestRun {
  return {
    results: session.parser.results,
    faults: session.faults,
    seconds: (performance.now() - startMs) / 1000,
    kernelLog: (suite, name) => session.kernelLog(suite, name),
  };
}

/** The image of a guest that runs a script of cases/. */
export async function packCases(options: GuestRunOptions): Promise<string> {
  const modules = await buildKernelModules((options.modules ?? ['driver', 'kernel']).map(pathOf));
  const files = CASE_FILES.map((name) => ({ path: `/cases/${name}`, content: { from: pathOf(`cases/${name}`) } }));
  const settings = [
    `SUITES="${(options.suites ?? []).join(' ')}"`,
    `ONLY="${options.only ?? ''}"`,
    `COUNT=${options.count ?? 10_000}`,
    `SEED=${options.seed ?? 1}`,
    `SIDE=${options.side ?? 0}`,
  ];
  return buildInitramfs({
    modules: modules.map(({ name, path }) => ({ name, path, load: false })),
    files: [...files, { path: '/etc/vuhca-test', content: `${settings.join('\n')}\n`, mode: 0o644 }],
    caseScript: `#!/bin/sh\nexec sh /cases/${options.script ?? 'kernel.sh'}\n`,
  });
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, ROOT));
}
