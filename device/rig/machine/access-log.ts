// SPDX-License-Identifier: Apache-2.0
/**
 * The log of an adapter's accesses to its host, in order: memory reads and writes, the two stores
 * of a publication, interrupts. Tests check that an entry is visible before its interrupt, and that
 * nothing is written after a reset. A ring of typed arrays: recording allocates nothing.
 */
import type { BusAddress } from '../../host.ts';

/**
 * Kinds of access. `body` and `validity` are the two stores of a publication; a `denied` access had
 * no effect.
 */
export const AccessKind = {
  READ: 1,
  WRITE: 2,
  BODY: 3,
  VALIDITY: 4,
  VECTOR: 5,
  DENIED_READ: 6,
  DENIED_WRITE: 7,
  DENIED_VECTOR: 8,
  SWAP: 9,
} as const;
export type AccessKind = (typeof AccessKind)[keyof typeof AccessKind];

/** One access; `address` of an interrupt is its vector. */
interface Access {
  readonly order: number;
  readonly kind: AccessKind;
  readonly address: number;
  readonly lengthBytes: number;
}

/** A ring of the latest accesses. */
export class AccessLog {
  readonly #kinds: Uint8Array;
  readonly #addresses: Float64Array;
  readonly #lengths: Uint32Array;
  readonly #mask: number;
  #count = 0;

  constructor(capacityLog2 = 12) {
    const capacity = 1 << capacityLog2;
    this.#kinds = new Uint8Array(capacity);
    this.#addresses = new Float64Array(capacity);
    this.#lengths = new Uint32Array(capacity);
    this.#mask = capacity - 1;
  }

  /** Number of accesses so far: a mark for `since`. */
  get count(): number {
    return this.#count;
  }

  /** Adds an access to memory. */
  record(kind: AccessKind, at: BusAddress, lengthBytes: number): void {
    const slot = this.#count++ & this.#mask;
    this.#kinds[slot] = kind;
    this.#addresses[slot] = at.value;
    this.#lengths[slot] = lengthBytes;
  }

  /** Adds an interrupt. */
  recordVector(kind: AccessKind, vector: number): void {
    const slot = this.#count++ & this.#mask;
    this.#kinds[slot] = kind;
    this.#addresses[slot] = vector;
    this.#lengths[slot] = 0;
  }

  /** Accesses from `mark` on, oldest first; throws if the ring has lost some of them. */
  since(mark: number): Access[] {
    if (this.#count - mark > this.#mask + 1) {
      throw new Error(`AccessLog.since(${mark}): ${this.#count - mark} accesses, the ring holds ${this.#mask + 1}.`);
    }
    const list: Access[] = [];
    for (let order = mark; order < this.#count; order++) {
      const slot = order & this.#mask;
      const kind = this.#kinds[slot] as AccessKind;
      list.push({ order, kind, address: this.#addresses[slot] ?? 0, lengthBytes: this.#lengths[slot] ?? 0 });
    }
    return list;
  }

  /** Stores and interrupts from `mark` on. */
  effectsSince(mark: number): Access[] {
    return this.since(mark).filter(({ kind }) => kind !== AccessKind.READ && kind < AccessKind.DENIED_READ);
  }
}
