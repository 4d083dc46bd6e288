// SPDX-License-Identifier: Apache-2.0
/** The signalling rate of links, with which pictures compare their load (IBTA 14.2.5.6). */

const LANES: Readonly<Record<string, number>> = { '1x': 1, '2x': 2, '4x': 4, '8x': 8, '12x': 12 };
const GIGABITS_OF_LANE: Readonly<Record<string, number>> = { SDR: 2.5, DDR: 5, QDR: 10 };

/** In Gbit/s; 0 for words that are not known. */
export function gigabitsOf(width: string, speed: string): number {
  return (LANES[width] ?? 0) * (GIGABITS_OF_LANE[speed] ?? 0);
}
