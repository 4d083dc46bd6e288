// SPDX-License-Identifier: Apache-2.0
/**
 * Transport timers, one per connected QP that may send: local ACK timeout (IBTA 9.7.6.1.3) or RNR
 * wait (9.7.5.2.8). Postponing a deadline, as every acknowledgement does, costs nothing: the heap
 * notices when the old deadline comes. Columns of numbers, a few bytes per timer, keep the timers
 * of thousands of QPs in the processor's cache. Set by requester and completer;
 * `ConnectedTransport` expires them.
 */
import type { RequesterState } from '../state/requester-state.ts';

const OFF = Number.POSITIVE_INFINITY;
const NOT_QUEUED = -1;
const INITIAL_TIMERS = 64;

export class RetryTimers {
  /**
   * Deadline that `set` sets next, in adapter ns. It is a field and no argument, and NaN at first,
   * for the reasons that `AddressRegister` gives.
   */
  deadlineNs = Number.NaN;
  /** By timer: its requester state, its deadline in adapter ns, its position in the heap. */
  readonly #states: (RequesterState | undefined)[] = [];
  #deadlines = new Float64Array(INITIAL_TIMERS);
  #positions = new Int32Array(INITIAL_TIMERS);
  /**
   * By position in the heap: the timer, and its key, at most its deadline. In an empty heap the
   * first key is `OFF`.
   */
  #timers = new Int32Array(INITIAL_TIMERS);
  #keys = new Float64Array(INITIAL_TIMERS).fill(OFF);
  #count = 0;
  readonly #free: number[] = [];

  /** Earliest adapter time in ns at which `expire` may have work; Infinity for never. */
  get nextNs(): number {
    return this.#keys[0];
  }

  /** Gives the QP a timer, turned off. No effect when it has one. */
  add(state: RequesterState): void {
    if (state.timer >= 0) return;
    const timer = this.#free.pop() ?? this.#states.length;
    if (timer === this.#deadlines.length) this.#grow();
    this.#states[timer] = state;
    this.#deadlines[timer] = OFF;
    this.#positions[timer] = NOT_QUEUED;
    state.timer = timer;
  }

  /** Takes the QP's timer away. No effect when it has none. */
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

  /** Turns the timer off. No effect for a QP without a timer. */
  turnOff({ timer }: RequesterState): void {
    if (timer >= 0) this.#deadlines[timer] = OFF;
  }

  /** Sets the deadline to `deadlineNs`; Infinity turns the timer off. The QP must have a timer. */
  set({ timer }: RequesterState): void {
    const { deadlineNs } = this;
    this.#deadlines[timer] = deadlineNs;
    let position = this.#positions[timer];
    if (deadlineNs === OFF || (position !== NOT_QUEUED && deadlineNs >= this.#keys[position])) return;
    if (position === NOT_QUEUED) position = this.#count++;
    this.#siftUp(position, timer, deadlineNs);
  }

  /** Calls `fire` for each timer whose deadline is reached, after turning it off. */
  expire(nowNs: number, fire: (state: RequesterState) => void): void {
    while (this.nextNs <= nowNs) {
      const timer = this.#timers[0];
      const state = this.#states[timer] as RequesterState;
      const deadlineNs = this.#deadlines[timer];
      this.#removeAt(0);
      if (deadlineNs > nowNs) {
        this.deadlineNs = deadlineNs;
        this.set(state);
        continue;
      }
      this.#deadlines[timer] = OFF;
      fire(state);
    }
  }

  /** The last entry of the heap takes the place and is sifted. */
  #removeAt(position: number): void {
    this.#positions[this.#timers[position]] = NOT_QUEUED;
    this.#count--;
    if (this.#count === 0) this.#keys[0] = OFF;
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
