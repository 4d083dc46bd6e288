// SPDX-License-Identifier: Apache-2.0
/**
 * Time that passes only when a test says so. The adapter asks for one alarm, the earliest; an idle machine jumps straight to it, so an hour of retry
 * timers takes milliseconds. Used by the in-process machine.
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

  /** When the alarm is due, or infinity. */
  get alarmNs(): number {
    return this.#alarmNs;
  }

  /** Lets time pass; an alarm that falls due on the way is spent: the caller runs the adapter next. */
  advance(lengthNs: number): void {
    if (!(lengthNs >= 0)) throw new Error(`SimulatedClock.advance(${lengthNs}): time does not run backwards.`);
    this.#nowNs += lengthNs;
    if (this.#alarmNs <= this.#nowNs) this.#alarmNs = Number.POSITIVE_INFINITY;
  }

  /** Jumps to the alarm and spends it. False when none is set. */
  jumpToAlarm(): boolean {
    if (this.#alarmNs === Number.POSITIVE_INFINITY) return false;
    this.advance(Math.max(0, this.#alarmNs - this.#nowNs));
    return true;
  }
}
