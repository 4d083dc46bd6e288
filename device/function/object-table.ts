// SPDX-License-Identifier: Apache-2.0
/**
 * Objects of one class by their 24-bit number. A number is a slot index and a generation, so that the number of a destroyed object
 * does not soon mean another one. Freed slots are reused oldest first. Every function may have the same share of the slots, so that none can take
 * another's.
 */

const INDEX_BITS = 16;
const INDEX_MASK = (1 << INDEX_BITS) - 1;
const GENERATION_MASK = 0xff;

interface TableObject {
  readonly number: number;
  readonly owner: { readonly number: number };
}

export class ObjectTable<T extends TableObject> {
  readonly #slots: (T | undefined)[] = [];
  readonly #generations: Uint8Array;
  readonly #free: number[] = [];
  readonly #capacity: number;
  /** Objects of each function. */
  readonly #owned: Int32Array;
  readonly #firstIndex: number;
  #nextFresh: number;
  #count = 0;

  /** Objects each function may have. */
  readonly quota: number;

  /** `firstIndex`: lowest slot, so that reserved numbers (0; QP0 and QP1) are never given. */
  constructor(capacity: number, firstIndex: number, functionCount: number) {
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

  /** Builds an object of `owner` under a new number; undefined when the function has its share. */
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

  /** The object with exactly this number. */
  get(number: number): T | undefined {
    const place = (number & INDEX_MASK) - this.#firstIndex;
    const object = place < 0 ? undefined : this.#slots[place];
    return object !== undefined && object.number === number ? object : undefined;
  }

  /** Slots there are to go through one by one with `at`. */
  get slotCount(): number {
    return this.#slots.length;
  }

  /** The object in a slot, if any. */
  at(slot: number): T | undefined {
    return this.#slots[slot];
  }

  remove(object: T): void {
    const index = object.number & INDEX_MASK;
    if (this.get(object.number) !== object) return;
    this.#slots[index - this.#firstIndex] = undefined;
    this.#generations[index] = (this.#generations[index] + 1) & GENERATION_MASK;
    this.#free.push(index);
    this.#owned[object.owner.number]--;
    this.#count--;
  }

  /** Calls `visit` for each object, in the order of slots; objects may be removed meanwhile. */
  forEach(visit: (object: T) => void): void {
    for (const object of this.#slots) if (object !== undefined) visit(object);
  }

  #takeSlot(): number | undefined {
    if (this.#nextFresh < this.#firstIndex + this.#capacity) {
      // Fresh slots first: a destroyed object's slot rests as long as possible.
      this.#slots.push(undefined);
      return this.#nextFresh++;
    }
    return this.#free.shift();
  }
}
