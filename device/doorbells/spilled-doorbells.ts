// SPDX-License-Identifier: Apache-2.0
/**
 * Moves doorbells of one function into the overflow buffer and back (US 9,069,485 par. 86-95).
 * `DoorbellUnit` calls it: the unit detects potential deadlocks, decides when doorbells are spilled
 * and read back, and starts a sweep when one is lost.
 */
import { FaultKind, FaultObject } from '../../protocol/layout/gen/values.gen.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { DoorbellBuffer } from './doorbell-buffer.ts';
import type { OverflowBuffer } from './overflow-buffer.ts';

export class SpilledDoorbells {
  readonly #owner: UnderlyingFunction;
  readonly #queuePairs: ObjectTable<QueuePair>;
  readonly #buffer: DoorbellBuffer;
  readonly #overflow: OverflowBuffer;

  constructor(
    owner: UnderlyingFunction,
    queuePairs: ObjectTable<QueuePair>,
    buffer: DoorbellBuffer,
    overflow: OverflowBuffer,
  ) {
    this.#owner = owner;
    this.#queuePairs = queuePairs;
    this.#buffer = buffer;
    this.#overflow = overflow;
  }

  /** Writes a doorbell to the overflow buffer. Returns false when it found no place: it is lost. */
  spill(qp: QueuePair, sequence: number): boolean {
    qp.doorbellWaiting = false;
    const overflow = this.#overflow;
    if (!overflow.enabled || overflow.full || !overflow.write(qp, sequence)) return false;
    this.#owner.counters.doorbellsSpilled++;
    return true;
  }

  /**
   * Spills the arriving doorbell, or in its place one from the scheduler buffer whose QP has more
   * entries in the overflow buffer (par. 90). Returns false when the spilled doorbell is lost.
   */
  spillMostSpilled(qp: QueuePair, sequence: number): boolean {
    const buffer = this.#buffer;
    const position = buffer.findMostSpilled(this.#overflow.spilledOf(qp), this.#overflow);
    if (position < 0) return this.spill(qp, sequence);
    const isSpilled = this.spill(buffer.queuePairAt(position), buffer.sequenceAt(position));
    buffer.replace(position, qp, sequence);
    return isSpilled;
  }

  /**
   * Takes the entry whose read has completed; the overflow buffer is not empty. Returns false when
   * doorbells are lost: memory cannot be read, or not all that was written has come back.
   */
  readBack(): boolean {
    const overflow = this.#overflow;
    const fault = overflow.fetch();
    if (fault === FaultKind.DMA_READ) return false;
    this.#owner.counters.doorbellsDrained++;
    if (fault !== FaultKind.NONE || !this.#restore())
      this.#owner.faults.reportNumber(FaultKind.OVERFLOW_ENTRY, FaultObject.QP, overflow.qpn, overflow.addressRead);
    return overflow.pending > 0 || overflow.checkEmptied();
  }

  /** Puts the doorbell into the scheduler buffer. Returns false when it was never spilled. */
  #restore(): boolean {
    const overflow = this.#overflow;
    const qp = this.#queuePairs.get(overflow.qpn);
    if (qp === undefined || qp.owner !== this.#owner) {
      if (!overflow.settleOrphan()) return false;
      this.#owner.counters.doorbellsStale++;
      return true;
    }
    if (!overflow.settle(qp)) return false;
    if (qp.doorbellWaiting || qp.stopped) return true;
    qp.doorbellWaiting = true;
    this.#buffer.push(qp, overflow.sequence);
    return true;
  }
}
