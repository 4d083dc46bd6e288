// SPDX-License-Identifier: Apache-2.0
/**
 * Writes to the collect BAR that wait on the stalled bus of a function (US 9,069,485 par. 74, 84):
 * they are posted writes like doorbells, so they pass none that arrived before them. Nothing is
 * held, and no memory used, until the bus stalls. The PCIe function holds writes, `DoorbellUnit`
 * delivers them.
 */

/** Writes that the bus holds: 512 commands of 64 bytes, written in words of 8 bytes. */
export const HELD_WRITES_MAX = 4096;

/** Takes a write to the collect BAR. */
export type CollectWrite = (offset: number, sizeBytes: number, low: number, high: number) => void;

export class HeldWrites {
  count = 0;
  /** Writes held since power-on. */
  total = 0;
  readonly #deliver: CollectWrite;
  /** By write: offset, size, two dwords. */
  #fields: Int32Array | undefined;
  /** By write: number of arrivals from the bus that were before it. */
  #before: Float64Array | undefined;
  #first = 0;

  constructor(deliver: CollectWrite) {
    this.#deliver = deliver;
  }

  /** Holds a write behind `arrived` arrivals. Returns false when there is no room for it. */
  hold(arrived: number, offset: number, sizeBytes: number, low: number, high: number): boolean {
    if (this.count === HELD_WRITES_MAX) return false;
    this.#fields ??= new Int32Array(HELD_WRITES_MAX * 4);
    this.#before ??= new Float64Array(HELD_WRITES_MAX);
    const at = (this.#first + this.count++) % HELD_WRITES_MAX;
    this.#before[at] = arrived;
    this.#fields[at * 4] = offset;
    this.#fields[at * 4 + 1] = sizeBytes;
    this.#fields[at * 4 + 2] = low;
    this.#fields[at * 4 + 3] = high;
    this.total++;
    return true;
  }

  /** Delivers the first write if `taken` arrivals were all before it. Returns false otherwise. */
  deliver(taken: number): boolean {
    const fields = this.#fields;
    if (this.count === 0 || fields === undefined || (this.#before?.[this.#first] ?? 0) > taken) return false;
    const at = this.#first * 4;
    this.#first = (this.#first + 1) % HELD_WRITES_MAX;
    this.count--;
    this.#deliver(fields[at], fields[at + 1], fields[at + 2], fields[at + 3]);
    return true;
  }

  clear(): void {
    this.count = 0;
    this.total = 0;
  }
}
