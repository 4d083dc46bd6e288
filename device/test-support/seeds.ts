// SPDX-License-Identifier: Apache-2.0
/**
 * Which seeds a random test runs: a few in `npm test`, and the others in a long test beside it.
 * That one, X.long.ts, calls takeFurtherSeeds() and then imports X.test.ts.
 */

let further = false;

/** From now on seedsOf() gives the seeds that `npm test` leaves out. */
export function takeFurtherSeeds(): void {
  further = true;
}

/** The seeds from 1 to `few`, or those behind them up to `all`. */
export function seedsOf(few: number, all: number): readonly number[] {
  const [first, last] = further ? [few + 1, all] : [1, few];
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}
