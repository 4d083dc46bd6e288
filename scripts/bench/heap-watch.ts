// SPDX-License-Identifier: Apache-2.0
/**
 * How much is allocated while something runs, and how much of it stays. V8 counts no allocations, so the used heap is looked at often: what it grows by between two
 * looks was allocated; a look that finds it smaller came after a collection and is left out. Needs --expose-gc. Called by transport.ts.
 */
import { getHeapStatistics } from 'node:v8';

/** Messages between two looks: a look allocates a little itself. */
const INTERVAL_MESSAGES = 20_000;

export class HeapWatch {
  /** Allocated since the start, but for what collections hid. */
  allocatedBytes = 0;
  readonly #startBytes: number;
  #lastBytes: number;
  #nextLook = INTERVAL_MESSAGES;

  constructor() {
    this.#startBytes = collectedBytes();
    this.#lastBytes = this.#startBytes;
  }

  /** `messages` have been sent since the start. */
  sample(messages: number): void {
    if (messages < this.#nextLook) return;
    this.#nextLook = messages + INTERVAL_MESSAGES;
    const usedBytes = getHeapStatistics().used_heap_size;
    this.allocatedBytes += Math.max(0, usedBytes - this.#lastBytes);
    this.#lastBytes = usedBytes;
  }

  describe(): string {
    return `${this.allocatedBytes} bytes allocated, ${this.#lastBytes - this.#startBytes} more in use`;
  }

  /** By how many bytes the heap has grown, after a collection. */
  finish(): number {
    return collectedBytes() - this.#startBytes;
  }
}

function collectedBytes(): number {
  globalThis.gc?.();
  return getHeapStatistics().used_heap_size;
}
