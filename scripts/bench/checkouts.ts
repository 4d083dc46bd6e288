// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- transport --against FOLDER`: the cost of a message here, as a ratio to that in
 * another checkout. Called by transport.ts.
 */
import { join } from 'node:path';
import { observeSideBySide, withPrograms } from './side-by-side.ts';
import { describeComparison, summarize } from './statistics.ts';
import type { Traffic } from './transport-traffic.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** Prints a line for each of `scenarios`: the median of `pairs` ratios, and its interval. */
export function compareCheckouts(
  other: string,
  scenarios: readonly (Traffic & { readonly name: string })[],
  pairs: number,
  json: boolean,
): Promise<void> {
  return withPrograms([other, ROOT], async (programs) => {
    const variants = programs.map((program) => ({ program, traced: false }));
    for (const { name, ...traffic } of scenarios) {
      const ratios: number[] = [];
      for (let pair = 0; pair < pairs; pair++) {
        const [, here] = await observeSideBySide(variants, traffic, pair);
        ratios.push(here.ratio);
      }
      const comparison = summarize(ratios);
      process.stdout.write(
        json
          ? `${JSON.stringify({ name, ...comparison, ratios })}\n`
          : `${name}: ${describeComparison(comparison)} of the processor time of a message in ${other}; ${pairs} pairs, ${Math.min(...ratios).toFixed(3)} to ${Math.max(...ratios).toFixed(3)}\n`,
      );
    }
  });
}
