// SPDX-License-Identifier: Apache-2.0
/**
 * The send queue of a queue pair in guest memory, as the adapter's own front end has it: slots of
 * commands, and the record with software's tail (US 9,069,485 par. 24-26). A personality has none:
 * its send source reads requests of another format. Management creates it with the queue pair, and
 * the command fetcher reads it.
 */
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { packAddress, unpackAddress } from '../function/compact-number.ts';
import type { Dma } from '../function/dma.ts';
import { locateEntry, type QueueMemory } from '../memory/queue-memory.ts';

const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;

export class SendSlots {
  /** Number of slots, a power of two, and bytes of a slot. */
  readonly entries: number;
  readonly strideBytes: number;
  /** Packed address of the queue-pair-record. */
  readonly #record: number;
  /** Software's tail, as the scheduler last read it from the record. */
  tail = 0;
  /** A doorbell was lost, so the next turn is for all posted commands. */
  namesAll = false;
  /** Sequence number behind the last command that a doorbell has named. */
  #named = 0;
  /** `packedBase` of the memory. */
  readonly #base: number;
  readonly #memory: QueueMemory;

  constructor(memory: QueueMemory, entriesLog2: number, strideLog2: number, recordAddress: number) {
    this.#memory = memory;
    this.#base = memory.packedBase;
    this.entries = 1 << entriesLog2;
    this.strideBytes = 1 << strideLog2;
    this.#record = packAddress(recordAddress);
  }

  /** Guest address of the queue-pair-record. */
  get recordAddress(): number {
    return unpackAddress(this.#record);
  }

  /** Entries of the translation table that it takes. */
  get translationEntries(): number {
    return this.#memory.translationEntries;
  }

  /** A doorbell names the commands before `tail`; `next` is the one that the queue expects. */
  name(tail: number, next: number): void {
    const ahead = (tail - next) & SEND_COMMAND_SEQUENCE_MASK;
    if (ahead < HALF_SEQUENCE && ahead > this.#countNamed(next)) this.#named = tail & SEND_COMMAND_SEQUENCE_MASK;
  }

  /** How many of `posted` commands from `next` on doorbells have named. */
  takeNamed(posted: number, next: number): number {
    if (this.namesAll) this.name(next + posted, next);
    this.namesAll = false;
    return Math.min(posted, this.#countNamed(next));
  }

  reset(): void {
    this.tail = 0;
    this.namesAll = false;
    this.#named = 0;
  }

  /** Commands that came by collect buffer may have gone beyond all that doorbells named. */
  #countNamed(next: number): number {
    const ahead = (this.#named - next) & SEND_COMMAND_SEQUENCE_MASK;
    return ahead < HALF_SEQUENCE ? ahead : 0;
  }

  /** Sets the address of `dma` to that of the slot of a command. */
  at(dma: Dma, sequence: number): Dma {
    return locateEntry(dma, this.#base, this.#memory, (sequence & (this.entries - 1)) * this.strideBytes);
  }
}
