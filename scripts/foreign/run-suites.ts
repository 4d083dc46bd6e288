// SPDX-License-Identifier: Apache-2.0
/**
 * Runs suites of foreign software (guest-tests/foreign) in a guest with Debian's user space, on one
 * adapter. Called by `npm run test:foreign` and by its short form in `npm test`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { DeviceProcess } from '../../guest-tests/harness/device-process.ts';
import { type GuestJob, type JobModule, packJob } from '../../guest-tests/harness/guest-image.ts';
import { type GuestFault, GuestSession, type TestResult } from '../../guest-tests/harness/guest-session.ts';
import { ENTER_WITH_CASE, provideDistributionParts } from '../../qemu/distribution-guest.ts';
import { deviceArguments, provideAdapterModules } from './adapter-parts.ts';
import type { AdapterName, SuiteName } from './suites.ts';

/** The result of one test of a suite. */
export interface ForeignResult {
  readonly suite: string;
  readonly name: string;
  readonly verdict: 'pass' | 'skip' | 'fail';
  /** Why it was skipped. */
  readonly reason?: string;
  /** What a failed test printed. */
  readonly diagnostics: readonly string[];
}

export interface ForeignRun {
  readonly results: readonly ForeignResult[];
  /** Faults of the guest's kernel, of the adapter, or of the report. */
  readonly faults: readonly string[];
  readonly seconds: number;
}

export interface ForeignOptions {
  readonly adapter: AdapterName;
  readonly suites: readonly SuiteName[];
  /** True leaves out all but a few tests of each suite. */
  readonly short?: boolean;
  readonly onResult?: (result: ForeignResult, seconds: number) => void;
  /** Called with each line of the guest's kernel log. */
  readonly onKernelLine?: (line: string) => void;
}

const FOLDER = new URL('../../guest-tests/foreign/', import.meta.url);
const CASE = '#!/bin/sh\nexec sh /foreign/run.sh\n';
const MEMORY_MIB = 1536;
/**
 * Memory that is allocated is cleared, as Debian's kernel does by default; SLUB's poison turns that
 * off. ib_mthca never sets the restrack field of a user's memory region, and so needs zeros there.
 */
const WITHOUT_POISON = 'slub_debug=FZU';
/** run.sh ends a program that is stuck before. */
const SILENCE_SECONDS = 600;
/** Two programs of a pair and the kernel's threads. */
const CPUS = 2;

/** Throws SetupError when adapter or guest cannot be started. */
export async function runForeignSuites(options: ForeignOptions): Promise<ForeignRun> {
  const { adapter, suites, short = false, onResult = () => {} } = options;
  const settings = `ADAPTER=${adapter}\nSUITES="${suites.join(' ')}"\nSHORT=${short ? 1 : ''}\n`;
  const scripts = readdirSync(FOLDER).filter((name) => name.endsWith('.sh'));
  const parts = await provideDistributionParts(undefined, {
    caseText: CASE,
    files: [
      { path: '/foreign/settings', content: settings },
      ...scripts.map((name) => ({ path: `/foreign/${name}`, content: readFileSync(new URL(name, FOLDER)) })),
    ],
  });
  const job: GuestJob = {
    modules: [
      ...parts.modules.map((module): JobModule => ({ kind: 'stock', ...module })),
      ...(await provideAdapterModules(adapter)),
    ],
    files: parts.files,
    script: { name: 'run.sh', text: ENTER_WITH_CASE },
  };
  const initramfs = await packJob(job);
  const results: ForeignResult[] = [];
  const session = new GuestSession({
    silenceSeconds: SILENCE_SECONDS,
    guest: { disk: parts.disk, memoryMiB: MEMORY_MIB, cpus: CPUS, append: WITHOUT_POISON },
    ...(options.onKernelLine === undefined ? {} : { onKernelLine: options.onKernelLine }),
    onResult: (result) => {
      const taken = readResult(result);
      if (taken === undefined) return;
      results.push(taken);
      onResult(taken, session.seconds);
    },
  });
  const device = await DeviceProcess.start({ arguments: deviceArguments(adapter) });
  try {
    await session.run(initramfs, device.child.sockets);
  } finally {
    session.adapterFaults(await device.stop());
  }
  return { results, faults: [...session.faults.map(describeFault), ...stepFaults(session)], seconds: session.seconds };
}

function readResult({ path, ok, skipped, diagnostics, parent, step }: TestResult): ForeignResult | undefined {
  if (parent || step !== undefined) return undefined;
  const [suite = '', ...rest] = path;
  const verdict = skipped !== undefined ? 'skip' : ok ? 'pass' : 'fail';
  return { suite, name: rest.join('/'), verdict, diagnostics, ...(skipped === undefined ? {} : { reason: skipped }) };
}

/** A script that ends with an error has lost results. */
function stepFaults({ results }: GuestSession): string[] {
  return results.filter(({ step, ok }) => step !== undefined && !ok).map(({ path }) => `${path.join('/')} failed`);
}

function describeFault({ kind, text }: GuestFault): string {
  return `${kind}: ${text}`;
}
