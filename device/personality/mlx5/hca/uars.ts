// SPDX-License-Identifier: Apache-2.0
/** Pages of user access regions: which are in use. A number is that of the page in BAR 0. */
import { BAR_BYTES, FIRST_UAR, UAR_PAGE_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';

const UAR_END = BAR_BYTES / UAR_PAGE_BYTES;

export class Uars {
  readonly #used = new Set<number>();
  /** No page below it is free. */
  #next: number = FIRST_UAR;

  has(uar: number): boolean {
    return this.#used.has(uar);
  }

  /** Takes the lowest free page; undefined when all are in use. */
  allocate(): number | undefined {
    while (this.#next < UAR_END && this.#used.has(this.#next)) this.#next++;
    if (this.#next === UAR_END) return undefined;
    this.#used.add(this.#next);
    return this.#next;
  }

  /** Returns false when the page is not in use. */
  free(uar: number): boolean {
    if (!this.#used.delete(uar)) return false;
    this.#next = Math.min(this.#next, uar);
    return true;
  }

  reset(): void {
    this.#used.clear();
    this.#next = FIRST_UAR;
  }
}
