// SPDX-License-Identifier: Apache-2.0
/**
 * Times at which a faulty link goes down and comes up again: first by schedule, then at random with
 * given means.
 */
import type { RandomSource } from './fault-source.ts';
import type { FaultyLinkOptions } from './link-options.ts';

/** Random times are uniform between half and one and a half of their mean. */
const STEPS = 1 << 20;

export class FlapSchedule {
  up = true;
  /** Time of the next change of `up`; Infinity: never. */
  nextNs: number;
  readonly #options: FaultyLinkOptions;
  readonly #random: RandomSource;
  #index = 0;
  #endNs = 0;

  constructor(options: FaultyLinkOptions, random: RandomSource) {
    this.#options = options;
    this.#random = random;
    this.nextNs = this.#nextDownNs(0);
  }

  /** Takes the change at `nextNs`: time has reached it. */
  advance(): void {
    this.up = !this.up;
    this.nextNs = this.up ? this.#nextDownNs(this.nextNs) : this.#endNs;
  }

  #nextDownNs(nowNs: number): number {
    const { flaps, flapEveryNs, flapLengthNs } = this.#options;
    const flap = flaps[this.#index++];
    if (flap !== undefined) {
      this.#endNs = flap.atNs + flap.lengthNs;
      return flap.atNs;
    }
    if (flapEveryNs === 0) return Number.POSITIVE_INFINITY;
    const atNs = nowNs + this.#spread(flapEveryNs);
    this.#endNs = atNs + this.#spread(flapLengthNs);
    return atNs;
  }

  #spread(meanNs: number): number {
    return Math.max(1, Math.round(meanNs * (0.5 + this.#random.below(STEPS) / STEPS)));
  }
}
