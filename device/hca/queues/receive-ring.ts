// SPDX-License-Identifier: Apache-2.0
/**
 * Ring of receive WQEs in guest memory, of a QP or of a shared receive queue (IBTA 10.2.4, 10.2.9):
 * the receive source of the adapter's own front end. Software posts by advancing its tail; the
 * device reads the tail only when it knows of no WQE. The receive queue reader and SRQs use it.
 */
import { RECEIVE_QUEUE_MAX_LOG2, SGE_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getReceiveEntrySequence,
  getReceiveEntrySgeCount,
  RECEIVE_ENTRY_SEQUENCE_MASK,
  RECEIVE_ENTRY_SIZE,
} from '../../../protocol/layout/gen/receive-entry.gen.ts';
import {
  getSgeAddressHigh,
  getSgeAddressLow,
  getSgeLength,
  getSgeLkey,
  SGE_SIZE,
} from '../../../protocol/layout/gen/sge.gen.ts';
import { getSrqRecordTail, SRQ_RECORD_SIZE } from '../../../protocol/layout/gen/srq-record.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { compact, packAddress, unpackAddress } from '../function/compact-number.ts';
import type { Dma } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import { ScratchBlock } from '../function/scratch-block.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { EntryMove } from '../memory/move-entries.ts';
import type { StepResult } from '../memory/page-list.ts';
import { locateEntry, type QueueMemory } from '../memory/queue-memory.ts';
import type { ReceiveList, ReceiveSource } from './receive-source.ts';

const LARGEST_QUEUE = 2 ** RECEIVE_QUEUE_MAX_LOG2;
const LARGEST_STRIDE = 512;
/** First read of a WQE: its head and up to three elements, usually all of it. */
const FIRST_READ_BYTES = 64;

/** Copy of an srq-record, or of the second half of a queue-pair-record: the layout is the same. */
const record = new ScratchBlock(SRQ_RECORD_SIZE);
/** Copy of a WQE, shared by all rings: it is decoded as soon as it is read. */
const slot = new ScratchBlock(LARGEST_STRIDE);

export class ReceiveRing implements ReceiveSource {
  /** Number of the next WQE to take, and the tail as last read: WQEs before it are posted. */
  head = 0;
  tail = 0;
  entries: number;
  readonly strideBytes: number;
  /** Packed address of the record with software's tail. */
  readonly #tailRecord: number;
  /** `packedBase` of the memory. */
  #base: number;
  #memory: QueueMemory;

  constructor(memory: QueueMemory, entriesLog2: number, strideLog2: number, tailAddress: number) {
    this.#memory = memory;
    this.#base = memory.packedBase;
    this.entries = 1 << entriesLog2;
    this.strideBytes = 1 << strideLog2;
    this.#tailRecord = packAddress(tailAddress);
  }

  /** Guest address of the record with software's tail. */
  get tailAddress(): number {
    return unpackAddress(this.#tailRecord);
  }

  /** Number of WQEs known to be posted and not taken. */
  get known(): number {
    return (this.tail - this.head) & RECEIVE_ENTRY_SEQUENCE_MASK;
  }

  /** Reads software's tail. An impossible tail is reported as a fault of `subject` and ignored. */
  refresh(owner: UnderlyingFunction, subject: FaultSubject): void {
    if (!owner.dma.at(this.tailAddress).readBlock(subject, SRQ_RECORD_SIZE, record, 0)) return;
    const tail = getSrqRecordTail(record.view, 0);
    const posted = (tail - this.head) & RECEIVE_ENTRY_SEQUENCE_MASK;
    if (posted <= this.entries) this.tail = tail;
    // A tail behind the head is an old one and harmless.
    else if (posted < LARGEST_QUEUE) owner.faults.report(FaultKind.DOORBELL_BEYOND_TAIL, subject, this.tailAddress);
  }

  /** True when a WQE is posted; reads the tail if none is known. */
  available(owner: UnderlyingFunction, subject: FaultSubject): boolean {
    if (this.head === this.tail) this.refresh(owner, subject);
    return this.head !== this.tail;
  }

  /** Refreshed before they run out: a sender that learns of the last one only would stop and go. */
  credits(owner: UnderlyingFunction, subject: FaultSubject): number {
    if (this.known * 2 < this.entries) this.refresh(owner, subject);
    return this.known;
  }

  /** Takes the oldest WQE and returns its number. Only while one is known. */
  take(): number {
    const number = this.head;
    this.head = (number + 1) & RECEIVE_ENTRY_SEQUENCE_MASK;
    return number;
  }

  read(owner: UnderlyingFunction, subject: FaultSubject, number: number, list: ReceiveList): FaultKind {
    const stride = this.strideBytes;
    const dma = this.at(owner.dma, number);
    const first = Math.min(stride, FIRST_READ_BYTES);
    if (!dma.readBlock(subject, first, slot, 0)) return FaultKind.DMA_READ;
    const count = getReceiveEntrySgeCount(slot.view, 0);
    const length = RECEIVE_ENTRY_SIZE + count * SGE_SIZE;
    const wellFormed = count <= SGE_MAX && length <= stride && getReceiveEntrySequence(slot.view, 0) === number;
    if (!wellFormed) {
      owner.faults.report(FaultKind.RECEIVE_ENTRY, subject, dma.address);
      return FaultKind.RECEIVE_ENTRY;
    }
    if (length > first && !dma.at(dma.address + first).readBlock(subject, length - first, slot, first))
      return FaultKind.DMA_READ;
    list.addFrom(slot.view, RECEIVE_ENTRY_SIZE, count);
    if (owner.timeline !== undefined) noteEntry(owner, subject.number, number, slot.view, RECEIVE_ENTRY_SIZE, count);
    return FaultKind.NONE;
  }

  giveBack(): void {
    this.head = (this.head - 1) & RECEIVE_ENTRY_SEQUENCE_MASK;
  }

  /** Guest address of the first slot. */
  get address(): number {
    return this.#memory.address;
  }

  /** Sets the address of `dma` to that of the slot of a WQE. */
  at(dma: Dma, number: number): Dma {
    return locateEntry(dma, this.#base, this.#memory, (number % this.entries) * this.strideBytes);
  }

  /**
   * Moves to a ring of another size that holds the WQEs not yet taken; running numbers go on
   * (IBTA 11.2.3.3). `move` copies them, some in each call. Software posts none meanwhile, and its
   * tail has been read by `refresh`. Fails, with nothing changed, when a ring cannot be read or
   * written.
   */
  resize(
    owner: UnderlyingFunction,
    subject: FaultSubject,
    move: EntryMove,
    memory: QueueMemory,
    entries: number,
  ): StepResult {
    const moved = move.step(owner.dma, subject, this.head, this.known);
    if (moved !== 'done') return moved;
    owner.translations.give(this.translationEntries);
    this.#memory = memory;
    this.#base = memory.packedBase;
    this.entries = compact(entries);
    return 'done';
  }

  /** A move of the WQEs to another ring, for `resize`. */
  moveTo(memory: QueueMemory, entries: number): EntryMove {
    return new EntryMove({ memory: this.#memory, entries: this.entries }, { memory, entries }, this.strideBytes);
  }

  get translationEntries(): number {
    return this.#memory.translationEntries;
  }

  reset(): void {
    this.head = 0;
    this.tail = 0;
  }
}

/** A WQE that was read goes to the timeline: `count` elements at `base` of `view`. */
export function noteEntry(
  owner: UnderlyingFunction,
  qpn: number,
  number: number,
  view: DataView,
  base: number,
  count: number,
): void {
  owner.timeline?.note(Step.ENTRY, owner.number, qpn, number);
  for (let index = 0; index < count; index++) {
    const at = base + index * SGE_SIZE;
    const [lkey, length] = [getSgeLkey(view, at), getSgeLength(view, at)];
    const [low, high] = [getSgeAddressLow(view, at), getSgeAddressHigh(view, at)];
    owner.timeline?.note(Step.ENTRY_SGE, owner.number, qpn, number, lkey, length, low, high);
  }
}
