// SPDX-License-Identifier: Apache-2.0
/**
 * Collect pages that several processors share: one processor owns a page from the first to the last
 * word of a command (docs/HAZARDS.md, hazard 4; US 8,484,392 par. 93-94).
 */

/** The free pages. */
export class CollectPagePool {
  readonly #free: number[];

  constructor(pages: readonly number[]) {
    this.#free = [...pages];
  }

  /** Writes a command through a free page; false if there is none: the caller rings a doorbell. */
  write(store: (page: number) => void): boolean {
    const page = this.take();
    if (page === undefined) return false;
    store(page);
    this.release(page);
    return true;
  }

  protected take(): number | undefined {
    return this.#free.pop();
  }

  protected release(page: number): void {
    this.#free.push(page);
  }
}
