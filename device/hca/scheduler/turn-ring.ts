// SPDX-License-Identifier: Apache-2.0
/**
 * A ring of fixed capacity for items that take turns, each in the ring at most once. An empty list
 * costs nothing per turn. Used by the send queue scheduler for doorbell units and lists.
 */
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

  /** Appends an item. No effect when it is in the ring. */
  add(item: T): void {
    if (item.active) return;
    item.active = true;
    this.#items[(this.#head + this.#length++) % this.#items.length] = item;
  }

  /** Puts an item whose turn was refused in front of all others. */
  restore(item: T): void {
    if (item.active) return;
    item.active = true;
    this.#head = (this.#head + this.#items.length - 1) % this.#items.length;
    this.#items[this.#head] = item;
    this.#length++;
  }

  /** Removes and returns the first item. The ring must not be empty. */
  take(): T {
    const item = this.#items[this.#head] as T;
    this.#items[this.#head] = undefined;
    this.#head = (this.#head + 1) % this.#items.length;
    this.#length--;
    item.active = false;
    return item;
  }
}
