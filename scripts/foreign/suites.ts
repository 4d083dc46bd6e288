// SPDX-License-Identifier: Apache-2.0
/**
 * The suites of foreign software, the adapters that they run on, and the results of their tests.
 * Each suite is a script in guest-tests/foreign; adapter.sh there has the adapters.
 */
import { SetupError } from '../../qemu/setup/tools/errors.ts';

/** Those of one guest, in the order in which they run. */
const LONE_SUITES = ['verbs', 'tools', 'perftest', 'pyverbs', 'diags', 'cm', 'ipoib', 'programs', 'figures'] as const;
/** Those of one guest whose processors take turns on one thread of QEMU. */
const TURN_SUITES = ['turns'] as const;
/** Those of one guest with two adapters. */
const DOUBLE_SUITES = ['adapters'] as const;
/** Those between two guests. */
const PEER_SUITES = ['peers', 'storage', 'libraries'] as const;
export const SUITES = [...LONE_SUITES, ...TURN_SUITES, ...DOUBLE_SUITES, ...PEER_SUITES] as const;
export type SuiteName = (typeof SUITES)[number];

export const ADAPTERS = ['mlx5', 'mthca', 'rxe', 'vuhca'] as const;
export type AdapterName = (typeof ADAPTERS)[number];
/** Soft-RoCE serves for comparison: its failures are not ours. */
export type JudgedAdapter = Exclude<AdapterName, 'rxe'>;

/** Titles of the columns of docs/verbs/FOREIGN.md. */
export const ADAPTER_TITLES: Readonly<Record<AdapterName, string>> = {
  mlx5: 'mlx5',
  mthca: 'mthca',
  rxe: 'soft-RoCE',
  vuhca: 'vuhca',
};

/** The result of one test of a suite. */
export interface ForeignResult {
  readonly suite: string;
  readonly name: string;
  readonly verdict: 'pass' | 'skip' | 'fail';
  /** Reason why it was skipped. */
  readonly reason?: string;
  /** Output of a failed test. */
  readonly diagnostics: readonly string[];
}

/** Description of a suite, for docs/verbs/FOREIGN.md. */
export const SUITE_TITLES: Readonly<Record<SuiteName, string>> = {
  verbs: 'Examples of libibverbs',
  tools: 'rdma, ip, ethtool, devlink, lspci',
  perftest: 'perftest',
  pyverbs: 'Tests of pyverbs',
  diags: 'infiniband-diags, ibdiagnet, osmtest, opensm',
  cm: 'Programs of librdmacm',
  ipoib: 'IP over InfiniBand',
  programs: 'qperf, rdma_xclient, sockets over RDMA, fio, MPICH, tgt and libiscsi, ibacm, node_exporter',
  figures: 'Runs that measure, beside soft-RoCE',
  turns: 'Runs that measure, the processors of the guest in turns on one thread',
  adapters: 'One guest with two adapters behind a switch',
  peers: 'Two guests: verbs, connection manager, multicast, IP over InfiniBand',
  storage: 'Two guests: NVMe over RDMA, SRP, iSER, NFS',
  libraries: 'Two guests: UCX, libfabric, Open MPI',
};

/** Place in which a suite runs; suites with the same kind of place share it. */
export type Place = 'guest' | 'guest on one thread' | 'guest with two adapters' | 'two guests';

export function placeOf(suite: SuiteName): Place {
  if (TURN_SUITES.some((name) => name === suite)) return 'guest on one thread';
  if (DOUBLE_SUITES.some((name) => name === suite)) return 'guest with two adapters';
  return PEER_SUITES.some((name) => name === suite) ? 'two guests' : 'guest';
}

/**
 * True if the suite says something about one of `adapters`: only the provider of vuhca gives way
 * when it polls in vain, which is what `turns` measures.
 */
export function concerns(suite: string, adapters: readonly AdapterName[]): boolean {
  return suite !== 'turns' || adapters.includes('vuhca');
}

/** The names of an option, with commas between. Throws SetupError for an unknown name. */
export function readNames<T extends string>(option: string, text: string, known: readonly T[]): T[] {
  const names = text.split(',');
  const wrong = names.find((name) => !known.some((one) => one === name));
  if (wrong !== undefined) throw new SetupError(`${option} names ${wrong}; there are ${known.join(', ')}`);
  return names as T[];
}

export function isJudged(adapter: AdapterName): adapter is JudgedAdapter {
  return adapter !== 'rxe';
}
