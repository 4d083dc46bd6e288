// SPDX-License-Identifier: Apache-2.0
/**
 * Packets in flight in one direction of a faulty link: copies in a fixed pool of slots, queued in
 * order of landing. The few reordered packets are held beside the queue so that others overtake
 * them.
 */
import { PACKET_SLOT_BYTES } from '../port/packet-ring.ts';

const NONE = -1;

/** A queue of at most `capacity` packets. */
export class FlightQueue {
  readonly capacity: number;
  /**
   * Of each slot: packet, length, virtual lane, time of landing, and number of packets that may
   * still overtake it.
   */
  readonly bytes: readonly Uint8Array[];
  readonly views: readonly DataView[];
  readonly lengths: Uint16Array;
  readonly virtualLanes: Uint8Array;
  readonly landNs: Float64Array;
  readonly overtakers: Uint8Array;
  readonly #free: Uint16Array;
  readonly #order: Uint16Array;
  readonly #held: Uint16Array;
  #freeCount: number;
  #head = 0;
  #count = 0;
  #heldCount = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.bytes = Array.from({ length: capacity }, () => new Uint8Array(PACKET_SLOT_BYTES));
    this.views = this.bytes.map(({ buffer }) => new DataView(buffer));
    this.lengths = new Uint16Array(capacity);
    this.virtualLanes = new Uint8Array(capacity);
    this.landNs = new Float64Array(capacity);
    this.overtakers = new Uint8Array(capacity);
    this.#free = Uint16Array.from({ length: capacity }, (_, index) => index);
    this.#order = new Uint16Array(capacity);
    this.#held = new Uint16Array(capacity);
    this.#freeCount = capacity;
  }

  get full(): boolean {
    return this.#freeCount === 0;
  }

  get count(): number {
    return this.capacity - this.#freeCount;
  }

  /**
   * Takes a slot for a new last packet; only while not full. It lands no earlier than the packet
   * before it.
   */
  add(landNs: number): number {
    const slot = this.#free[--this.#freeCount];
    this.#order[(this.#head + this.#count++) % this.capacity] = slot;
    this.landNs[slot] = landNs;
    return slot;
  }

  /**
   * Time at which the first packet lands or a held one has waited long enough; Infinity when empty.
   */
  get nextNs(): number {
    const first = this.#count === 0 ? Number.POSITIVE_INFINITY : this.landNs[this.#order[this.#head]];
    const held = this.#earliestHeld();
    return held === NONE ? first : Math.min(first, this.landNs[this.#held[held]]);
  }

  /** As `nextNs <= nowNs`, but no time is returned, for which V8 would allocate an object. */
  isDue(nowNs: number): boolean {
    if (this.#count > 0 && this.landNs[this.#order[this.#head]] <= nowNs) return true;
    const held = this.#earliestHeld();
    return held !== NONE && this.landNs[this.#held[held]] <= nowNs;
  }

  /**
   * Takes the slot that lands next, at `nextNs`. It stays in use until `release`. Only while not
   * empty.
   */
  take(): number {
    const held = this.#earliestHeld();
    const first = this.#order[this.#head];
    if (held !== NONE && (this.#count === 0 || this.landNs[this.#held[held]] <= this.landNs[first]))
      return this.#unhold(held);
    this.#head = (this.#head + 1) % this.capacity;
    this.#count--;
    return first;
  }

  /** Holds a taken slot until its number of packets has overtaken it, at most for `mostNs`. */
  hold(slot: number, mostNs: number): void {
    this.landNs[slot] += mostNs;
    this.#held[this.#heldCount++] = slot;
  }

  /**
   * A packet has landed and, if `counts`, has overtaken all held ones. Returns a slot that must
   * land now, or -1; to be called again with false until -1.
   */
  overtake(counts: boolean): number {
    let due = NONE;
    for (let index = 0; index < this.#heldCount; index++) {
      const slot = this.#held[index];
      if (counts) this.overtakers[slot]--;
      if (due === NONE && this.overtakers[slot] === 0) due = index;
    }
    if (due === NONE) return NONE;
    // It overtakes the packets that were held before it.
    for (let index = 0; index < due; index++) this.overtakers[this.#held[index]]--;
    return this.#unhold(due);
  }

  /** Returns a taken slot to the pool. */
  release(slot: number): void {
    this.#free[this.#freeCount++] = slot;
  }

  #earliestHeld(): number {
    let earliest = NONE;
    for (let index = 0; index < this.#heldCount; index++) {
      if (earliest === NONE || this.landNs[this.#held[index]] < this.landNs[this.#held[earliest]]) earliest = index;
    }
    return earliest;
  }

  #unhold(index: number): number {
    const slot = this.#held[index];
    this.overtakers[slot] = 0;
    this.#heldCount--;
    for (let at = index; at < this.#heldCount; at++) this.#held[at] = this.#held[at + 1];
    return slot;
  }
}
