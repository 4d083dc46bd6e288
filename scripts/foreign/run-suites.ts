// SPDX-License-Identifier: Apache-2.0
/**
 * Runs suites of foreign software (guest-tests/foreign) in a guest with Debian's user space, on one
 * adapter. Called by run-all.ts; run-peers.ts runs
 * those between two guests.
 */
import { DeviceProcess } from '../../guest-tests/harness/device-process.ts';
import { GuestSession } from '../../guest-tests/harness/guest-session.ts';
import type { TcgThread, VfioUserDevice } from '../../qemu/guest-options.ts';
import type { DistributionSet } from '../../qemu/setup/distribution.ts';
import { deviceArguments, hasClearedMemory } from './adapter-parts.ts';
import { type SideAdapter, serveSwitch } from './peer-adapters.ts';
import { endedSuites, isShort, judgeSession, packSuites, type RunFaults, readResult, SILENCES } from './suite-guest.ts';
import { type AdapterName, type ForeignResult, isJudged, type SuiteName } from './suites.ts';

export interface ForeignRun extends RunFaults {
  readonly results: readonly ForeignResult[];
  /** The suites that ran to their end. */
  readonly ended: readonly string[];
  readonly seconds: number;
}

export interface ForeignOptions {
  /** The one that the suites use, and further ones to compare it with. */
  readonly adapters: readonly AdapterName[];
  /** The adapter of the far one of two guests, when it differs. */
  readonly far?: AdapterName;
  /** Names of scripts in guest-tests/foreign. */
  readonly suites: readonly string[];
  /** An expression for the names of the tests to run; all when absent. */
  readonly tests?: string;
  /** Files of pyverbs that do not run, named as in results. */
  readonly leftOut?: readonly string[];
  /** Threads of QEMU that run the processors of the guest; `multi` when absent. */
  readonly tcgThread?: TcgThread;
  /** True gives the guest two adapters behind a switch. */
  readonly hasTwoAdapters?: boolean;
  /** True runs suites of one guest in that of two adapters, when there is one: it boots once. */
  readonly sharesGuest?: boolean;
  /** Suites of which only a few tests run; true for all. */
  readonly short?: boolean | readonly SuiteName[];
  readonly onResult?: (result: ForeignResult, seconds: number) => void;
  /** Called with each line that the guest reports. */
  readonly onReport?: (line: string) => void;
  /** Called with each line of the guest's kernel log. */
  readonly onKernelLine?: (line: string) => void;
}

const MEMORY_MIB = 1536;
/** Two programs of a pair and the kernel's threads. */
const CPUS = 2;
/** Three tests of pyverbs need huge pages; a kernel that has booted may not find them. */
const HUGE_PAGES = 'hugepages=16';

/** Throws SetupError when adapter or guest cannot be started. */
export async function runForeignSuites(options: ForeignOptions): Promise<ForeignRun> {
  const { onResult = () => {}, tcgThread = 'multi' } = options;
  const { initramfs, disk } = await packSuites({ ...options, set: setOf(options) });
  const results: ForeignResult[] = [];
  const session = new GuestSession({
    ...SILENCES,
    cleared: hasClearedMemory(options.adapters),
    guest: { disk, memoryMiB: MEMORY_MIB, cpus: CPUS, append: HUGE_PAGES, tcgThread },
    ...(options.onKernelLine === undefined ? {} : { onKernelLine: options.onKernelLine }),
    ...(options.onReport === undefined ? {} : { onReport: options.onReport }),
    onResult: (result) => {
      const taken = readResult(result);
      if (taken === undefined) return;
      results.push(taken);
      onResult(taken, session.seconds);
    },
  });
  const served = await serveGuest(options, tcgThread);
  try {
    await session.run(initramfs, served.devices);
  } finally {
    session.addFaults('adapter', await served.stop());
  }
  return {
    results,
    ...judgeSession(session, options.adapters),
    ended: endedSuites(session),
    seconds: session.seconds,
  };
}

/** The packages that suites of one guest need: fio and nvme-cli are in the larger set. */
function setOf({ suites, short = false }: Pick<ForeignOptions, 'suites' | 'short'>): DistributionSet {
  if (suites.includes('programs')) return 'programs';
  const measuresDisks = suites.includes('figures') || (suites.includes('turns') && !isShort('turns', short));
  return measuresDisks ? 'larger' : 'base';
}

interface Served {
  readonly devices: readonly VfioUserDevice[];
  stop(): Promise<string[]>;
}

/**
 * The adapters that one guest gets, in their order. Cards of the kind mlx5 have a function for each
 * port, so a guest that wants two ports has two of them.
 */
export function listAdapters({
  adapters,
  hasTwoAdapters = false,
}: Pick<ForeignOptions, 'adapters' | 'hasTwoAdapters'>): SideAdapter[] {
  const kinds = adapters.filter(isJudged);
  return [
    ...kinds.map((personality) => ({ side: 'first', personality })),
    ...kinds
      .filter((personality) => hasTwoAdapters || personality === 'mlx5')
      .map((personality) => ({ side: 'second', personality })),
  ];
}

async function serveGuest(options: ForeignOptions, tcgThread: TcgThread): Promise<Served> {
  const listed = listAdapters(options);
  const [lone, ...others] = listed;
  if (others.length === 0) return serveOne(lone?.personality ?? 'rxe', tcgThread);
  const { sockets, stop } = await serveSwitch(listed);
  return { devices: ['first', 'second'].flatMap(sockets).map((socketPath) => ({ socketPath })), stop };
}

async function serveOne(adapter: AdapterName, tcgThread: TcgThread): Promise<Served> {
  const device = await DeviceProcess.start({
    arguments: [...deviceArguments(adapter), `--tcg-thread=${tcgThread}`],
  });
  return { devices: device.child.devices(), stop: () => device.stop() };
}
