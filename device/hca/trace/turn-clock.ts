// SPDX-License-Identifier: Apache-2.0
/**
 * The clock of the host's traces. A reading takes as long as a tenth of a message, and a traced
 * message asks for the time at four of its steps, so steps of one turn of a stage share a reading,
 * unless a timeline shows how long each of them takes. Made by the observer of traces.
 */
import type { TraceClock } from './trace-ring.ts';

/** At most this many steps share a reading: a busy adapter does them in a few microseconds. */
export const SHARED_STEPS = 16;

/** The turns of the stages of an adapter. */
interface Turns {
  /** A number that changes as a turn begins, and at the end of a pass. */
  readonly given: number;
}

export class TurnClock implements TraceClock {
  /** Every step has a reading of its own. */
  isExact = false;
  readonly #turns: Turns;
  readonly #readNs: () => number;
  #nowNs = 0;
  #turn = 0;
  /** Steps that may still share the reading. */
  #left = 0;

  /** `turns`: those of the adapter; `readNs`: adapter time in ns. */
  constructor(turns: Turns, readNs: () => number) {
    this.#turns = turns;
    this.#readNs = readNs;
  }

  /** Time of a step in ns: never before the turn in which it happens. */
  now(): number {
    const { given } = this.#turns;
    if (this.#left === 0 || this.isExact || given !== this.#turn) {
      this.#turn = given;
      this.#left = SHARED_STEPS;
      this.#nowNs = this.#readNs();
    }
    this.#left--;
    return this.#nowNs;
  }
}
