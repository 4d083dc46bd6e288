// SPDX-License-Identifier: Apache-2.0
/**
 * Spilling: the doorbells of one function on their way to the overflow buffer and back
 * (US 9,069,485 par. 86-95). `DoorbellUnit` calls it: the unit detects potential deadlocks, decides
 * when doorbells are spilled and read back, and starts a sweep when one is lost.
 */
import { SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, FaultObject, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { DoorbellBuffer } from './doorbell-buffer.ts';
import type { OverflowBuffer } from './overflow-buffer.ts';

const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;

/** Which doorbells are spilled: fields of DOORBELL_POLICY. */
interface SpillRules {
  readonly policy: OverflowPolicy;
  readonly spillBuffered: boolean;
}

export class SpilledDoorbells {
  /** Commands that found no PCB are queued here (US 8,484,392 par. 101), not on the bus. */
  hostQueue = false;
  /** A doorbell stands for the commands up to its sequence number (par. 10). */
  exact = false;
  readonly #owner: UnderlyingFunction;
  readonly #queuePairs: ObjectTable<QueuePair>;
  readonly #buffer: DoorbellBuffer;
  readonly #overflow: OverflowBuffer;
  /** The QP and the command that the entry read back last has named. */
  #served: QueuePair | undefined = undefined;
  #servedSequence = 0;

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

  /** True when a turn of a send queue ends with the last command that a doorbell has named. */
  get takesNamed(): boolean {
    return this.exact || this.hostQueue;
  }

  /**
   * True when the next entry may be read while `reading` are being read. The FIFO is served one
   * entry after the other (US 8,484,392 par. 103-107).
   */
  isDue(reading: number): boolean {
    if (this.hostQueue && (reading > 0 || this.#isServing())) return false;
    return this.#overflow.pending > reading;
  }

  /** True until the command named by the entry read back last is on its lane, or cannot be. */
  #isServing(): boolean {
    const qp = this.#served;
    if (qp === undefined) return false;
    const isAhead = ((this.#servedSequence - qp.nextSequence) & SEND_COMMAND_SEQUENCE_MASK) < HALF_SEQUENCE;
    const isOnItsWay = qp.doorbellWaiting || qp.scheduled || qp.busReads > 0 || qp.waitsForRoom;
    if (isAhead && isOnItsWay && !qp.destroyed && !qp.stopped) return true;
    this.#served = undefined;
    return false;
  }

  /** Function reset: all entries are given up. */
  reset(): void {
    this.#served = undefined;
    this.#servedSequence = 0;
    this.#overflow.reset();
  }

  /**
   * Spills a doorbell that arrives after the detection, or another in its place. Returns false when
   * the spilled doorbell is lost.
   */
  take(qp: QueuePair, sequence: number, { policy, spillBuffered }: SpillRules): boolean {
    if (policy === OverflowPolicy.MOST_SPILLED) return this.#spillMostSpilled(qp, sequence, spillBuffered);
    return this.#spill(qp, sequence);
  }

  /** True when a command of the QP that found no PCB goes to the FIFO in host memory. */
  takesRefused(qp: QueuePair): boolean {
    return this.hostQueue && !this.#overflow.full && !qp.stopped;
  }

  /**
   * Appends such a command to the FIFO. A doorbell of the QP that waits elsewhere keeps waiting.
   * Returns false when memory cannot be written: all that was in the overflow buffer is lost.
   */
  queue(qp: QueuePair, sequence: number): boolean {
    if (!this.#overflow.write(qp, sequence)) return false;
    this.#owner.counters.doorbellsSpilled++;
    this.#owner.counters.commandsQueued++;
    return true;
  }

  /**
   * Spills up to `count` doorbells of the scheduler buffer, as many as find a place in the overflow
   * buffer (par. 90-91): those of the QPs with most entries there, else those received last, in
   * their order. The oldest one stays, so that each episode links a queue. Returns false when one
   * is lost.
   */
  spillBuffered(count: number, { policy }: SpillRules): boolean {
    const buffer = this.#buffer;
    for (let left = Math.min(count, buffer.used - 1, this.#overflow.room); left > 0; left--) {
      const most = policy === OverflowPolicy.MOST_SPILLED ? buffer.findMostSpilled(1, 0, this.#overflow) : -1;
      const position = most < 0 ? buffer.used - left : most;
      const qp = buffer.queuePairAt(position);
      const sequence = buffer.sequenceAt(position);
      buffer.remove(position);
      if (!this.#spill(qp, sequence)) return false;
    }
    return true;
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

  /** Writes a doorbell to the overflow buffer. Returns false when it found no place: it is lost. */
  #spill(qp: QueuePair, sequence: number): boolean {
    qp.doorbellWaiting = false;
    const overflow = this.#overflow;
    if (!overflow.enabled || overflow.full || !overflow.write(qp, sequence)) return false;
    this.#owner.counters.doorbellsSpilled++;
    return true;
  }

  /**
   * Spills the arriving doorbell, or in its place one from the scheduler buffer whose QP has more
   * entries in the overflow buffer (par. 90): one whose link check is outstanding only when
   * `buffered` is set. Returns false when the spilled doorbell is lost.
   */
  #spillMostSpilled(qp: QueuePair, sequence: number, buffered: boolean): boolean {
    const buffer = this.#buffer;
    const from = buffered ? 0 : buffer.checking;
    const position = buffer.findMostSpilled(from, this.#overflow.spilledOf(qp), this.#overflow);
    if (position < 0) return this.#spill(qp, sequence);
    const isChecked = position < buffer.checking;
    const isSpilled = this.#spill(buffer.queuePairAt(position), buffer.sequenceAt(position));
    if (!isChecked) buffer.replace(position, qp, sequence);
    else {
      buffer.remove(position);
      buffer.push(qp, sequence);
    }
    return isSpilled;
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
    if (qp.stopped) return true;
    qp.sendSlots?.name(overflow.sequence + 1, qp.nextSequence);
    this.#served = qp;
    this.#servedSequence = overflow.sequence;
    if (qp.doorbellWaiting) return true;
    qp.doorbellWaiting = true;
    this.#buffer.push(qp, overflow.sequence);
    return true;
  }
}
