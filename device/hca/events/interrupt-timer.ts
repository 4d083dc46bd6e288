// SPDX-License-Identifier: Apache-2.0
/**
 * Next interrupt delay and next interrupt time stamp of an event queue (IPCOM000126453D par. 1,
 * 3-4; docs/DOCUMENTS.md decision 8). No timer runs: the event queue compares the stamp with local
 * time when it posts an event. 64-bit values are two dwords, compared by signed difference, so
 * local time may wrap.
 */
import type { LocalTime } from '../function/local-time.ts';

const ALL_ONES = 0xffffffff;

export class InterruptTimer {
  delayLow = 0;
  delayHigh = 0;
  stampLow = 0;
  stampHigh = 0;

  /** The delay has its largest value: software polls the queue, which never interrupts. */
  get pollOnly(): boolean {
    return this.delayLow === ALL_ONES && this.delayHigh === ALL_ONES;
  }

  /** The delay is 0: every event finds the stamp passed. */
  get immediate(): boolean {
    return this.delayLow === 0 && this.delayHigh === 0;
  }

  /** Sets the stamp to the last sample of `time` plus the delay. */
  restart(time: LocalTime): void {
    const sum = time.low + this.delayLow;
    this.stampLow = sum >>> 0;
    this.stampHigh = (time.high + this.delayHigh + (sum > ALL_ONES ? 1 : 0)) >>> 0;
  }

  /**
   * True when the last sample of `time` is later than the stamp: always with delay 0, never with
   * the largest delay.
   */
  isLate(time: LocalTime): boolean {
    if (this.immediate) return true;
    if (this.pollOnly) return false;
    const borrow = time.low < this.stampLow ? 1 : 0;
    const high = (time.high - this.stampHigh - borrow) | 0;
    return high > 0 || (high === 0 && time.low !== this.stampLow);
  }
}
