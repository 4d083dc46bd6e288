// SPDX-License-Identifier: Apache-2.0
/**
 * Counts how much is allocated during a run, and how much of it stays. V8 does not count
 * allocations, so the used heap is sampled often: growth between two samples was allocated; a
 * sample after a collection is left out. Needs --expose-gc. Called by transport.ts and qos.ts.
 */
import { getHeapStatistics } from 'node:v8';

/** Messages between two samples: a sample allocates a little itself. */
const INTERVAL_MESSAGES = 20_000;

export class HeapWatch {
  /** Bytes allocated since the start, without those that collections hid. */
  allocatedBytes = 0;
  readonly #startBytes: number;
  #lastBytes: number;
  #nextLook = INTERVAL_MESSAGES;

  constructor() {
    this.#startBytes = collectedBytes();
    this.#lastBytes = this.#startBytes;
  }

  /** Called when `messages` have been sent since the start. */
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

  /** The growth of the heap in bytes, after a collection. */
  finish(): number {
    return collectedBytes() - this.#startBytes;
  }
}

function collectedBytes(): number {
  globalThis.gc?.();
  return getHeapStatistics().used_heap_size;
}
