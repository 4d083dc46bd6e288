// SPDX-License-Identifier: Apache-2.0
/**
 * Decides the faults of the packets of one direction of a faulty link: at random with given
 * probabilities, and by schedule. Each packet costs the same number of random draws whatever the
 * decision, so a change of one probability does not move the other faults.
 */
import { type FaultyLinkOptions, type LinkFault, linkFaults, type ScheduledFault } from './link-options.ts';

/** Seeded random numbers. */
export interface RandomSource {
  next(): number;
  /** 0 to `limit - 1`. */
  below(limit: number): number;
}

/** Faults as bits of a mask. */
export const FaultBit = { DROP: 1, DUPLICATE: 2, REORDER: 4, CORRUPT: 8, DELAY: 16 } as const;

const bits: Readonly<Record<LinkFault, number>> = {
  drop: FaultBit.DROP,
  duplicate: FaultBit.DUPLICATE,
  reorder: FaultBit.REORDER,
  corrupt: FaultBit.CORRUPT,
  delay: FaultBit.DELAY,
};
const RANDOM_RANGE = 0x1_0000_0000;
const BYTE_VALUES = 256;

export class FaultSource {
  /** Byte to change, and bits to flip in it, of the last decided `corrupt`. */
  byte = 0;
  flip = 0;
  /** Time of the next fault that is scheduled by time; Infinity when none is left. */
  nextAtNs: number;
  readonly #random: RandomSource;
  /** For each fault, in the order of `linkFaults`: the fault happens when a draw is below. */
  readonly #thresholds: readonly number[];
  readonly #isRandom: boolean;
  readonly #byPacket: readonly ScheduledFault[];
  readonly #byTime: readonly ScheduledFault[];
  #nextByPacket = 0;
  #nextByTime = 0;

  constructor(options: FaultyLinkOptions, direction: 0 | 1, random: RandomSource) {
    this.#random = random;
    this.#thresholds = linkFaults.map((fault) => (options.faults[fault] ?? 0) * RANDOM_RANGE);
    this.#isRandom = this.#thresholds.some((threshold) => threshold > 0);
    const own = options.schedule.filter((entry) => entry.direction === direction);
    this.#byPacket = own
      .filter(({ packet }) => packet !== undefined)
      .sort((left, right) => (left.packet ?? 0) - (right.packet ?? 0));
    this.#byTime = own
      .filter(({ atNs }) => atNs !== undefined)
      .sort((left, right) => (left.atNs ?? 0) - (right.atNs ?? 0));
    this.nextAtNs = this.#byTime[0]?.atNs ?? Number.POSITIVE_INFINITY;
  }

  /**
   * Returns the mask of `FaultBit` for packet number `packet` of this direction, `lengthBytes`
   * long. Once `nextAtNs` has come, `decideByTime` has further faults for it.
   */
  decide(packet: number, lengthBytes: number): number {
    let faults = 0;
    if (this.#isRandom) {
      for (let index = 0; index < linkFaults.length; index++) {
        if (this.#random.next() < this.#thresholds[index]) faults |= bits[linkFaults[index]];
      }
      if (faults & FaultBit.CORRUPT) this.#aim(undefined, lengthBytes);
    }
    while (this.#nextByPacket < this.#byPacket.length && (this.#byPacket[this.#nextByPacket].packet ?? 0) <= packet)
      faults |= this.#take(this.#byPacket[this.#nextByPacket++], lengthBytes);
    return faults;
  }

  /** Takes the faults for a packet that leaves at `nowNs`, as a mask of `FaultBit`. */
  decideByTime(nowNs: number, lengthBytes: number): number {
    let faults = 0;
    while (this.nextAtNs <= nowNs) {
      faults |= this.#take(this.#byTime[this.#nextByTime++], lengthBytes);
      this.nextAtNs = this.#byTime[this.#nextByTime]?.atNs ?? Number.POSITIVE_INFINITY;
    }
    return faults;
  }

  #take(entry: ScheduledFault, lengthBytes: number): number {
    if (entry.fault === 'corrupt') this.#aim(entry, lengthBytes);
    return bits[entry.fault];
  }

  /** Chooses the byte and the bits of a `corrupt`. */
  #aim(entry: ScheduledFault | undefined, lengthBytes: number): void {
    this.byte = (entry?.byte ?? this.#random.below(lengthBytes)) % lengthBytes;
    this.flip = entry?.flip ?? 1 + this.#random.below(BYTE_VALUES - 1);
  }
}
