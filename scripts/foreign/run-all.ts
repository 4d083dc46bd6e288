// SPDX-License-Identifier: Apache-2.0
/**
 * Runs all suites of an adapter to their end, one kind of guest after another. A guest that ends
 * too early or falls silent loses the suite that ran, and another guest runs the remaining ones.
 * Called by main.ts and report.ts.
 */
import { runPeerSuites } from './run-peers.ts';
import { type ForeignOptions, type ForeignRun, runForeignSuites } from './run-suites.ts';
import { type Place, placeOf, type SuiteName } from './suites.ts';

const RUNNERS: Readonly<Record<Place, (options: ForeignOptions) => Promise<ForeignRun>>> = {
  guest: (options) => runForeignSuites(options),
  'guest on one thread': (options) => runForeignSuites({ ...options, adapters: ['vuhca'], tcgThread: 'single' }),
  'guest with two adapters': (options) => runForeignSuites({ ...options, hasTwoAdapters: true }),
  'two guests': runPeerSuites,
};
/** All suites of one guest can run there. */
const SHARED = 'guest with two adapters';

/** Throws SetupError when an adapter or a guest cannot be started. */
export async function runAll(
  options: Omit<ForeignOptions, 'suites'> & { readonly suites: readonly SuiteName[] },
  runners = RUNNERS,
): Promise<ForeignRun> {
  const runs: ForeignRun[] = [];
  const isShared = options.sharesGuest === true && options.suites.some((suite) => placeOf(suite) === SHARED);
  const placeIn = (suite: SuiteName): Place => (isShared && placeOf(suite) === 'guest' ? SHARED : placeOf(suite));
  for (const place of Object.keys(runners) as Place[]) {
    let suites = options.suites.filter((suite) => placeIn(suite) === place);
    while (suites.length > 0) {
      const run = await runners[place]({ ...options, suites });
      runs.push(run);
      const broken = suites.findIndex((suite) => !run.ended.includes(suite));
      suites = broken < 0 ? [] : suites.slice(broken + 1);
    }
  }
  return {
    results: runs.flatMap(({ results }) => results),
    faults: runs.flatMap(({ faults }) => faults),
    othersFaults: runs.flatMap(({ othersFaults }) => othersFaults),
    ended: runs.flatMap(({ ended }) => ended),
    seconds: runs.reduce((sum, { seconds }) => sum + seconds, 0),
  };
}
