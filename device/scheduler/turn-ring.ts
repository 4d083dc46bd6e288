// SPDX-License-Identifier: Apache-2.0
/** Those that take turns, each at most once: a ring of fixed size. What nobody waits for costs nothing. */
export class TurnRing<T extends { active: boolean }> {
  #length = 0;
  readonly #items: (T | undefined)[];
  #head = 0;

  constructor(capacity: number) {
    this.#items = new Array<T | undefined>(capacity).fill(undefined);
  }

  get length(): number {
    return this.#length;
  }

  /** Puts an item at the end unless it is there. */
  add(item: T): void {
    if (item.active) return;
    item.active = true;
    this.#items[(this.#head + this.#length++) % this.#items.length] = item;
  }

  /** Puts an item that had no turn in front of all others. */
  restore(item: T): void {
    if (item.active) return;
    item.active = true;
    this.#head = (this.#head + this.#items.length - 1) % this.#items.length;
    this.#items[this.#head] = item;
    this.#length++;
  }

  /** Takes the first one; there must be one. */
  take(): T {
    const item = this.#items[this.#head] as T;
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.#items.length;
    this.#length--;
    item.active = false;
    return item;
  }
}
