// SPDX-License-Identifier: Apache-2.0
/**
 * Copy of a ring in guest memory to a ring of another size, where the running numbers of its
 * entries go on (IBTA 11.2.3.3, 11.2.8.3). It proceeds in steps, so that a long queue delays no
 * other function. Completion queues and shared receive queues that are resized call it.
 */
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import type { Dma } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { StepResult } from './page-list.ts';
import type { QueueMemory } from './queue-memory.ts';

/** Pages of entries that a step copies. */
export const STEP_PAGES = 16;

/** Slots of a power of two, of which entry `n` takes that of `n` modulo `entries`. */
export interface EntryRing {
  readonly memory: QueueMemory;
  readonly entries: number;
}

export class EntryMove {
  readonly #from: EntryRing;
  readonly #to: EntryRing;
  readonly #strideBytes: number;
  readonly #chunk = new Uint8Array(PAGE_BYTES);
  /** Entries that have been copied: `#copied` from number `#first` on. */
  #first = 0;
  #copied = 0;

  constructor(from: EntryRing, to: EntryRing, strideBytes: number) {
    this.#from = from;
    this.#to = to;
    this.#strideBytes = strideBytes;
  }

  /**
   * Copies the next of the entries that the ring now holds: `count` from number `first` on. Entries
   * may come and go between steps. Fails, with a counted fault of `subject`, when a ring cannot be
   * read or written.
   */
  step(dma: Dma, subject: FaultSubject, first: number, count: number): StepResult {
    this.#keep(first, count);
    for (let pages = 0; this.#copied < count; pages++) {
      if (pages === STEP_PAGES) return 'more';
      const run = this.#copyRun(dma, subject, first + this.#copied, count - this.#copied);
      if (run === 0) return 'failed';
      this.#copied += run;
    }
    return 'done';
  }

  /**
   * Forgets the copied entries before number `first`, or all of them unless `first` is among them.
   * Numbers wrap at a multiple of twice the longest ring.
   */
  #keep(first: number, count: number): void {
    const wrap = 2 * this.#from.entries;
    const gone = (((first - this.#first) % wrap) + wrap) % wrap;
    this.#first = first;
    this.#copied = gone <= this.#copied ? Math.min(this.#copied - gone, count) : 0;
  }

  /** Copies entries that are contiguous in both rings. Returns how many; 0 after a fault. */
  #copyRun(dma: Dma, subject: FaultSubject, at: number, count: number): number {
    const from = at % this.#from.entries;
    const to = at % this.#to.entries;
    const most = PAGE_BYTES / this.#strideBytes;
    const run = Math.min(most - (at % most), this.#from.entries - from, this.#to.entries - to, count);
    const bytes = run * this.#strideBytes;
    const isMoved =
      this.#from.memory.at(dma, from * this.#strideBytes).read(subject, bytes, this.#chunk, 0) &&
      this.#to.memory.at(dma, to * this.#strideBytes).write(subject, this.#chunk, 0, bytes);
    return isMoved ? run : 0;
  }
}
