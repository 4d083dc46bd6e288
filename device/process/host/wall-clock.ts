// SPDX-License-Identifier: Apache-2.0
/**
 * The adapter's clock in a live process: ns since the adapter was powered on, without the time for
 * which it was stopped. `AdapterProcess` builds it on the clock of the pump.
 */
import type { AdapterClock } from '../../host.ts';

/** A monotonic clock with one alarm, the earliest that was set. */
export class WallClock implements AdapterClock {
  readonly #nowNs: () => number;
  #startNs: number;
  /** The time at which it stands. */
  #stoppedNs: number | undefined = undefined;
  #alarmNs = Number.POSITIVE_INFINITY;

  /** `nowNs`: a monotonic clock in ns, the pump's. */
  constructor(nowNs: () => number) {
    this.#nowNs = nowNs;
    this.#startNs = nowNs();
  }

  now(): number {
    return this.#stoppedNs ?? Math.floor(this.#nowNs() - this.#startNs);
  }

  setAlarm(atNs: number): void {
    if (atNs < this.#alarmNs) this.#alarmNs = atNs;
  }

  /**
   * The earliest alarm on the clock given to the constructor, Infinity when there is none, or when
   * none comes because this clock stands.
   */
  get nextAlarmNs(): number {
    return this.#stoppedNs === undefined ? this.#alarmNs + this.#startNs : Number.POSITIVE_INFINITY;
  }

  /** Stands still until `goOn`. May be called twice. */
  stop(): void {
    this.#stoppedNs = this.now();
  }

  goOn(): void {
    if (this.#stoppedNs === undefined) return;
    this.#startNs = this.#nowNs() - this.#stoppedNs;
    this.#stoppedNs = undefined;
  }

  /** Of a clock that stands: it stands at the next alarm, if there is one. */
  jumpToAlarm(): void {
    if (this.#stoppedNs !== undefined && Number.isFinite(this.#alarmNs))
      this.#stoppedNs = Math.max(this.#stoppedNs, Math.ceil(this.#alarmNs));
  }

  /** Clears the alarm when it is due: the adapter runs next. */
  takeDueAlarm(): void {
    if (this.#alarmNs <= this.now()) this.#alarmNs = Number.POSITIVE_INFINITY;
  }
}
