// SPDX-License-Identifier: Apache-2.0
/**
 * Reproducible random numbers for tests: a seed, which `VUHCA_SEED` replaces, and a small
 * generator. A test names its seed in the message of every assertion that depends on it.
 */

/** The seed of this run: `VUHCA_SEED`, or 1. */
export function testSeed(): number {
  return Number.parseInt(process.env.VUHCA_SEED ?? '1', 10) >>> 0;
}

/** A generator of uniform integers. */
export interface Random {
  /** An integer from 0 to 2^32 - 1. */
  uint32(): number;
  /** An integer from 0 to `limit` - 1; `limit` is at most 2^32. */
  below(limit: number): number;
  /** `count` random bytes. */
  bytes(count: number): Uint8Array<ArrayBuffer>;
}

/** A generator (Weyl sequence, murmur3 finish); equal seeds give equal numbers. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const uint32 = () => {
    state = (state + 0x9e3779b9) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (mixed ^ (mixed >>> 16)) >>> 0;
  };
  const below = (limit: number) => Math.floor((uint32() / 2 ** 32) * limit);
  return { uint32, below, bytes: (count) => Uint8Array.from({ length: count }, () => below(256)) };
}
