// SPDX-License-Identifier: Apache-2.0
/**
 * The ring in which a host keeps the timeline of an adapter (timeline.ts). It holds numbers only,
 * has a fixed size, and overwrites its oldest step. Made by the observer of traces and by tests.
 */
import type { Step, Timeline, TimelineStep } from './timeline.ts';

const FIELDS = 7;

/** A timeline of 2^`capacityLog2` steps; the host makes and reads it. */
export class TimelineRing implements Timeline {
  /** Number of steps noted so far. */
  head = 0;
  readonly capacity: number;
  readonly #nowNs: () => number;
  readonly #mask: number;
  readonly #times: Float64Array;
  readonly #kinds: Uint16Array;
  readonly #numbers: Uint32Array;

  constructor(capacityLog2: number, nowNs: () => number) {
    this.capacity = 2 ** capacityLog2;
    this.#nowNs = nowNs;
    this.#mask = this.capacity - 1;
    this.#times = new Float64Array(this.capacity);
    this.#kinds = new Uint16Array(this.capacity);
    this.#numbers = new Uint32Array(this.capacity * FIELDS);
  }

  /** Index of the oldest step in the ring. */
  get tail(): number {
    return Math.max(0, this.head - this.capacity);
  }

  note(step: Step, functionNumber: number, object: number, a = 0, b = 0, c = 0, d = 0, e = 0): void {
    const slot = this.head++ & this.#mask;
    this.#times[slot] = this.#nowNs();
    this.#kinds[slot] = step;
    this.#numbers[slot * FIELDS] = functionNumber;
    this.#numbers[slot * FIELDS + 1] = object;
    this.#numbers[slot * FIELDS + 2] = a;
    this.#numbers[slot * FIELDS + 3] = b;
    this.#numbers[slot * FIELDS + 4] = c;
    this.#numbers[slot * FIELDS + 5] = d;
    this.#numbers[slot * FIELDS + 6] = e;
  }

  /** Whether a step of one of these kinds is in the ring from index `position` on. */
  hasNoted(kinds: readonly Step[], position: number): boolean {
    for (let index = Math.max(position, this.tail); index < this.head; index++)
      if (kinds.includes(this.#kinds[index & this.#mask] as Step)) return true;
    return false;
  }

  /** Returns up to `limit` steps from index `position` on, oldest first. */
  read(position: number, limit: number): TimelineStep[] {
    const first = Math.min(Math.max(position, this.tail), this.head);
    const count = Math.min(limit, this.head - first);
    return Array.from({ length: count }, (_, place) => this.#at(first + place));
  }

  #at(index: number): TimelineStep {
    const slot = index & this.#mask;
    const [functionNumber, object, a, b, c, d, e] = this.#numbers.subarray(slot * FIELDS, (slot + 1) * FIELDS);
    const timeNs = this.#times[slot];
    return { index, timeNs, step: this.#kinds[slot] as Step, functionNumber, object, a, b, c, d, e };
  }
}
