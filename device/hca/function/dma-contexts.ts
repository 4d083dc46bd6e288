// SPDX-License-Identifier: Apache-2.0
/**
 * The DMA contexts of the adapter (US 8,484,392 par. 42): each outstanding read of payload occupies
 * one. The send pipeline and the READ responses take turns for them, so neither waits until the
 * other has no reads left. Part of `DmaTiming`.
 */

/** Issues one read, if there is one to issue. Returns false when there is none. */
export type IssueRead = () => boolean;

export class DmaContexts {
  /** Contexts in use. */
  used = 0;
  readonly #limit: () => number;
  readonly #users: IssueRead[] = [];
  #turn = 0;

  /** `limit`: the present number of contexts. */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** True when reads may wait for a context. */
  get exhausted(): boolean {
    return this.used >= this.#limit();
  }

  /** Adds a user: `issue` is called while a context is free. */
  join(issue: IssueRead): void {
    this.#users.push(issue);
  }

  /** The completion of a read has arrived. The caller calls `issue` when it has taken in all. */
  give(): void {
    this.used--;
  }

  /** Issues reads while contexts are free; users take turns. */
  issue(): void {
    let idle = 0;
    while (idle < this.#users.length && !this.exhausted) {
      if (this.#users[this.#turn]()) {
        this.used++;
        idle = 0;
      } else idle++;
      this.#turn = (this.#turn + 1) % this.#users.length;
    }
  }
}
