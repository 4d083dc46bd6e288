// SPDX-License-Identifier: Apache-2.0
/**
 * Objects of one class by their 24-bit number (IBTA 10.2). A number is an index and a generation,
 * so the number of a destroyed object does not soon mean another one. Freed indices are reused
 * oldest first. Every function has the same quota of indices, in a range of its own: none can
 * exhaust those of another, and the numbers that it gets do not tell what others have.
 * `queues/object-tables.ts` makes one table for each kind of object.
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
  /** Without gaps, for iteration; an index gets its slot when it is first used. */
  readonly #slots: (T | undefined)[] = [];
  /** By index, from the first one on; the slot is -1 before the first use. */
  readonly #slotOf: Int32Array;
  readonly #generations: Uint8Array;
  /** By function: freed indices, oldest first, and indices that were used at least once. */
  readonly #free: number[][];
  readonly #used: Int32Array;
  /** Number of objects of each function. */
  readonly #owned: Int32Array;
  readonly #firstIndex: number;
  readonly #onRemove: (object: T) => void;
  #count = 0;

  /** Most objects that one function may have. */
  readonly quota: number;

  /**
   * `firstIndex` is the lowest slot index: reserved numbers below it (0; QP0 and QP1) are never
   * given. `onRemove`: gives back what the object held.
   */
  constructor(capacity: number, firstIndex: number, functionCount: number, onRemove: (object: T) => void = () => {}) {
    this.#onRemove = onRemove;
    this.quota = Math.floor(capacity / functionCount);
    this.#owned = new Int32Array(functionCount);
    this.#used = new Int32Array(functionCount);
    this.#free = Array.from({ length: functionCount }, () => []);
    this.#firstIndex = firstIndex;
    this.#slotOf = new Int32Array(capacity).fill(-1);
    this.#generations = new Uint8Array(capacity);
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
    const place = this.#takePlace(owner.number);
    this.#owned[owner.number]++;
    const object = build((this.#generations[place] << INDEX_BITS) | (this.#firstIndex + place));
    this.#slots[this.#slotOf[place]] = object;
    this.#count++;
    return object;
  }

  /**
   * The object with exactly this number, generation included. No field of it is read: V8 looks a
   * field up by name where classes of all tables meet.
   */
  get(number: number): T | undefined {
    const index = number & INDEX_MASK;
    const place = index - this.#firstIndex;
    const slot = this.#slotOf[place];
    if (slot === undefined || slot < 0) return undefined;
    return number === ((this.#generations[place] << INDEX_BITS) | index) ? this.#slots[slot] : undefined;
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
    const place = (object.number & INDEX_MASK) - this.#firstIndex;
    if (this.get(object.number) !== object) return;
    this.#slots[this.#slotOf[place]] = undefined;
    this.#generations[place] = (this.#generations[place] + 1) & GENERATION_MASK;
    this.#free[object.owner.number].push(place);
    this.#owned[object.owner.number]--;
    this.#count--;
    this.#onRemove(object);
  }

  /** The objects in slot order. A caller may remove the one that it has. */
  *values(): IterableIterator<T> {
    for (const object of this.#slots) if (object !== undefined) yield object;
  }

  /** Calls `visit` for each object in slot order. `visit` may remove objects. */
  forEach(visit: (object: T) => void): void {
    for (const object of this.#slots) if (object !== undefined) visit(object);
  }

  /** A place in the range of a function, which has not reached its quota. */
  #takePlace(functionNumber: number): number {
    // Fresh indices first: that of a destroyed object rests as long as possible.
    if (this.#used[functionNumber] === this.quota) return this.#free[functionNumber].shift() as number;
    const place = functionNumber * this.quota + this.#used[functionNumber]++;
    this.#slotOf[place] = this.#slots.push(undefined) - 1;
    return place;
  }
}
