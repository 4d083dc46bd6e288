// SPDX-License-Identifier: Apache-2.0
/**
 * Seeded pseudo-random numbers for tests and for models that need randomness: xoshiro128**
 * (Blackman and Vigna, 2018); splitmix32 fills its four words of state from a 32-bit seed. The same
 * seed gives the same numbers on every machine. A test that draws numbers names its seed when it
 * fails.
 */

/** A stream of pseudo-random numbers. */
export class Random {
  readonly seed: number;
  #a: number;
  #b: number;
  #c: number;
  #d: number;

  /** @param seed any integer; its low 32 bits count. */
  constructor(seed: number) {
    this.seed = seed >>> 0;
    let state = this.seed;
    const splitmix = (): number => {
      state = (state + 0x9e3779b9) | 0;
      let word = state ^ (state >>> 16);
      word = Math.imul(word, 0x21f0aaad);
      word ^= word >>> 15;
      word = Math.imul(word, 0x735a2d97);
      return word ^ (word >>> 15);
    };
    this.#a = splitmix();
    this.#b = splitmix();
    this.#c = splitmix();
    this.#d = splitmix() | 1;
  }

  /** The next 32 bits, unsigned. */
  next(): number {
    const scrambled = Math.imul(rotateLeft(Math.imul(this.#b, 5), 7), 9) >>> 0;
    const shifted = this.#b << 9;
    this.#c ^= this.#a;
    this.#d ^= this.#b;
    this.#b ^= this.#c;
    this.#a ^= this.#d;
    this.#c ^= shifted;
    this.#d = rotateLeft(this.#d, 11);
    return scrambled;
  }

  /**
   * An integer from 0 to `limit - 1`; `limit` is at most 2^32. The multiplication has a bias (below
   * 2^-20 for small limits) that does not matter here.
   */
  below(limit: number): number {
    return Math.floor((this.next() / 0x1_0000_0000) * limit);
  }

  /** An integer from `low` to `high`, both included. */
  between(low: number, high: number): number {
    return low + this.below(high - low + 1);
  }

  /** True once in `n` on average. */
  oneIn(n: number): boolean {
    return this.below(n) === 0;
  }

  /** Returns a random item. Throws when `list` is empty. */
  pick<T>(list: readonly T[]): T {
    const item = list[this.below(list.length)];
    if (item === undefined) throw new Error('Random.pick: the list is empty; give at least one item.');
    return item;
  }

  /** Shuffles `list` in place (Fisher and Yates) and returns it. */
  shuffle<T>(list: T[]): T[] {
    for (let last = list.length - 1; last > 0; last--) {
      const other = this.below(last + 1);
      [list[last], list[other]] = [list[other] as T, list[last] as T];
    }
    return list;
  }

  /** `lengthBytes` random bytes. */
  bytes(lengthBytes: number): Uint8Array {
    const bytes = new Uint8Array(lengthBytes);
    for (let index = 0; index < lengthBytes; index++) bytes[index] = this.next() >>> 24;
    return bytes;
  }

  /**
   * Returns a separate stream: one part of a test may then draw more numbers without changing the
   * numbers of another part.
   */
  fork(): Random {
    return new Random(this.next());
  }
}

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}
