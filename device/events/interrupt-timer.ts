// SPDX-License-Identifier: Apache-2.0
/**
 * Next interrupt delay and next interrupt time stamp of an event queue (IPCOM000126453D): no timer runs; the stamp is compared with local time when an
 * event is posted. 64-bit values are kept as two dwords and compared by their signed difference, so that local time may wrap.
 */
import type { LocalTime } from '../function/local-time.ts';

const ALL_ONES = 0xffffffff;

export class InterruptTimer {
  delayLow = 0;
  delayHigh = 0;
  stampLow = 0;
  stampHigh = 0;

  /** The delay is the largest there is: the queue is polled and never interrupts. */
  get pollOnly(): boolean {
    return this.delayLow === ALL_ONES && this.delayHigh === ALL_ONES;
  }

  /** There is no delay: every event finds the stamp passed. */
  get immediate(): boolean {
    return this.delayLow === 0 && this.delayHigh === 0;
  }

  /** Sets the stamp to `time`'s sample plus the delay. */
  restart(time: LocalTime): void {
    const sum = time.low + this.delayLow;
    this.stampLow = sum >>> 0;
    this.stampHigh = (time.high + this.delayHigh + (sum > ALL_ONES ? 1 : 0)) >>> 0;
  }

  /** `time`'s sample is later than the stamp; always without a delay, never when polled. */
  isLate(time: LocalTime): boolean {
    if (this.immediate) return true;
    if (this.pollOnly) return false;
    const borrow = time.low < this.stampLow ? 1 : 0;
    const high = (time.high - this.stampHigh - borrow) | 0;
    return high > 0 || (high === 0 && time.low !== this.stampLow);
  }
}
