// SPDX-License-Identifier: Apache-2.0
/**
 * Simulated time, advanced by tests. The adapter sets one alarm, its earliest; an idle machine
 * advances to it at once, so an hour of retry timers takes milliseconds. Used by
 * `InProcessMachine`.
 */
import type { AdapterClock } from '../../host.ts';

/** Simulated time in ns since power-on. */
export class SimulatedClock implements AdapterClock {
  #nowNs: number;
  #alarmNs = Number.POSITIVE_INFINITY;

  constructor(startNs = 0) {
    this.#nowNs = startNs;
  }

  now(): number {
    return this.#nowNs;
  }

  setAlarm(atNs: number): void {
    if (atNs < this.#alarmNs) this.#alarmNs = atNs;
  }

  /** Time of the alarm; Infinity if none is set. */
  get alarmNs(): number {
    return this.#alarmNs;
  }

  /** Advances time and clears an alarm that falls due: the caller runs the adapter next. */
  advance(lengthNs: number): void {
    if (!(lengthNs >= 0)) throw new Error(`SimulatedClock.advance(${lengthNs}): time does not run backwards.`);
    this.#nowNs += lengthNs;
    if (this.#alarmNs <= this.#nowNs) this.#alarmNs = Number.POSITIVE_INFINITY;
  }

  /** Advances to the alarm and clears it; false if none is set. */
  jumpToAlarm(): boolean {
    if (this.#alarmNs === Number.POSITIVE_INFINITY) return false;
    this.advance(Math.max(0, this.#alarmNs - this.#nowNs));
    return true;
  }
}
