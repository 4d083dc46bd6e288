// SPDX-License-Identifier: Apache-2.0
/** Collect pages that several processors share: a page is one processor's from the first word of a command to its last (real-hardware 5.3, hazard 4). */

export class CollectPagePool {
  readonly #free: number[];

  constructor(pages: readonly number[]) {
    this.#free = [...pages];
  }

  /** Writes a command through a free page. False, with nothing written, when there is none: the caller rings the doorbell instead. */
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
