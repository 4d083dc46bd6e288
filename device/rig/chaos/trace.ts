// SPDX-License-Identifier: Apache-2.0
/**
 * The log of a chaos or sanitizer run: a hash over all lines, so that two runs can be compared, and
 * on request the lines themselves (`--replay`).
 */

const OFFSET = 0x811c9dc5;
const PRIME = 0x01000193;

/** A log and its hash. */
export class Trace {
  readonly lines: string[] = [];
  readonly #keep: boolean;
  #hash = OFFSET;
  #count = 0;

  constructor(keep: boolean) {
    this.#keep = keep;
  }

  /** Hash over all lines, and their number. */
  get digest(): string {
    return `${(this.#hash >>> 0).toString(16).padStart(8, '0')}-${this.#count}`;
  }

  /** Adds a line: an event at `timeNs`, with numbers. */
  add(timeNs: number, what: string, a = 0, b = 0, c = 0): void {
    this.#count++;
    this.#mix(timeNs);
    for (let index = 0; index < what.length; index++) this.#mix(what.charCodeAt(index));
    this.#mix(a);
    this.#mix(b);
    this.#mix(c);
    if (this.#keep) this.lines.push(`${(timeNs / 1000).toFixed(3)} us  ${what} ${a} ${b} ${c}`);
  }

  #mix(value: number): void {
    this.#hash = Math.imul(this.#hash ^ (value | 0), PRIME);
    this.#hash ^= this.#hash >>> 15;
  }
}
