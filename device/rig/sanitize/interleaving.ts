// SPDX-License-Identifier: Apache-2.0
/**
 * The places and lengths of interruptions between the accesses of one driver action, drawn anew for
 * each action. A race window of a driver is one access wide, often before a store, and an error in
 * it often shows only when no event follows. So mostly there is one interruption, before the n-th
 * load, store or register write; otherwise there are many, anywhere. Used by `SystemUnderTest`.
 */
import type { Random } from '../../random.ts';

/** An access of the driver: a load, a store to memory, or a write to a register or a doorbell. */
export type DriverAccess = 'load' | 'store' | 'register';

/** Targets of a single interruption: before one of the next accesses of that kind, this many. */
const AIMS = [
  ['load', 6],
  ['load', 60],
  ['store', 8],
  ['store', 8],
  ['store', 8],
  ['register', 4],
  ['register', 12],
] as const;
/** Repeated interruptions occur before one in so many accesses. */
const RATES = [2, 8, 32] as const;
/** Actions of an interruption at most; Infinity: the device finishes all its work. */
const ACTIONS = [6, 48, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY] as const;

/** The interruptions of the present action. */
export class Interleaving {
  readonly #random: Random;
  /** Access kind of the single interruption; undefined if none is pending. */
  #aim: DriverAccess | undefined;
  /** Accesses of that kind before the interruption. */
  #skip = 0;
  /** Mean accesses between repeated interruptions; Infinity: none. */
  #rate = Number.POSITIVE_INFINITY;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Draws the interruptions of the next driver action. */
  renew(): void {
    this.stop();
    if (this.#random.oneIn(4)) this.#rate = this.#random.pick(RATES);
    else {
      const [kind, count] = this.#random.pick(AIMS);
      this.aim(kind, count);
    }
  }

  /** Sets a single interruption, before one of the next `count` accesses of a kind. */
  aim(kind: DriverAccess, count: number): void {
    this.stop();
    this.#aim = kind;
    this.#skip = this.#random.below(count);
  }

  /** No interruptions until `renew`. */
  stop(): void {
    this.#aim = undefined;
    this.#rate = Number.POSITIVE_INFINITY;
  }

  /** Actions of others before this access. Infinity: the device finishes all its work. */
  draw(kind: DriverAccess): number {
    if (!this.#strikes(kind)) return 0;
    const most = this.#random.pick(ACTIONS);
    return Number.isFinite(most) ? this.#random.between(1, most) : most;
  }

  #strikes(kind: DriverAccess): boolean {
    if (Number.isFinite(this.#rate)) return this.#random.oneIn(this.#rate);
    if (kind !== this.#aim || this.#skip-- > 0) return false;
    this.#aim = undefined;
    return true;
  }
}
