// SPDX-License-Identifier: Apache-2.0
/**
 * Equal tenants that flood get equal service, whatever they send, however they post and over how
 * many QPs (docs/ARCHITECTURE.md, Shares of time; docs/DOCUMENTS.md decision 13).
 */
import t from 'tap';
import { checkEqual, measureFairness, POSTINGS, pair, SIZES } from './fairness.ts';
import type { FloodTraffic } from './flood.ts';

const DATAGRAM_LONGEST = 4096;

for (const size of SIZES)
  t.test(`equal tenants that flood with WRITEs of ${size} bytes`, async (t) => {
    for (const posting of POSTINGS)
      for (const [few, many] of [
        [4, 4],
        [1, 8],
      ])
        checkEqual(
          t,
          `${posting}, ${few} and ${many}`,
          measureFairness(pair({ queuePairs: few, size, posting }, many)),
        );
  });

for (const traffic of ['send', 'read', 'datagram'] as const satisfies FloodTraffic[])
  t.test(`equal tenants that flood with other messages: ${traffic}`, async (t) => {
    for (const size of [64, 1024, traffic === 'datagram' ? DATAGRAM_LONGEST : 16_384])
      for (const posting of ['collect', 'doorbell'] as const)
        checkEqual(t, `${size} bytes, ${posting}`, measureFairness(pair({ traffic, queuePairs: 2, size, posting }, 6)));
  });
