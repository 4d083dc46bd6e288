// SPDX-License-Identifier: Apache-2.0
/**
 * Where others come in between the accesses of one thing the driver does, and for how long: drawn anew each time. A window of a driver is one access, often the store
 * before which it should have looked again, and what happens in it often only shows when nothing follows. So mostly there is one interruption, before the load, store or
 * register write of some number; else there are many, anywhere.
 */
import type { Random } from '../../random.ts';

/** An access of the driver: a load, a store to memory, or a write to a register or a doorbell. */
export type Touch = 'load' | 'store' | 'register';

/** Where an interruption is aimed: before one of so many accesses of that kind. */
const AIMS = [
  ['load', 6],
  ['load', 60],
  ['store', 8],
  ['store', 8],
  ['store', 8],
  ['register', 4],
  ['register', 12],
] as const;
/** Interruptions that are not aimed come before one in so many accesses. */
const RATES = [2, 8, 32] as const;
/** Actions of an interruption at most; endless: everything happens that now can. */
const ACTIONS = [6, 48, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as const;

export class Interleaving {
  readonly #random: Random;
  /** What the one interruption comes before, and after how many others of that kind; undefined: there is none, or it is not one. */
  #aim: Touch | undefined;
  #skip = 0;
  /** Endless: no interruption. */
  #rate = Number.POSITIVE_INFINITY;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The driver begins something else. */
  renew(): void {
    this.stop();
    if (this.#random.oneIn(4)) this.#rate = this.#random.pick(RATES);
    else {
      const [touch, count] = this.#random.pick(AIMS);
      this.aim(touch, count);
    }
  }

  /** One interruption, before one of the next `count` accesses of a kind. */
  aim(touch: Touch, count: number): void {
    this.stop();
    this.#aim = touch;
    this.#skip = this.#random.below(count);
  }

  /** Until `renew`, nobody comes in between. */
  stop(): void {
    this.#aim = undefined;
    this.#rate = Number.POSITIVE_INFINITY;
  }

  /** Before an access: how many actions of others come first. Infinity: all that there are. */
  draw(touch: Touch): number {
    if (!this.#strikes(touch)) return 0;
    const most = this.#random.pick(ACTIONS);
    return Number.isFinite(most) ? this.#random.between(1, most) : most;
  }

  #strikes(touch: Touch): boolean {
    if (Number.isFinite(this.#rate)) return this.#random.oneIn(this.#rate);
    if (touch !== this.#aim || this.#skip-- > 0) return false;
    this.#aim = undefined;
    return true;
  }
}
