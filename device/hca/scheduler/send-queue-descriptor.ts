// SPDX-License-Identifier: Apache-2.0
/**
 * Send queue descriptors in the guest memory of one function; they hold the links of its scheduler
 * lists (US 9,069,485 par. 27, 71-73). The adapter's own links (`QueuePair.nextScheduled`) decide;
 * descriptors show them to software, and a link check detects foreign writes (docs/ARCHITECTURE.md,
 * Decisions that are not obvious). Called by `DoorbellUnit`, `SendQueueList` and the command
 * fetcher; the queue-pair life cycle publishes descriptors.
 */
import {
  SEND_QUEUE_DESCRIPTOR_NEXT_QPN_BYTES,
  SEND_QUEUE_DESCRIPTOR_NEXT_QPN_MASK,
  SEND_QUEUE_DESCRIPTOR_NEXT_STATE_BYTES,
  SEND_QUEUE_DESCRIPTOR_NEXT_STATE_MASK,
  SEND_QUEUE_DESCRIPTOR_NEXT_STATE_SHIFT,
  SEND_QUEUE_DESCRIPTOR_SIZE,
  setSendQueueDescriptorDestroyed,
  setSendQueueDescriptorNextQpn,
  setSendQueueDescriptorNextSequence,
  setSendQueueDescriptorNextState,
  setSendQueueDescriptorQpn,
  setSendQueueDescriptorTail,
} from '../../../protocol/layout/gen/send-queue-descriptor.gen.ts';
import { FaultKind, LinkCheck } from '../../../protocol/layout/gen/values.gen.ts';
import type { Dma } from '../function/dma.ts';
import type { FaultLog } from '../function/fault-log.ts';
import { ScratchBlock } from '../function/scratch-block.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Values of nextState. */
const QUEUED = 0;
const NOT_QUEUED = SEND_QUEUE_DESCRIPTOR_NEXT_STATE_MASK >>> SEND_QUEUE_DESCRIPTOR_NEXT_STATE_SHIFT;
/** Value of nextQpn for the last queue of a list and for an unlinked queue. */
const NO_QPN = SEND_QUEUE_DESCRIPTOR_NEXT_QPN_MASK;
/** Size of the link: nextQpn and nextState. */
const LINK_BYTES = SEND_QUEUE_DESCRIPTOR_NEXT_QPN_BYTES + SEND_QUEUE_DESCRIPTOR_NEXT_STATE_BYTES;

/** Size of read pointer, `destroyed`, QPN and write pointer, which follow the link. */
const POSITION_BYTES = 12;

export class SendQueueDescriptors {
  readonly #dma: Dma;
  readonly #faults: FaultLog;
  readonly #shown = new ScratchBlock(SEND_QUEUE_DESCRIPTOR_SIZE);
  readonly #found = new ScratchBlock(LINK_BYTES);
  /** Link dwords of an unlinked queue and of the last queue of a list. */
  readonly #null: number;
  readonly #last: number;

  constructor(dma: Dma, faults: FaultLog) {
    this.#dma = dma;
    this.#faults = faults;
    this.#null = this.#link(NOT_QUEUED, NO_QPN);
    this.#last = this.#link(QUEUED, NO_QPN);
  }

  /** Writes the whole descriptor. Returns false when its memory cannot be written. */
  publish(qp: QueuePair): boolean {
    this.#linkOf(qp);
    this.#setPosition(qp, qp.stopped ? 1 : 0);
    return this.#dma.at(qp.descriptorAddress).writeBlock(qp, this.#shown, 0, SEND_QUEUE_DESCRIPTOR_SIZE);
  }

  /**
   * Publishes the null link of a stopped queue, once, when no read for it is outstanding. Called
   * whenever a completion for a QP was taken.
   */
  settleStop(qp: QueuePair): void {
    if (!qp.stopped || qp.stopShown || qp.destroyed || qp.busReads > 0) return;
    qp.stopShown = true;
    this.publish(qp);
  }

  /** Writes what follows the link: the scheduler has read commands (par. 76). */
  writePosition(qp: QueuePair): void {
    this.#setPosition(qp, 0);
    this.#dma.at(qp.descriptorAddress + LINK_BYTES).writeBlock(qp, this.#shown, LINK_BYTES, POSITION_BYTES);
  }

  /** Writes the link only. */
  writeLink(qp: QueuePair): void {
    this.#linkOf(qp);
    this.#dma.at(qp.descriptorAddress).writeBlock(qp, this.#shown, 0, LINK_BYTES);
  }

  /** The compare-and-swap has linked a queue whose turn begins at once. */
  unlinkAtOnce(qp: QueuePair): void {
    qp.owner.counters.queuesLinked++;
    this.writeLink(qp);
  }

  /**
   * Reads or swaps the link and compares it with the adapter's own. A difference is reported as a
   * fault and corrected. Returns false when memory cannot be accessed. A compare-and-swap leaves an
   * unlinked queue as the last one of a list (par. 72).
   */
  check(qp: QueuePair, how: LinkCheck): boolean {
    const expected = this.#linkOf(qp);
    const found = how === LinkCheck.COMPARE_SWAP ? this.#swap(qp) : this.#read(qp);
    if (found === undefined) return false;
    if (found === expected) return true;
    this.#faults.report(FaultKind.DESCRIPTOR_LINK, qp, qp.descriptorAddress);
    this.writeLink(qp);
    return true;
  }

  #setPosition(qp: QueuePair, destroyed: number): void {
    setSendQueueDescriptorNextSequence(this.#shown.view, 0, qp.nextSequence);
    setSendQueueDescriptorDestroyed(this.#shown.view, 0, destroyed);
    setSendQueueDescriptorQpn(this.#shown.view, 0, qp.number);
    setSendQueueDescriptorTail(this.#shown.view, 0, qp.sendSlots?.tail ?? 0);
  }

  #read(qp: QueuePair): number | undefined {
    if (!this.#dma.at(qp.descriptorAddress).readBlock(qp, LINK_BYTES, this.#found, 0)) return undefined;
    return this.#found.view.getInt32(0, true);
  }

  #swap(qp: QueuePair): number | undefined {
    return this.#dma.at(qp.descriptorAddress).compareAndSwap(qp, this.#null, this.#last);
  }

  /**
   * The link to be shown. A stopped queue is shown as linked while a read for it is outstanding,
   * because software may reuse its memory afterwards.
   */
  #linkOf(qp: QueuePair): number {
    if (qp.scheduled && qp.nextScheduled !== undefined) return this.#link(QUEUED, qp.nextScheduled.number);
    const isQueued = qp.scheduled || (qp.stopped && qp.busReads > 0);
    return this.#link(isQueued ? QUEUED : NOT_QUEUED, NO_QPN);
  }

  /**
   * Writes the link into the scratch descriptor and returns it as a signed dword, the type of
   * `HostPort.compareAndSwap`.
   */
  #link(state: number, qpn: number): number {
    setSendQueueDescriptorNextQpn(this.#shown.view, 0, qpn);
    setSendQueueDescriptorNextState(this.#shown.view, 0, state);
    return this.#shown.view.getInt32(0, true);
  }
}
