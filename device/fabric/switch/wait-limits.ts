// SPDX-License-Identifier: Apache-2.0
/**
 * Limits of the time that packets may wait in a switch (IBTA 18.2.5.4): times of one pass, which
 * the switch, its ports, output queues and input gates share. An object, because V8 allocates a
 * heap number for each time that a call takes or returns.
 */

/** A code of a time limit from which there is no limit. */
export const NO_LIMIT_CODE = 20;
const CODES = 32;
const UNIT_NS = 4096;

/** Times in ns by code: 4.096 us times 2^code. */
const codeNs = Float64Array.from({ length: CODES }, (_, code) =>
  code >= NO_LIMIT_CODE ? Number.POSITIVE_INFINITY : UNIT_NS * 2 ** code,
);

export interface WaitLimits {
  nowNs: number;
  /** Longest time at the head of an output queue of the port that is aged, and in the switch. */
  headNs: number;
  switchNs: number;
  /** Packets dropped at the head in a row after which a VL of the port is stalled. */
  stallCount: number;
  /** Time at which the first packet that waits is dropped; Infinity: none. */
  nextNs: number;
}

export function newWaitLimits(): WaitLimits {
  const never = Number.POSITIVE_INFINITY;
  return { nowNs: never, headNs: never, switchNs: never, stallCount: never, nextNs: never };
}

/** The time of a code of 5 bits; Infinity for no limit. */
export function lifeNs(code: number): number {
  return codeNs[code];
}
