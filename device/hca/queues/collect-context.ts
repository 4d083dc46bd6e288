// SPDX-License-Identifier: Apache-2.0
/**
 * Collect context: what the collect pages of one user process may act on (US 8,484,392
 * par. 95-98). A page without a context is the kernel's and acts on all objects of its function; a
 * page with one acts only on queue pairs and completion queues that were created with it.
 * Management creates contexts and gives pages to them.
 */
import type { UnderlyingFunction } from '../function/underlying-function.ts';

/** The context of a page or of a queue; undefined: the kernel's. */
export type ContextOrKernel = CollectContext | undefined;

const SATURATED = 0xffffffff;

export class CollectContext {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  tokenLow = 0;
  tokenHigh = 0;
  /** Count of pages that it has. */
  pages = 0;
  /** Count of queue pairs and completion queues that its pages may act on. */
  queues = 0;
  /** Count of stores to its pages that named other objects; saturating. */
  refused = 0;

  constructor(number: number, owner: UnderlyingFunction) {
    this.number = number;
    this.owner = owner;
  }

  /** Counts a store that named an object of another context. */
  refuse(): void {
    if (this.refused < SATURATED) this.refused++;
  }
}
