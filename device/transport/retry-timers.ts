// SPDX-License-Identifier: Apache-2.0
/**
 * Transport timers, one per QP: the local ACK timeout (IBTA 9.7.6.1.3) or an RNR wait (9.7.5.2.8). Moving a deadline back, which every
 * acknowledgement does, costs nothing: the heap notices when the old deadline comes.
 */
import type { QueuePair } from '../queues/queue-pair.ts';

/** State of one QP's timer. */
export class RetryTimer {
  /** When it fires, in adapter ns; Infinity when it is off. */
  deadlineNs = Number.POSITIVE_INFINITY;
  /** Key in the heap, never later than the deadline; and position, -1 when not in the heap. */
  keyNs = Number.POSITIVE_INFINITY;
  position = -1;
}

interface Timed {
  readonly qp: QueuePair;
  readonly timer: RetryTimer;
}

export class RetryTimers {
  readonly #heap: Timed[] = [];

  /** When `expire` has something to look at, at the earliest. */
  get nextNs(): number {
    return this.#heap.length === 0 ? Number.POSITIVE_INFINITY : this.#heap[0].timer.keyNs;
  }

  set(timed: Timed, deadlineNs: number): void {
    const { timer } = timed;
    timer.deadlineNs = deadlineNs;
    if (timer.position >= 0 && deadlineNs >= timer.keyNs) return;
    if (deadlineNs === Number.POSITIVE_INFINITY) return;
    timer.keyNs = deadlineNs;
    if (timer.position < 0) {
      timer.position = this.#heap.length;
      this.#heap.push(timed);
    }
    this.#siftUp(timer.position);
  }

  /** Calls `fire` for every timer whose deadline has come; the timer is off by then. */
  expire(nowNs: number, fire: (qp: QueuePair) => void): void {
    while (this.nextNs <= nowNs) {
      const timed = this.#heap[0];
      const { timer } = timed;
      this.#removeFirst();
      if (timer.deadlineNs > nowNs) {
        this.set(timed, timer.deadlineNs);
        continue;
      }
      timer.deadlineNs = Number.POSITIVE_INFINITY;
      fire(timed.qp);
    }
  }

  #removeFirst(): void {
    const first = this.#heap[0].timer;
    const last = this.#heap.pop() as Timed;
    first.position = -1;
    first.keyNs = Number.POSITIVE_INFINITY;
    if (this.#heap.length === 0 || last.timer === first) return;
    this.#put(last, 0);
    this.#siftDown(0);
  }

  #siftUp(start: number): void {
    const timed = this.#heap[start];
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#heap[parent].timer.keyNs <= timed.timer.keyNs) break;
      this.#put(this.#heap[parent], at);
      at = parent;
    }
    this.#put(timed, at);
  }

  #siftDown(start: number): void {
    const timed = this.#heap[start];
    let at = start;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= this.#heap.length) break;
      if (child + 1 < this.#heap.length && this.#heap[child + 1].timer.keyNs < this.#heap[child].timer.keyNs) child++;
      if (this.#heap[child].timer.keyNs >= timed.timer.keyNs) break;
      this.#put(this.#heap[child], at);
      at = child;
    }
    this.#put(timed, at);
  }

  #put(timed: Timed, position: number): void {
    this.#heap[position] = timed;
    timed.timer.position = position;
  }
}
