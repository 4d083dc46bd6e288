// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter's clock in a live process: ns since the adapter was powered on. `AdapterProcess`
 * builds it on the clock of the pump.
 */
import type { AdapterClock } from '../../host.ts';

/** A monotonic clock with one alarm, the earliest that was set. */
export class WallClock implements AdapterClock {
  readonly #nowNs: () => number;
  readonly #startNs: number;
  #alarmNs = Number.POSITIVE_INFINITY;

  /** `nowNs`: a monotonic clock in ns, the pump's. */
  constructor(nowNs: () => number) {
    this.#nowNs = nowNs;
    this.#startNs = nowNs();
  }

  now(): number {
    return Math.floor(this.#nowNs() - this.#startNs);
  }

  setAlarm(atNs: number): void {
    if (atNs < this.#alarmNs) this.#alarmNs = atNs;
  }

  /** The earliest alarm on the clock given to the constructor, Infinity when there is none. */
  get nextAlarmNs(): number {
    return this.#alarmNs + this.#startNs;
  }

  /** Clears the alarm when it is due: the adapter runs next. */
  takeDueAlarm(): void {
    if (this.#alarmNs <= this.now()) this.#alarmNs = Number.POSITIVE_INFINITY;
  }
}
