// SPDX-License-Identifier: Apache-2.0
/**
 * Processor time, and percentiles and medians of lists that are small enough to sort. Called by the
 * benchmarks and by the demonstration of interrupts.
 */

/**
 * The value that `share` (0 to 1) of the values do not exceed; NaN for an empty list. Does not
 * change the list.
 */
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

/**
 * The median of several ratios and its 95 % confidence interval (for fewer than six: their range).
 */
export interface Comparison {
  readonly ratio: number;
  readonly low: number;
  readonly high: number;
}

/** The interval of the median by order statistics, which assumes no distribution of the values. */
export function summarize(values: readonly number[]): Comparison {
  const sorted = [...values].sort((one, other) => one - other);
  const outside = countOutside(sorted.length);
  return { ratio: median(sorted), low: sorted[outside], high: sorted[sorted.length - 1 - outside] };
}

/** Ratio and interval as text. */
export function describeComparison({ ratio, low, high }: Comparison): string {
  return `${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}

/** The processor time of this process, which does not grow while another process runs. */
export function processorNs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1e3;
}

/**
 * How many values at either end lie outside the interval, which has the true median with 95 %
 * confidence.
 */
function countOutside(count: number): number {
  let chance = 0.5 ** count;
  let below = chance;
  let outside = 0;
  while (below <= 0.025 && outside < count / 2) {
    outside++;
    chance *= (count - outside + 1) / outside;
    below += chance;
  }
  return Math.max(0, outside - 1);
}
