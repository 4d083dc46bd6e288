// SPDX-License-Identifier: Apache-2.0
/**
 * Objects of one class by their 24-bit number (IBTA 10.2). A number is a slot index and a
 * generation, so the number of a destroyed object does not soon mean another one. Freed slots are
 * reused oldest first. Every function has the same quota of slots, so none can exhaust the slots of
 * another. `queues/object-tables.ts` makes one table for each kind of object.
 */

const INDEX_BITS = 16;
const INDEX_MASK = (1 << INDEX_BITS) - 1;
const GENERATION_MASK = 0xff;

/** An object in a table: its number and the function that owns it. */
interface TableObject {
  readonly number: number;
  readonly owner: { readonly number: number };
}

export class ObjectTable<T extends TableObject> {
  readonly #slots: (T | undefined)[] = [];
  readonly #generations: Uint8Array;
  readonly #free: number[] = [];
  readonly #capacity: number;
  /** Number of objects of each function. */
  readonly #owned: Int32Array;
  readonly #firstIndex: number;
  readonly #onRemove: (object: T) => void;
  #nextFresh: number;
  #count = 0;

  /** Most objects that one function may have. */
  readonly quota: number;

  /**
   * `firstIndex` is the lowest slot index: reserved numbers below it (0; QP0 and QP1) are never
   * given. `onRemove`: gives back what the object held.
   */
  constructor(capacity: number, firstIndex: number, functionCount: number, onRemove: (object: T) => void = () => {}) {
    this.#onRemove = onRemove;
    this.#capacity = capacity;
    this.quota = Math.floor(capacity / functionCount);
    this.#owned = new Int32Array(functionCount);
    this.#firstIndex = firstIndex;
    this.#nextFresh = firstIndex;
    this.#generations = new Uint8Array(firstIndex + capacity);
  }

  get size(): number {
    return this.#count;
  }

  /**
   * Builds an object of `owner` under a new number. Returns undefined when the function has reached
   * its quota.
   */
  add(owner: { readonly number: number }, build: (number: number) => T): T | undefined {
    if (this.#owned[owner.number] >= this.quota) return undefined;
    const index = this.#takeSlot();
    if (index === undefined) return undefined;
    this.#owned[owner.number]++;
    const object = build((this.#generations[index] << INDEX_BITS) | index);
    this.#slots[index - this.#firstIndex] = object;
    this.#count++;
    return object;
  }

  /** The object with exactly this number, generation included. */
  get(number: number): T | undefined {
    const place = (number & INDEX_MASK) - this.#firstIndex;
    const object = place < 0 ? undefined : this.#slots[place];
    return object !== undefined && object.number === number ? object : undefined;
  }

  /** Number of slots, for iteration with `at`. */
  get slotCount(): number {
    return this.#slots.length;
  }

  /** The object in a slot, if any. */
  at(slot: number): T | undefined {
    return this.#slots[slot];
  }

  /** Removes an object; does nothing when the table does not hold it. */
  remove(object: T): void {
    const index = object.number & INDEX_MASK;
    if (this.get(object.number) !== object) return;
    this.#slots[index - this.#firstIndex] = undefined;
    this.#generations[index] = (this.#generations[index] + 1) & GENERATION_MASK;
    this.#free.push(index);
    this.#owned[object.owner.number]--;
    this.#count--;
    this.#onRemove(object);
  }

  /** Calls `visit` for each object in slot order. `visit` may remove objects. */
  forEach(visit: (object: T) => void): void {
    for (const object of this.#slots) if (object !== undefined) visit(object);
  }

  #takeSlot(): number | undefined {
    if (this.#nextFresh < this.#firstIndex + this.#capacity) {
      // Fresh slots first: the slot of a destroyed object rests as long as possible.
      this.#slots.push(undefined);
      return this.#nextFresh++;
    }
    return this.#free.shift();
  }
}
