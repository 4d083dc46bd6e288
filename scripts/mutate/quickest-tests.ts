// SPDX-License-Identifier: Apache-2.0
/**
 * Chooses the tests that a mutant meets: of those that reach it, the quickest ones, up to a sum of
 * processor time, so that a survivor costs little more than that, and those beside its unit. Called
 * by test-runner.ts.
 */

/** How often each test reaches each mutant, by their ids. */
export type Coverage = Record<string, Record<string, number>>;

/**
 * Removes from `coverage` the tests beyond `budget` milliseconds for a mutant; its quickest test
 * always stays. `times` has milliseconds by the id of the test.
 */
export function keepQuickest(coverage: Coverage, times: Readonly<Record<string, number>>, budget: number): void {
  const spent = new Map<string, number>();
  for (const test of Object.keys(coverage).sort((a, b) => times[a] - times[b])) {
    for (const mutant of Object.keys(coverage[test])) {
      const before = spent.get(mutant);
      if (before !== undefined && before + times[test] > budget) delete coverage[test][mutant];
      else spent.set(mutant, (before ?? 0) + times[test]);
    }
  }
}

/** True when a test reaches the mutant, and is in the test file of the unit that it changes. */
export function isBeside(test: { id: string; path: string }, mutant: { id: string; file: string }, reached: Coverage) {
  return test.path === mutant.file.replace(/\.ts$/, '.test.ts') && mutant.id in (reached[test.id] ?? {});
}
