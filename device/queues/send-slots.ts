// SPDX-License-Identifier: Apache-2.0
/**
 * The send queue of a queue pair in guest memory, as the adapter's own front end has it: slots of
 * commands, and the record with software's tail (US 9,069,485 par. 24-26). A personality has none:
 * its send source reads requests of another format. Management creates it with the queue pair, and
 * the command fetcher reads it.
 */
import type { Dma } from '../function/dma.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';

export class SendSlots {
  /** Number of slots, a power of two, and bytes of a slot. */
  readonly entries: number;
  readonly strideBytes: number;
  /** Guest address of the queue-pair-record. */
  readonly recordAddress: number;
  /** Software's tail, as the scheduler last read it from the record. */
  tail = 0;
  readonly #memory: QueueMemory;

  constructor(memory: QueueMemory, entriesLog2: number, strideLog2: number, recordAddress: number) {
    this.#memory = memory;
    this.entries = 1 << entriesLog2;
    this.strideBytes = 1 << strideLog2;
    this.recordAddress = recordAddress;
  }

  /** Entries of the translation table that it takes. */
  get translationEntries(): number {
    return this.#memory.translationEntries;
  }

  /** Sets the address of `dma` to that of the slot of a command. */
  at(dma: Dma, sequence: number): Dma {
    return this.#memory.at(dma, (sequence & (this.entries - 1)) * this.strideBytes);
  }
}
