// SPDX-License-Identifier: Apache-2.0
/**
 * Looks through all send queues of one function after a doorbell was dropped, so that no command is lost (DESIGN.md 4.6). Each queue that could have work gets a
 * doorbell of the adapter's own. A doorbell dropped meanwhile makes it go round once more.
 */

import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Takes the doorbells of the sweep. */
export interface DoorbellInsert {
  /** Returns false when there is no room to spare. */
  insert(qp: QueuePair): boolean;
}

/** Slots of the table of queue pairs that are looked at in one unit of work. */
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

  start(): void {
    if (this.running) this.#again = true;
    else this.#begin();
  }

  reset(): void {
    this.running = false;
    this.#again = false;
  }

  /** Goes on to the next queue. True when something was done. */
  advance(unit: DoorbellInsert): boolean {
    const queuePairs = this.#queuePairs;
    const end = Math.min(this.#slot + SLOTS_PER_STEP, queuePairs.slotCount);
    while (this.#slot < end) {
      const qp = queuePairs.at(this.#slot);
      if (qp !== undefined && qp.owner === this.#owner && qp.sendsAreTaken) {
        if (!qp.scheduled && !qp.doorbellWaiting && !qp.stopped) {
          if (!unit.insert(qp)) return false;
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
  }

  #finish(): void {
    this.running = false;
    if (this.#again) this.#begin();
  }
}
