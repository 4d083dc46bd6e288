// SPDX-License-Identifier: Apache-2.0
/**
 * Which seeds or cases a test with many of them runs: a few in `npm test`, and the others in a long
 * test beside it. That one, X.long.ts, calls takeFurtherSeeds() and then imports X.test.ts.
 */

let further = false;

/** From now on the functions below give what `npm test` leaves out. */
export function takeFurtherSeeds(): void {
  further = true;
}

/** The seeds from 1 to `few`, or those behind them up to `all`. */
export function seedsOf(few: number, all: number): readonly number[] {
  return partOf(
    Array.from({ length: all }, (_, index) => index + 1),
    few,
  );
}

/** The first `few` of `all`, or the others. */
export function partOf<T>(all: readonly T[], few: number): readonly T[] {
  return further ? all.slice(few) : all.slice(0, few);
}

/** Whether the case with that index runs: one in `count`, or the others. */
export function isOneOf(index: number, count: number): boolean {
  return (index % count === 0) !== further;
}
