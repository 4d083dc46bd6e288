// SPDX-License-Identifier: Apache-2.0
/**
 * Ring of receive WQEs in guest memory, of a QP or of a shared receive queue (IBTA 10.2.4, 10.2.9).
 * It has the addresses of the slots, the number of WQEs that the adapter has taken and software's
 * tail. The receive queue reader and SRQs use it.
 */
import { RECEIVE_QUEUE_MAX_LOG2 } from '../../protocol/layout/gen/constants.gen.ts';
import { RECEIVE_ENTRY_SEQUENCE_MASK } from '../../protocol/layout/gen/receive-entry.gen.ts';
import { getSrqRecordTail, SRQ_RECORD_SIZE } from '../../protocol/layout/gen/srq-record.gen.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { Dma } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';

/** Numbers of receive WQEs. A copy: imports are looked up at each use. */
const NUMBER_BITS = RECEIVE_ENTRY_SEQUENCE_MASK;
const LARGEST_QUEUE = 2 ** RECEIVE_QUEUE_MAX_LOG2;

/** Copy of an srq-record, or of the second half of a queue-pair-record: the layout is the same. */
const record = new Uint8Array(SRQ_RECORD_SIZE);
const recordView = new DataView(record.buffer);

export class ReceiveRing {
  /** Number of the next WQE to take, and the tail as last read: WQEs before it are posted. */
  head = 0;
  tail = 0;
  readonly entries: number;
  readonly strideBytes: number;
  /** Guest address of the record with software's tail. */
  readonly tailAddress: number;
  readonly #memory: QueueMemory;

  constructor(memory: QueueMemory, entriesLog2: number, strideLog2: number, tailAddress: number) {
    this.#memory = memory;
    this.entries = 2 ** entriesLog2;
    this.strideBytes = 2 ** strideLog2;
    this.tailAddress = tailAddress;
  }

  /** Number of WQEs known to be posted and not taken. */
  get known(): number {
    return (this.tail - this.head) & NUMBER_BITS;
  }

  /** Reads software's tail. An impossible tail is reported as a fault of `subject` and ignored. */
  refresh(owner: UnderlyingFunction, subject: FaultSubject): void {
    if (!owner.dma.at(this.tailAddress).read(subject, SRQ_RECORD_SIZE, record, 0)) return;
    const tail = getSrqRecordTail(recordView, 0);
    const posted = (tail - this.head) & NUMBER_BITS;
    if (posted <= this.entries) this.tail = tail;
    // A tail behind the head is an old one and harmless.
    else if (posted < LARGEST_QUEUE) owner.faults.report(FaultKind.DOORBELL_BEYOND_TAIL, subject, this.tailAddress);
  }

  /** True when a WQE is posted; reads the tail if none is known. */
  available(owner: UnderlyingFunction, subject: FaultSubject): boolean {
    if (this.head === this.tail) this.refresh(owner, subject);
    return this.head !== this.tail;
  }

  /** Takes the oldest WQE and returns its number. Only while one is known. */
  take(): number {
    const number = this.head;
    this.head = (number + 1) & NUMBER_BITS;
    return number;
  }

  /** Guest address of the first slot. */
  get address(): number {
    return this.#memory.address;
  }

  /** Sets the address of `dma` to that of the slot of a WQE. */
  at(dma: Dma, number: number): Dma {
    return this.#memory.at(dma, (number % this.entries) * this.strideBytes);
  }

  reset(): void {
    this.head = 0;
    this.tail = 0;
  }
}
