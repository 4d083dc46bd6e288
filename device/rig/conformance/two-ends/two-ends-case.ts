// SPDX-License-Identifier: Apache-2.0
/** The form of a case between two ends, and the message sizes that the cases use. */
import type { Ends } from './ends.ts';

/** One case. Throws when something is wrong. */
export interface TwoEndsCase {
  readonly name: string;
  /** Holds only with a link that loses nothing. */
  readonly losslessOnly?: boolean;
  run(ends: Ends): void;
}

/** Message sizes below, at and above one packet of a path MTU code, and of several packets. */
export function sizesAround(pathMtu: number): number[] {
  const mtuBytes = 128 << pathMtu;
  return [0, 1, mtuBytes - 1, mtuBytes, mtuBytes + 1, 3 * mtuBytes + 5];
}
