// SPDX-License-Identifier: Apache-2.0
/** Percentiles of lists that are small enough to sort. Called by summary.ts. */

/** The value that `share` (0 to 1) of the values do not exceed; NaN for an empty list. Does not change the list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** The middle value, or the mean of the two middle ones. NaN for an empty list. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}
