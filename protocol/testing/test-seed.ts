// SPDX-License-Identifier: Apache-2.0
/**
 * The seed of tests that draw random numbers: `VUHCA_SEED` replaces it. A test names its seed in
 * the message of every assertion that depends on it.
 */

/** The seed of this run: `VUHCA_SEED`, or 1. */
export function testSeed(): number {
  return Number.parseInt(process.env.VUHCA_SEED ?? '1', 10) >>> 0;
}
