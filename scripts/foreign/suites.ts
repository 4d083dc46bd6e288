// SPDX-License-Identifier: Apache-2.0
/**
 * The suites of foreign software and the adapters that they run on. Each suite is a script in
 * guest-tests/foreign; adapter.sh there knows the adapters.
 */

/** In the order in which they run. */
export const SUITES = ['verbs', 'perftest', 'pyverbs', 'diags', 'cm', 'ipoib'] as const;
export type SuiteName = (typeof SUITES)[number];

/** Those of the short form in `npm test`. */
export const SHORT_SUITES = ['verbs', 'diags', 'ipoib'] as const;

export const ADAPTERS = ['mthca', 'rxe'] as const;
export type AdapterName = (typeof ADAPTERS)[number] | 'vuhca';

/** What the columns of docs/FOREIGN.md are called. */
export const ADAPTER_TITLES: Readonly<Record<AdapterName, string>> = {
  mthca: 'mthca',
  rxe: 'soft-RoCE',
  vuhca: 'vuhca',
};

/** What a suite is, for docs/FOREIGN.md. */
export const SUITE_TITLES: Readonly<Record<SuiteName, string>> = {
  verbs: 'Examples of libibverbs',
  perftest: 'perftest',
  pyverbs: 'Tests of pyverbs',
  diags: 'infiniband-diags, ibdiagnet, osmtest, opensm',
  cm: 'Programs of librdmacm',
  ipoib: 'IP over InfiniBand',
};

/** Soft-RoCE is there to compare with: its failures are not ours. */
export function isJudged(adapter: AdapterName): boolean {
  return adapter !== 'rxe';
}
