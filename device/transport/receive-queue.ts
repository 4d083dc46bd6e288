// SPDX-License-Identifier: Apache-2.0
/**
 * Takes WQEs from receive queues in guest memory (IBTA 10.2.4, 10.3.1, 9.7.7.2). Software posts by
 * advancing its tail; the device reads the tail only when it knows of no WQE. Called by the
 * responders, and by the queue-pair life cycle to flush.
 */
import { SGE_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import {
  getReceiveEntrySequence,
  getReceiveEntrySgeCount,
  RECEIVE_ENTRY_SIZE,
} from '../../protocol/layout/gen/receive-entry.gen.ts';
import {
  getSgeAddressHigh,
  getSgeAddressLow,
  getSgeLength,
  getSgeLkey,
  SGE_SIZE,
} from '../../protocol/layout/gen/sge.gen.ts';
import { CompletionStatus, FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { postReceiveCompletion, ReceiveReport } from './completions.ts';
import type { ScatterGatherList } from './scatter-gather.ts';

const LARGEST_STRIDE = 512;
/** First read of a WQE: its head and up to three elements, usually all of it. */
const FIRST_READ_BYTES = 64;

export class ReceiveQueueReader {
  /** Number of the WQE taken last. */
  number = 0;
  readonly #slot = new Uint8Array(LARGEST_STRIDE);
  readonly #slotView = new DataView(this.#slot.buffer);
  readonly #flushed = new ReceiveReport();

  constructor() {
    this.#flushed.status = CompletionStatus.FLUSHED;
  }

  /** True when a WQE is posted to the QP, or to the SRQ that it receives from. */
  available(qp: QueuePair): boolean {
    return qp.receiveRing.available(qp.owner, qp);
  }

  /**
   * Posted WQEs, as end-to-end credits; -1 with an SRQ, which grants none (IBTA 9.7.7.2, 10.2.9).
   */
  credits(qp: QueuePair): number {
    if (qp.srq !== undefined) return -1;
    const ring = qp.receiveRing;
    // Refreshed before they run out: a sender that learns of the last one only would stop and go.
    if (ring.known * 2 < ring.entries) ring.refresh(qp.owner, qp);
    return ring.known;
  }

  /**
   * Takes the oldest WQE and reads its elements into `list`. Returns NONE or the fault. The caller
   * has checked `available`.
   */
  take(qp: QueuePair, list: ScatterGatherList): FaultKind {
    const ring = qp.receiveRing;
    this.number = ring.take();
    qp.srq?.checkLimit();
    list.clear();
    const stride = ring.strideBytes;
    const dma = ring.at(qp.owner.dma, this.number);
    const first = Math.min(stride, FIRST_READ_BYTES);
    if (!dma.read(qp, first, this.#slot, 0)) return FaultKind.DMA_READ;
    const count = getReceiveEntrySgeCount(this.#slotView, 0);
    const length = RECEIVE_ENTRY_SIZE + count * SGE_SIZE;
    const wellFormed =
      count <= SGE_MAX && length <= stride && getReceiveEntrySequence(this.#slotView, 0) === this.number;
    if (!wellFormed) {
      qp.owner.faults.report(FaultKind.RECEIVE_ENTRY, qp, dma.address);
      return FaultKind.RECEIVE_ENTRY;
    }
    if (length > first && !dma.at(dma.address + first).read(qp, length - first, this.#slot, first))
      return FaultKind.DMA_READ;
    list.addFrom(this.#slotView, RECEIVE_ENTRY_SIZE, count);
    if (qp.owner.timeline !== undefined) this.#note(qp.owner.timeline, qp, count);
    return FaultKind.NONE;
  }

  #note(timeline: Timeline, { number: qpn, owner }: QueuePair, count: number): void {
    timeline.note(Step.ENTRY, owner.number, qpn, this.number);
    const view = this.#slotView;
    for (let index = 0; index < count; index++) {
      const at = RECEIVE_ENTRY_SIZE + index * SGE_SIZE;
      const [lkey, length] = [getSgeLkey(view, at), getSgeLength(view, at)];
      const [low, high] = [getSgeAddressLow(view, at), getSgeAddressHigh(view, at)];
      timeline.note(Step.ENTRY_SGE, owner.number, qpn, this.number, lkey, length, low, high);
    }
  }

  /**
   * Completes every posted WQE as flushed, in order. Those of an SRQ stay for other QPs (IBTA
   * 10.3.1, 10.2.9.4).
   */
  flush(qp: QueuePair): void {
    if (qp.srq !== undefined) return;
    while (this.available(qp)) postReceiveCompletion(qp, qp.receiveRing.take(), this.#flushed);
  }
}
