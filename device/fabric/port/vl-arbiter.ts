// SPDX-License-Identifier: Apache-2.0
/**
 * VL arbitration (IBTA 7.6.9): selects the data VL that sends next. There are two tables of {VL,
 * weight}. The high-priority table is served first, but after `highLimit` units of 4096 bytes the
 * low-priority table sends one packet. Within a table, weighted round robin in units of 64 bytes.
 * `transmit-queues.ts` calls it for each packet.
 */

/** One row of a table. The weight is in units of 64 bytes; a row of weight 0 is skipped. */
export interface ArbitrationEntry {
  readonly virtualLane: number;
  readonly weight: number;
}

/** High-priority limit with which no low-priority packet goes before a high-priority one. */
const HIGH_LIMIT_NONE = 255;
const BLOCKS_PER_LIMIT = 64;

/** The arbiter of one port. */
export class VlArbiter {
  highLimit = HIGH_LIMIT_NONE;
  readonly #high = new WeightedTable();
  readonly #low = new WeightedTable();
  /**
   * Blocks that the high-priority table may still send before the low-priority table has its turn.
   */
  #highLeft = Number.POSITIVE_INFINITY;

  constructor(dataVls: number) {
    this.setLow(Array.from({ length: dataVls }, (_, virtualLane) => ({ virtualLane, weight: 1 })));
  }

  setHigh(entries: readonly ArbitrationEntry[], highLimit = this.highLimit): void {
    this.#high.set(entries);
    this.highLimit = highLimit;
    this.#refill();
  }

  setHighLimit(highLimit: number): void {
    this.highLimit = highLimit;
    this.#refill();
  }

  setLow(entries: readonly ArbitrationEntry[]): void {
    this.#low.set(entries);
  }

  /**
   * Returns the VL that sends, of those in the bit mask `ready`, or -1. `blocksOf[vl]` is the size
   * of its next packet, which is charged to the VL. A VL in no table sends when no other can:
   * otherwise it would never send.
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
    // A limit of 0 is one packet: a packet is charged after it was sent.
    this.#highLeft =
      highLimit === HIGH_LIMIT_NONE ? Number.POSITIVE_INFINITY : Math.max(1, highLimit * BLOCKS_PER_LIMIT);
  }
}

/** One table with its weighted round robin. */
class WeightedTable {
  #virtualLanes = new Uint8Array(0);
  #weights = new Uint8Array(0);
  #at = 0;
  /** Units that the row at `#at` may still send; the last packet may overdraw them. */
  #left = 0;

  set(entries: readonly ArbitrationEntry[]): void {
    const kept = entries.filter(({ weight }) => weight > 0);
    this.#virtualLanes = Uint8Array.from(kept, ({ virtualLane }) => virtualLane);
    this.#weights = Uint8Array.from(kept, ({ weight }) => weight);
    this.#at = 0;
    this.#left = this.#weights[0] ?? 0;
  }

  /** Returns the row to serve next, or -1. */
  find(ready: number): number {
    const count = this.#virtualLanes.length;
    const first = this.#left > 0 ? 0 : 1;
    for (let step = first; step < count + first; step++) {
      const row = (this.#at + step) % count;
      if ((ready >>> this.#virtualLanes[row]) & 1) return row;
    }
    return -1;
  }

  /** Charges the next packet of the row and returns the row's VL. */
  serve(row: number, blocksOf: Uint16Array): number {
    if (row !== this.#at || this.#left <= 0) this.#left = this.#weights[row];
    this.#at = row;
    const vl = this.#virtualLanes[row];
    this.#left -= blocksOf[vl];
    return vl;
  }
}
