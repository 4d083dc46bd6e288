// SPDX-License-Identifier: Apache-2.0
/**
 * A guest that runs suites of foreign software: its image with the scripts of guest-tests/foreign,
 * and the reader of its report. Called by run-suites.ts and run-peers.ts.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { asStock, type GuestJob, packJob } from '../../guest-tests/harness/guest-image.ts';
import {
  BOOT_SECONDS,
  type GuestFault,
  type GuestSession,
  type TestResult,
} from '../../guest-tests/harness/guest-session.ts';
import { excerptLog } from '../../guest-tests/harness/log-excerpt.ts';
import { breaksWorkQueueRule } from '../../guest-tests/harness/others-faults.ts';
import { ENTER_WITH_CASE, provideDistributionParts } from '../../qemu/distribution-guest.ts';
import type { GuestDisk } from '../../qemu/guest-options.ts';
import type { GuestFile } from '../../qemu/initramfs.ts';
import type { DistributionSet } from '../../qemu/setup/distribution.ts';
import { listFiles } from '../../qemu/setup/files.ts';
import { provideVerbsPrograms } from '../../qemu/setup/verbs-programs.ts';
import { provideAdapterModules } from './adapter-parts.ts';
import type { AdapterName, ForeignResult } from './suites.ts';

/** Work of a guest. */
export interface SuiteJob {
  /** The one that the suites use, and further ones of the guest. */
  readonly adapters: readonly AdapterName[];
  /** Names of scripts in guest-tests/foreign. */
  readonly suites: readonly string[];
  /** Suites of which only a few tests run; true for all. */
  readonly short?: boolean | readonly string[];
  /** An expression for the names of the tests to run; all when absent. */
  readonly tests?: string;
  /** Files of pyverbs that do not run, named as in results. */
  readonly leftOut?: readonly string[];
  /** The adapter of the far guest, when it differs. */
  readonly far?: AdapterName;
  /** Which one of two guests it is. */
  readonly side?: 'near' | 'far';
  /** The packages of its root. */
  readonly set?: DistributionSet;
}

const FOLDER = fileURLToPath(new URL('../../guest-tests/foreign', import.meta.url));
const CASE = '#!/bin/sh\nexec sh /foreign/run.sh\n';
/**
 * Longest silences: run.sh ends a stuck program earlier, and a guest that does not boot must not
 * cost half an hour.
 */
export const SILENCES = { silenceSeconds: 1800, bootSeconds: BOOT_SECONDS } as const;

export interface SuiteImage {
  readonly initramfs: string;
  /** The disk with the root. */
  readonly disk: GuestDisk;
}

export async function packSuites(suiteJob: SuiteJob): Promise<SuiteImage> {
  const { adapters, suites, short = false, tests = '', leftOut = [], far = '', side = '', set = 'base' } = suiteJob;
  const settings = {
    ADAPTERS: adapters.join(' '),
    SUITES: suites.join(' '),
    SHORT_SUITES: suites.filter((suite) => isShort(suite, short)).join(' '),
    SIDE: side,
    FAR_ADAPTER: far,
    TESTS: tests,
    LEFT_OUT: leftOut.join(' '),
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name}='${value.replaceAll("'", '')}'\n`);
  const programs = suites.some(usesPrograms) ? Object.entries(await provideVerbsPrograms()) : [];
  const parts = await provideDistributionParts(undefined, {
    set,
    caseText: CASE,
    hasVerbs: adapters.includes('vuhca'),
    files: [
      { path: '/foreign/settings', content: lines.join('') },
      ...suiteFiles(FOLDER),
      ...programs.map(([name, from]) => ({ path: `/foreign/${name}`, content: { from }, mode: 0o755 })),
    ],
  });
  const job: GuestJob = {
    modules: [...parts.modules.map(asStock), ...(await provideAdapterModules(adapters))],
    files: parts.files,
    script: { name: 'run.sh', text: ENTER_WITH_CASE },
  };
  return { initramfs: await packJob(job), disk: parts.disk };
}

/** True if only a few tests of the suite run. */
export function isShort(suite: string, short: NonNullable<SuiteJob['short']>): boolean {
  return typeof short === 'boolean' ? short : short.some((one) => one === suite);
}

/** The scripts of a folder, in the form for the guest. */
export function suiteFiles(folder: string): GuestFile[] {
  return listFiles(folder).map((name) => ({ path: `/foreign/${name}`, content: { from: join(folder, name) } }));
}

/** Programs of guest-tests/programs. */
function usesPrograms(suite: string): boolean {
  return suite === 'figures' || suite === 'turns' || suite === 'verbs';
}

/** A test of a suite; undefined for other lines of the report. */
export function readResult({ path, ok, skipped, diagnostics, parent, step }: TestResult): ForeignResult | undefined {
  if (parent || step !== undefined) return undefined;
  const [suite = '', ...rest] = path;
  const verdict = skipped !== undefined ? 'skip' : ok ? 'pass' : 'fail';
  return { suite, name: rest.join('/'), verdict, diagnostics, ...(skipped === undefined ? {} : { reason: skipped }) };
}

/** Faults of a run itself, apart from results. */
export interface RunFaults {
  /** Faults of the guest's kernel, of the adapter, or of the report. */
  readonly faults: readonly string[];
  /** Faults of the guest's kernel that show nothing about the adapter. */
  readonly othersFaults: readonly string[];
}

/**
 * Faults of the run, with those of others separate; the first complaint of the kernel, a silence
 * and faults of others come with the lines of the log around them. A script that ends with an error
 * has lost results.
 */
export function judgeSession(
  session: Pick<GuestSession, 'faults' | 'results' | 'logBetween'>,
  adapters: readonly AdapterName[],
): RunFaults {
  const isStock = !adapters.includes('vuhca');
  const others = session.faults.filter((fault) => isStock && breaksWorkQueueRule(fault));
  const own = session.faults.filter((fault) => !others.includes(fault));
  const shown = ['kernel', 'silence'].map((kind) => own.find((fault) => fault.kind === kind));
  const steps = session.results.filter(({ step, ok }) => step !== undefined && !ok);
  const withLog = (fault: GuestFault): string => [describeFault(fault), ...excerptLog(session, fault)].join('\n');
  return {
    faults: [
      ...own.map((fault) => (shown.includes(fault) ? withLog(fault) : describeFault(fault))),
      ...steps.map(({ path }) => `${path.join('/')} failed`),
    ],
    othersFaults: others.map(withLog),
  };
}

/** The suites whose last line was seen. */
export function endedSuites({ results }: GuestSession): string[] {
  return results.filter(({ parent, path }) => parent && path.length === 1).map(({ path }) => path[0] as string);
}

function describeFault({ kind, text }: GuestFault): string {
  return `${kind}: ${text}`;
}
