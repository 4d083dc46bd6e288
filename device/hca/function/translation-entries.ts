// SPDX-License-Identifier: Apache-2.0
/**
 * The translation entries of one function: each holds the address of one page of a memory region or
 * queue, as the memory translation table of an HCA does (docs/LIMITS.md). A page list costs guest
 * memory once, however many objects name it, but memory of the adapter for each of them. Commands
 * take entries before they read a list; `ObjectTables` gives those of a destroyed object back.
 */
export class TranslationEntries {
  /** Most entries that the function may have. */
  readonly quota: number;
  #used = 0;

  constructor(quota: number) {
    this.quota = quota;
  }

  get used(): number {
    return this.#used;
  }

  get free(): number {
    return this.quota - this.#used;
  }

  /** Takes `count` entries; false, with none taken, when fewer are free. */
  take(count: number): boolean {
    if (count > this.free) return false;
    this.#used += count;
    return true;
  }

  give(count: number): void {
    this.#used -= count;
  }
}
