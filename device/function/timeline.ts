// SPDX-License-Identifier: Apache-2.0
/**
 * Timeline of an adapter: a ring of the steps of its units other than packets, with their times.
 * Steps are, for example, the bind of a collect buffer, a kick, a spilled doorbell, a launch, an
 * interrupt. The host switches it on (`vuhca trace on --timeline`); otherwise every hook of a unit
 * is one test of `undefined`. The ring holds numbers only, has a fixed size, and overwrites its
 * oldest step. Its clock is the host's own, so a recording does not notice it.
 */

/** Kinds of steps. `stepFields` names the numbers of each. */
export const Step = {
  /** A VCB was bound to a PCB. */
  BIND: 0,
  /** No PCB was free for a collect page. */
  REFUSE: 1,
  /** A command in a collect buffer is complete. */
  KICK: 2,
  DOORBELL: 3,
  /** A doorbell was written to the overflow buffer. */
  SPILL: 4,
  /** A doorbell was read back from the overflow buffer. */
  DRAIN: 5,
  /** A command was read from the send queue. */
  FETCH: 6,
  LAUNCH: 7,
  /** A command released its execution credit. */
  RELEASE_EXECUTION: 8,
  /** A command released its completion credit. */
  RELEASE_COMPLETION: 9,
  SEND_COMPLETION: 10,
  RECEIVE_COMPLETION: 11,
  EQE: 12,
  INTERRUPT: 13,
  /** A send context returned its count of freed blocks. */
  CREDIT_RETURN: 14,
} as const;
export type Step = (typeof Step)[keyof typeof Step];

/** One step, as `TimelineRing.read` returns it. */
export interface TimelineStep {
  readonly index: number;
  readonly timeNs: number;
  readonly step: Step;
  readonly functionNumber: number;
  readonly object: number;
  readonly a: number;
  readonly b: number;
}

/** Names of `object`, `a` and `b` of each step. */
const stepFields: Readonly<Record<Step, readonly [string, string?, string?]>> = {
  [Step.BIND]: ['vcb', 'pcb'],
  [Step.REFUSE]: ['page'],
  [Step.KICK]: ['qp', 'sequence', 'vcb'],
  [Step.DOORBELL]: ['qp', 'sequence'],
  [Step.SPILL]: ['qp', 'sequence'],
  [Step.DRAIN]: ['qp', 'sequence'],
  [Step.FETCH]: ['qp', 'sequence'],
  [Step.LAUNCH]: ['qp', 'sequence', 'lane'],
  [Step.RELEASE_EXECUTION]: ['lane'],
  [Step.RELEASE_COMPLETION]: ['lane'],
  [Step.SEND_COMPLETION]: ['qp', 'sequence', 'cq'],
  [Step.RECEIVE_COMPLETION]: ['qp', 'entry', 'cq'],
  [Step.EQE]: ['eq', 'event', 'object'],
  [Step.INTERRUPT]: ['vector'],
  [Step.CREDIT_RETURN]: ['context', 'freed'],
};

const FIELDS = 4;
const names = new Map<number, string>(
  Object.entries(Step).map(([name, step]) => [step, name.toLowerCase().replaceAll('_', ' ')]),
);

/** The name of a step in words, e.g. `send completion`. */
export function stepName(step: number): string {
  return names.get(step) ?? `step ${step}`;
}

/** The numbers of a step by name, e.g. `{ qp: 2, sequence: 0, lane: 5 }`. */
export function nameStepNumbers({ step, object, a, b }: TimelineStep): Record<string, number> {
  const names = stepFields[step];
  return Object.fromEntries([object, a, b].flatMap((value, place) => (names[place] ? [[names[place], value]] : [])));
}

/** Receives the steps of the units. */
export interface Timeline {
  note(step: Step, functionNumber: number, object: number, a?: number, b?: number): void;
}

/** The function of a unit, with the timeline that takes the unit's steps. */
export interface TimelineOwner {
  readonly number: number;
  readonly timeline: Timeline | undefined;
}

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

  note(step: Step, functionNumber: number, object: number, a = 0, b = 0): void {
    const slot = this.head++ & this.#mask;
    this.#times[slot] = this.#nowNs();
    this.#kinds[slot] = step;
    this.#numbers[slot * FIELDS] = functionNumber;
    this.#numbers[slot * FIELDS + 1] = object;
    this.#numbers[slot * FIELDS + 2] = a;
    this.#numbers[slot * FIELDS + 3] = b;
  }

  /** Returns up to `limit` steps from index `position` on, oldest first. */
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
