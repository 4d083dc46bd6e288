// SPDX-License-Identifier: Apache-2.0
/**
 * VL arbitration (IBTA 7.6.9): which data lane sends next. Two tables of {lane, weight}: entries of the high-priority one are served first, but after
 * `highLimit` units of 4096 bytes the low-priority one gets a packet through. Within a table weighted round robin in units of 64 bytes.
 */

/** One row of a table; weight in units of 64 bytes, 0: the row is skipped. */
export interface ArbitrationEntry {
  readonly virtualLane: number;
  readonly weight: number;
}

/** High-priority limit that never lets a low-priority packet go first. */
export const HIGH_LIMIT_NONE = 255;
const BLOCKS_PER_LIMIT = 64;

export class VlArbiter {
  highLimit = HIGH_LIMIT_NONE;
  readonly #high = new WeightedTable();
  readonly #low = new WeightedTable();
  /** Blocks the high-priority table may still send before the low-priority one has its turn. */
  #highLeft = Number.POSITIVE_INFINITY;

  constructor(dataLanes: number) {
    this.setLow(Array.from({ length: dataLanes }, (_, virtualLane) => ({ virtualLane, weight: 1 })));
  }

  setHigh(entries: readonly ArbitrationEntry[], highLimit = this.highLimit): void {
    this.#high.set(entries);
    this.highLimit = highLimit;
    this.#refill();
  }

  setLow(entries: readonly ArbitrationEntry[]): void {
    this.#low.set(entries);
  }

  /**
   * The lane that sends, of those in the bit mask `ready`, or -1. `blocksOf[lane]`: size of its next packet, which is charged to the lane. A lane that
   * no table names sends when nothing else can: it would otherwise never.
   */
  pick(ready: number, blocksOf: Uint16Array): number {
    if (ready === 0) return -1;
    const high = this.#high.find(ready);
    if (high >= 0 && (this.#highLeft > 0 || this.#low.find(ready) < 0)) {
      const vl = this.#high.serve(high, blocksOf);
      this.#highLeft -= blocksOf[vl];
      return vl;
    }
    this.#refill();
    const low = this.#low.find(ready);
    if (low >= 0) return this.#low.serve(low, blocksOf);
    return 31 - Math.clz32(ready & -ready);
  }

  #refill(): void {
    const { highLimit } = this;
    // A limit of 0 is one packet: it is charged after it was sent.
    this.#highLeft =
      highLimit === HIGH_LIMIT_NONE ? Number.POSITIVE_INFINITY : Math.max(1, highLimit * BLOCKS_PER_LIMIT);
  }
}

class WeightedTable {
  #virtualLanes = new Uint8Array(0);
  #weights = new Uint8Array(0);
  #at = 0;
  /** Units the row at `#at` may still send; the last packet may overdraw it. */
  #left = 0;

  set(entries: readonly ArbitrationEntry[]): void {
    const kept = entries.filter(({ weight }) => weight > 0);
    this.#virtualLanes = Uint8Array.from(kept, ({ virtualLane }) => virtualLane);
    this.#weights = Uint8Array.from(kept, ({ weight }) => weight);
    this.#at = 0;
    this.#left = this.#weights[0] ?? 0;
  }

  /** The row that is served next, or -1. */
  find(ready: number): number {
    const count = this.#virtualLanes.length;
    const first = this.#left > 0 ? 0 : 1;
    for (let step = first; step < count + first; step++) {
      const row = (this.#at + step) % count;
      if ((ready >>> this.#virtualLanes[row]) & 1) return row;
    }
    return -1;
  }

  serve(row: number, blocksOf: Uint16Array): number {
    if (row !== this.#at || this.#left <= 0) this.#left = this.#weights[row];
    this.#at = row;
    const vl = this.#virtualLanes[row];
    this.#left -= blocksOf[vl];
    return vl;
  }
}
