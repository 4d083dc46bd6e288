// SPDX-License-Identifier: Apache-2.0
/**
 * Times of the completions of a moderated CQ, so that moderation can count from the first one that
 * software has not seen (docs/FEATURES.md, Moderation and polling). It keeps one mark for all
 * completions within a 64th of the period, and the marks of one period: an older completion has
 * waited long enough, however old it is.
 */

const PARTS = 64;
/** One more than the parts of a period: the oldest mark is then a whole period old. */
const MARKS = PARTS + 1;

export class CompletionTimes {
  /** Times of the marks, in ns. */
  readonly ns = new Float64Array(MARKS);
  /** By mark: count of the first completion that it stands for. */
  readonly #counts = new Uint32Array(MARKS);
  #used = 0;
  #newest = MARKS - 1;

  /** Notes that the completion with this count, the next one, is posted at `nowNs`. */
  note(count: number, nowNs: number, periodNs: number): void {
    if (this.#used > 0 && nowNs - this.ns[this.#newest] < periodNs / PARTS) return;
    this.#newest = (this.#newest + 1) % MARKS;
    if (this.#used < MARKS) this.#used++;
    this.#counts[this.#newest] = count;
    this.ns[this.#newest] = nowNs;
  }

  /** Returns the mark of the completion with this count, or -1 if it is too old to have one. */
  find(count: number): number {
    for (let age = 0; age < this.#used; age++) {
      const mark = (this.#newest + MARKS - age) % MARKS;
      if (((count - this.#counts[mark]) | 0) >= 0) return mark;
    }
    return -1;
  }
}
