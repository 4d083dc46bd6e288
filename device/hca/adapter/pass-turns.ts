// SPDX-License-Identifier: Apache-2.0
/**
 * The turns of a pass: the stages of an adapter work one after the other under one budget, until it
 * is spent or none of them has work. The next pass goes on with the stage at which the budget
 * ended, so shares do not depend on the budget.
 */

/** Serves a stage by its number: does up to `limit` units of work, and returns how many it did. */
export type ServeStage = (stage: number, limit: number) => number;

export class PassTurns {
  /** Turns so far, modulo 2^32, and one more for the end of each pass. */
  given = 0;
  readonly #stages: number;
  readonly #serve: ServeStage;
  /** The stage that has the next turn. */
  #next = 0;

  constructor(stages: number, serve: ServeStage) {
    this.#stages = stages;
    this.#serve = serve;
  }

  /** Returns what is left of the budget. When it is spent, there may be more work. */
  run(budget: number): number {
    const stages = this.#stages;
    let left = budget;
    let idle = 0;
    while (idle < stages && left > 0) {
      this.given = (this.given + 1) | 0;
      const done = this.#serve(this.#next, left);
      if (++this.#next === stages) this.#next = 0;
      left -= done;
      idle = done > 0 ? 0 : idle + 1;
    }
    this.given = (this.given + 1) | 0;
    return left;
  }
}
