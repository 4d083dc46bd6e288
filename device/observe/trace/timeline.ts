// SPDX-License-Identifier: Apache-2.0
/**
 * What the units of an adapter do besides sending packets, as a list of steps with their times: binding a collect buffer, a kick, a doorbell that is spilled, a launch, an
 * interrupt. The host switches it on (`vuhca trace on --timeline`); without it every hook is one test of `undefined`. It holds numbers only, in memory of fixed size, and
 * overwrites the oldest. Its clock is the host's own, so that a recording does not notice it.
 */

/** Steps: what `object`, `a` and `b` are stands behind each. */
export const Step = {
  /** VCB, PCB. */
  BIND: 0,
  /** Page: no PCB was free. */
  REFUSE: 1,
  /** QP, sequence number, VCB: a command is whole. */
  KICK: 2,
  /** QP, sequence number. */
  DOORBELL: 3,
  /** QP, sequence number: written to the overflow buffer. */
  SPILL: 4,
  /** QP, sequence number: read back. */
  DRAIN: 5,
  /** QP, sequence number: read from the send queue. */
  FETCH: 6,
  /** QP, sequence number, lane. */
  LAUNCH: 7,
  /** Lane: a command gave back its execution credit. */
  RELEASE_EXECUTION: 8,
  /** Lane: a command gave back its completion credit. */
  RELEASE_COMPLETION: 9,
  /** QP, sequence number, CQ: a send completed. */
  SEND_COMPLETION: 10,
  /** QP, entry number, CQ: a receive completed. */
  RECEIVE_COMPLETION: 11,
  /** EQ, event type, object. */
  EQE: 12,
  /** Vector. */
  INTERRUPT: 13,
  /** Send context, absolute count of freed blocks. */
  CREDIT_RETURN: 14,
} as const;
export type Step = (typeof Step)[keyof typeof Step];

/** One step. */
export interface TimelineStep {
  readonly index: number;
  readonly timeNs: number;
  readonly step: Step;
  readonly functionNumber: number;
  readonly object: number;
  readonly a: number;
  readonly b: number;
}

const FIELDS = 4;
const names = new Map<number, string>(
  Object.entries(Step).map(([name, step]) => [step, name.toLowerCase().replaceAll('_', ' ')]),
);

/** A step as words, e.g. `send completion`. */
export function stepName(step: number): string {
  return names.get(step) ?? `step ${step}`;
}

/** What the hooks of the units call. */
export interface Timeline {
  note(step: Step, functionNumber: number, object: number, a?: number, b?: number): void;
}

export class TimelineRing implements Timeline {
  /** Steps noted so far. */
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

  /** Oldest step still there. */
  get tail(): number {
    return Math.max(0, this.head - this.capacity);
  }

  note(step: Step, functionNumber: number, object: number, a = 0, b = 0): void {
    const slot = this.head++ & this.#mask;
    this.#times[slot] = this.#nowNs();
    this.#kinds[slot] = step;
    this.#numbers[slot * FIELDS] = functionNumber;
    this.#numbers[slot * FIELDS + 1] = object;
    this.#numbers[slot * FIELDS + 2] = a;
    this.#numbers[slot * FIELDS + 3] = b;
  }

  /** Up to `limit` steps from `position` on, oldest first. */
  read(position: number, limit: number): TimelineStep[] {
    const first = Math.min(Math.max(position, this.tail), this.head);
    const count = Math.min(limit, this.head - first);
    return Array.from({ length: count }, (_, place) => this.#at(first + place));
  }

  #at(index: number): TimelineStep {
    const slot = index & this.#mask;
    const [functionNumber, object, a, b] = this.#numbers.subarray(slot * FIELDS, (slot + 1) * FIELDS);
    return { index, timeNs: this.#times[slot], step: this.#kinds[slot] as Step, functionNumber, object, a, b };
  }
}
