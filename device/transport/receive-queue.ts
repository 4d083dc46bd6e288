// SPDX-License-Identifier: Apache-2.0
/** Takes entries off receive queues in guest memory. Software posts by moving its tail; the device looks at the tail only when it knows of no entry. */
import { SEND_QUEUE_MAX_LOG2, SGE_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import {
  getQueuePairRecordReceiveTail,
  QUEUE_PAIR_RECORD_SIZE,
} from '../../protocol/layout/gen/queue-pair-record.gen.ts';
import {
  getReceiveEntrySequence,
  getReceiveEntrySgeCount,
  RECEIVE_ENTRY_SIZE,
} from '../../protocol/layout/gen/receive-entry.gen.ts';
import { SGE_SIZE } from '../../protocol/layout/gen/sge.gen.ts';
import { CompletionStatus, FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { postReceiveCompletion, ReceiveReport } from './completions.ts';
import type { ScatterGatherList } from './scatter-gather.ts';

const NUMBER_MASK = 0xffff;
const LARGEST_STRIDE = 512;
/** What is read of an entry at first: its head and up to three elements, which is most often all. */
const FIRST_READ_BYTES = 64;
const LARGEST_QUEUE = 2 ** SEND_QUEUE_MAX_LOG2;

export class ReceiveQueueReader {
  /** Number of the entry last taken. */
  number = 0;
  readonly #record = new Uint8Array(QUEUE_PAIR_RECORD_SIZE);
  readonly #recordView = new DataView(this.#record.buffer);
  readonly #slot = new Uint8Array(LARGEST_STRIDE);
  readonly #slotView = new DataView(this.#slot.buffer);
  readonly #flushed = new ReceiveReport();

  constructor() {
    this.#flushed.status = CompletionStatus.FLUSHED;
  }

  /** An entry is posted. */
  available(qp: QueuePair): boolean {
    if (qp.receiveHead !== qp.receiveTail) return true;
    if (!qp.owner.dma.read(qp.number, qp.creation.recordAddress, QUEUE_PAIR_RECORD_SIZE, this.#record, 0)) return false;
    const tail = getQueuePairRecordReceiveTail(this.#recordView, 0);
    const posted = (tail - qp.receiveHead) & NUMBER_MASK;
    if (posted > qp.receiveEntries) {
      if (posted < LARGEST_QUEUE)
        qp.owner.faults.report(FaultKind.DOORBELL_BEYOND_TAIL, qp.number, qp.creation.recordAddress);
      return false;
    }
    qp.receiveTail = tail;
    return posted > 0;
  }

  /** Takes the oldest entry and reads its elements into `list`; NONE, or why it cannot be used. Only while one is available. */
  take(qp: QueuePair, list: ScatterGatherList): FaultKind {
    this.number = qp.receiveHead;
    qp.receiveHead = (qp.receiveHead + 1) & NUMBER_MASK;
    list.clear();
    const stride = 2 ** qp.creation.receiveStrideLog2;
    const address = qp.receiveSlotAddress(this.number);
    const first = Math.min(stride, FIRST_READ_BYTES);
    if (!qp.owner.dma.read(qp.number, address, first, this.#slot, 0)) return FaultKind.DMA_READ;
    const count = getReceiveEntrySgeCount(this.#slotView, 0);
    const length = RECEIVE_ENTRY_SIZE + count * SGE_SIZE;
    const wellFormed =
      count <= SGE_MAX && length <= stride && getReceiveEntrySequence(this.#slotView, 0) === this.number;
    if (!wellFormed) {
      qp.owner.faults.report(FaultKind.RECEIVE_ENTRY, qp.number, address);
      return FaultKind.RECEIVE_ENTRY;
    }
    if (length > first && !qp.owner.dma.read(qp.number, address + first, length - first, this.#slot, first))
      return FaultKind.DMA_READ;
    list.addFrom(this.#slotView, RECEIVE_ENTRY_SIZE, count);
    return FaultKind.NONE;
  }

  /** Completes every posted entry as flushed, in order (IBTA 10.3.1). */
  flush(qp: QueuePair): void {
    while (this.available(qp)) {
      const number = qp.receiveHead;
      qp.receiveHead = (number + 1) & NUMBER_MASK;
      postReceiveCompletion(qp, number, this.#flushed);
    }
  }
}
