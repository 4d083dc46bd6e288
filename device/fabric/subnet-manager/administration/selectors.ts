// SPDX-License-Identifier: Apache-2.0
/**
 * Rates, MTUs and life times of paths, and how queries choose among them (IBTA 15.2.5.16, tables of
 * PathRecord). Path and multicast records use the same selectors.
 */
import {
  getPortInfoLinkSpeedActive,
  getPortInfoLinkSpeedExtendedActive,
  getPortInfoLinkWidthActive,
} from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { LinkWidth, PathSelector } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { SubnetPort } from '../subnet.ts';

/** Code of a rate and its Gbit/s, slowest first. */
const RATES: readonly (readonly [code: number, gigabits: number])[] = [
  [2, 2.5],
  [5, 5],
  [3, 10],
  [11, 14],
  [6, 20],
  [15, 25],
  [4, 30],
  [7, 40],
  [12, 56],
  [8, 60],
  [9, 80],
  [16, 100],
  [13, 112],
  [10, 120],
  [14, 168],
  [17, 200],
  [18, 300],
];

/** Codes in order of what they stand for, the least first. */
export const rateCodes: readonly number[] = RATES.map(([code]) => code);
export const mtuCodes: readonly number[] = [1, 2, 3, 4, 5];

const LANES: Readonly<Record<number, number>> = {
  [LinkWidth.WIDTH_1X]: 1,
  [LinkWidth.WIDTH_2X]: 2,
  [LinkWidth.WIDTH_4X]: 4,
  [LinkWidth.WIDTH_8X]: 8,
  [LinkWidth.WIDTH_12X]: 12,
};
/** Gbit/s of a lane by code of the speed, and by that of the extended speed. */
const SPEEDS: Readonly<Record<number, number>> = { 1: 2.5, 2: 5, 4: 10 };
const EXTENDED_SPEEDS: Readonly<Record<number, number>> = { 1: 14, 2: 25 };

/** Code of the rate of a link: the fastest one up to width times speed. */
export function rateOf({ view }: SubnetPort): number {
  const extended = EXTENDED_SPEEDS[getPortInfoLinkSpeedExtendedActive(view, 0)];
  const speed = extended ?? SPEEDS[getPortInfoLinkSpeedActive(view, 0)] ?? 2.5;
  const gigabits = speed * (LANES[getPortInfoLinkWidthActive(view, 0)] ?? 1);
  let best = RATES[0][0];
  for (const [code, rate] of RATES) if (rate <= gigabits) best = code;
  return best;
}

/** The lesser of two codes in the order of `codes`. */
export function lesser(codes: readonly number[], one: number, other: number): number {
  return codes.indexOf(one) <= codes.indexOf(other) ? one : other;
}

/**
 * The value that a path can have, at most `available`, if a query wants it compared with `wanted`.
 * Undefined: the path does not suit.
 */
export function select(
  codes: readonly number[],
  selector: number,
  wanted: number,
  available: number,
): number | undefined {
  const most = codes.indexOf(available);
  const asked = codes.indexOf(wanted);
  switch (selector) {
    case PathSelector.GREATER:
      return asked >= 0 && most > asked ? available : undefined;
    case PathSelector.LESS:
      return asked > 0 ? codes[Math.min(most, asked - 1)] : undefined;
    case PathSelector.EXACT:
      return asked >= 0 && most >= asked ? wanted : undefined;
    default:
      return available;
  }
}

/** As `select`, for times: a path that takes at least `least` suits if that is short enough. */
export function selectTime(selector: number, wanted: number, least: number): number | undefined {
  switch (selector) {
    case PathSelector.GREATER:
      return Math.max(least, wanted + 1);
    case PathSelector.LESS:
      return least < wanted ? least : undefined;
    case PathSelector.EXACT:
      return least <= wanted ? wanted : undefined;
    default:
      return least;
  }
}
