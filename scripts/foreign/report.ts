// SPDX-License-Identifier: Apache-2.0
/** The results of foreign suites as test points. Called by the long tests beside it. */
import type { Test } from 'tap';
import { filesWithoutPasses, readResults } from './results.ts';
import { runAll } from './run-all.ts';
import { type ForeignResult, type JudgedAdapter, SUITES, type SuiteName } from './suites.ts';

/**
 * Runs `suites` on `adapter`, and a few tests of those in `short`, and adds the results to `t`.
 * Returns them. Leaves out files of pyverbs that only skipped when results were last kept, because
 * finding that out takes a third of the time of a guest.
 */
export async function reportSuites(
  t: Test,
  adapter: JudgedAdapter,
  suites: readonly SuiteName[],
  short: readonly SuiteName[] = [],
): Promise<readonly ForeignResult[]> {
  const { results, faults, othersFaults, seconds } = await runAll({
    adapters: [adapter],
    suites: SUITES.filter((suite) => suites.includes(suite) || short.includes(suite)),
    short,
    sharesGuest: true,
    leftOut: filesWithoutPasses(readResults(), adapter),
  });
  for (const { suite, name, verdict, reason, diagnostics } of results) {
    if (verdict === 'skip') t.pass(`${suite}/${name}`, { skip: reason ?? true });
    else t.equal(verdict, 'pass', `${suite}/${name}`, { diagnostics });
  }
  for (const fault of othersFaults) t.comment(`not of the adapter: ${fault}`);
  t.same(faults, [], 'the run itself');
  t.same(
    [...new Set(results.map(({ suite }) => suite))].sort(),
    [...suites, ...short].sort(),
    'all suites have results',
  );
  t.comment(`${seconds.toFixed(1)} s`);
  return results;
}
