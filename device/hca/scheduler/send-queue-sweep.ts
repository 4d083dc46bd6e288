// SPDX-License-Identifier: Apache-2.0
/**
 * Sweep of all send queues of one function after a doorbell was lost, so that no command is lost
 * (docs/DOCUMENTS.md decision 5): each queue that may have commands gets a doorbell from the
 * adapter. A doorbell lost meanwhile starts another round. `DoorbellUnit` starts the sweep and
 * advances it when its buffer has entries to spare.
 */
import type { ObjectTable } from '../function/object-table.ts';
import { Step } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Takes the doorbells that the sweep generates. */
export interface DoorbellInsert {
  /** Returns false when the scheduler buffer has no entry to spare. */
  insert(qp: QueuePair): boolean;
}

/** Slots of the queue-pair table per unit of work. */
const SLOTS_PER_STEP = 64;

export class SendQueueSweep {
  running = false;
  readonly #owner: UnderlyingFunction;
  readonly #queuePairs: ObjectTable<QueuePair>;
  #slot = 0;
  #again = false;

  constructor(owner: UnderlyingFunction, queuePairs: ObjectTable<QueuePair>) {
    this.#owner = owner;
    this.#queuePairs = queuePairs;
  }

  /** Starts a sweep, or asks for another round of the running one. */
  start(): void {
    if (this.running) this.#again = true;
    else this.#begin();
  }

  reset(): void {
    this.running = false;
    this.#again = false;
  }

  /**
   * Continues until one doorbell is inserted or a step's slots are done. Returns false when the
   * doorbell found no room.
   */
  advance(unit: DoorbellInsert): boolean {
    const queuePairs = this.#queuePairs;
    const end = Math.min(this.#slot + SLOTS_PER_STEP, queuePairs.slotCount);
    while (this.#slot < end) {
      const qp = queuePairs.at(this.#slot);
      if (qp !== undefined && qp.owner === this.#owner && qp.sendsAreTaken) {
        if (!qp.scheduled && !qp.doorbellWaiting && !qp.stopped) {
          if (!unit.insert(qp)) return false;
          if (qp.sendSlots !== undefined) qp.sendSlots.namesAll = true;
          this.#slot++;
          return true;
        }
      }
      this.#slot++;
    }
    if (this.#slot >= queuePairs.slotCount) this.#finish();
    return true;
  }

  #begin(): void {
    this.running = true;
    this.#slot = 0;
    this.#again = false;
    this.#owner.counters.sweeps++;
    this.#owner.timeline?.note(Step.SWEEP, this.#owner.number, this.#owner.counters.sweeps);
  }

  #finish(): void {
    this.running = false;
    if (this.#again) this.#begin();
  }
}
