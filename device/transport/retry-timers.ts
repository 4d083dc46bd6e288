// SPDX-License-Identifier: Apache-2.0
/**
 * Transport timers, one per connected QP that may send: the local ACK timeout (IBTA 9.7.6.1.3) or an RNR wait (9.7.5.2.8). Moving a deadline back, which
 * every acknowledgement does, costs nothing: the heap notices when the old deadline comes. All numbers lie in columns, a few bytes for each timer, so that
 * the timers of thousands of QPs stay in a processor's cache.
 */
import type { RequesterState } from './requester-state.ts';

const OFF = Number.POSITIVE_INFINITY;
const NOT_QUEUED = -1;
const INITIAL_TIMERS = 64;

export class RetryTimers {
  /** By timer: whose it is, when it fires, its position in the heap. */
  readonly #states: (RequesterState | undefined)[] = [];
  #deadlines = new Float64Array(INITIAL_TIMERS);
  #positions = new Int32Array(INITIAL_TIMERS);
  /** By position in the heap: the timer, and its key, never later than its deadline. */
  #timers = new Int32Array(INITIAL_TIMERS);
  #keys = new Float64Array(INITIAL_TIMERS);
  #count = 0;
  readonly #free: number[] = [];

  /** When `expire` has something to look at, in adapter ns, at the earliest. */
  get nextNs(): number {
    return this.#count === 0 ? OFF : this.#keys[0];
  }

  /** Gives the QP a timer, which is off, unless it has one. */
  add(state: RequesterState): void {
    if (state.timer >= 0) return;
    const timer = this.#free.pop() ?? this.#states.length;
    if (timer === this.#deadlines.length) this.#grow();
    this.#states[timer] = state;
    this.#deadlines[timer] = OFF;
    this.#positions[timer] = NOT_QUEUED;
    state.timer = timer;
  }

  /** Takes the timer of the QP away, if it has one. */
  remove(state: RequesterState): void {
    const { timer } = state;
    if (timer < 0) return;
    const position = this.#positions[timer];
    if (position !== NOT_QUEUED) this.#removeAt(position);
    this.#states[timer] = undefined;
    this.#free.push(timer);
    state.timer = -1;
  }

  isOff(state: RequesterState): boolean {
    return this.#deadlines[state.timer] === OFF;
  }

  turnOff({ timer }: RequesterState): void {
    if (timer >= 0) this.#deadlines[timer] = OFF;
  }

  /** Only for a QP that has a timer; Infinity turns it off. */
  set({ timer }: RequesterState, deadlineNs: number): void {
    this.#deadlines[timer] = deadlineNs;
    let position = this.#positions[timer];
    if (deadlineNs === OFF || (position !== NOT_QUEUED && deadlineNs >= this.#keys[position])) return;
    if (position === NOT_QUEUED) position = this.#count++;
    this.#siftUp(position, timer, deadlineNs);
  }

  /** Calls `fire` for every timer whose deadline has come; the timer is off by then. */
  expire(nowNs: number, fire: (state: RequesterState) => void): void {
    while (this.nextNs <= nowNs) {
      const timer = this.#timers[0];
      const state = this.#states[timer] as RequesterState;
      const deadlineNs = this.#deadlines[timer];
      this.#removeAt(0);
      if (deadlineNs > nowNs) {
        this.set(state, deadlineNs);
        continue;
      }
      this.#deadlines[timer] = OFF;
      fire(state);
    }
  }

  /** The last one takes the place, and moves to where it belongs. */
  #removeAt(position: number): void {
    this.#positions[this.#timers[position]] = NOT_QUEUED;
    this.#count--;
    if (position === this.#count) return;
    const timer = this.#timers[this.#count];
    const keyNs = this.#keys[this.#count];
    this.#siftDown(this.#siftUp(position, timer, keyNs), timer, keyNs);
  }

  #siftUp(start: number, timer: number, keyNs: number): number {
    let at = start;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (this.#keys[parent] <= keyNs) break;
      this.#put(at, this.#timers[parent], this.#keys[parent]);
      at = parent;
    }
    this.#put(at, timer, keyNs);
    return at;
  }

  #siftDown(start: number, timer: number, keyNs: number): void {
    let at = start;
    for (;;) {
      let child = at * 2 + 1;
      if (child >= this.#count) break;
      if (child + 1 < this.#count && this.#keys[child + 1] < this.#keys[child]) child++;
      if (this.#keys[child] >= keyNs) break;
      this.#put(at, this.#timers[child], this.#keys[child]);
      at = child;
    }
    this.#put(at, timer, keyNs);
  }

  #put(position: number, timer: number, keyNs: number): void {
    this.#timers[position] = timer;
    this.#keys[position] = keyNs;
    this.#positions[timer] = position;
  }

  #grow(): void {
    const size = this.#deadlines.length * 2;
    this.#deadlines = copied(this.#deadlines, new Float64Array(size));
    this.#positions = copied(this.#positions, new Int32Array(size));
    this.#timers = copied(this.#timers, new Int32Array(size));
    this.#keys = copied(this.#keys, new Float64Array(size));
  }
}

function copied<T extends Float64Array | Int32Array>(from: T, to: T): T {
  to.set(from);
  return to;
}
