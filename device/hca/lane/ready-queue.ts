// SPDX-License-Identifier: Apache-2.0
/**
 * A FIFO as a ring that doubles when it is full and allocates nothing otherwise. Used for queue
 * pairs with work; a flag of the caller keeps an item from being queued twice.
 */
export class ReadyQueue<T> {
  #ring: (T | undefined)[] = new Array<T | undefined>(16).fill(undefined);
  #head = 0;
  #count = 0;

  get length(): number {
    return this.#count;
  }

  push(item: T): void {
    if (this.#count === this.#ring.length) this.#grow();
    this.#ring[(this.#head + this.#count++) & (this.#ring.length - 1)] = item;
  }

  shift(): T | undefined {
    if (this.#count === 0) return undefined;
    const item = this.#ring[this.#head];
    this.#ring[this.#head] = undefined;
    this.#head = (this.#head + 1) & (this.#ring.length - 1);
    this.#count--;
    return item;
  }

  #grow(): void {
    const old = this.#ring;
    const larger = new Array<T | undefined>(old.length * 2).fill(undefined);
    for (let index = 0; index < this.#count; index++) larger[index] = old[(this.#head + index) & (old.length - 1)];
    this.#ring = larger;
    this.#head = 0;
  }
}
