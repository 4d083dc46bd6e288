// SPDX-License-Identifier: Apache-2.0
/**
 * Credits of one command: the source of each, and thereby whether it is still held (US 8,484,392
 * par. 117, 121-124). The hold moves with the command from its PCB to its record. Release empties
 * it, so each credit returns exactly once on every path. Lanes fill and empty it.
 */

/** Source of a held credit; NONE: not held. */
export const CreditSource = { NONE: 0, PRIVATE: 1, SHARED: 2 } as const;
export type CreditSource = (typeof CreditSource)[keyof typeof CreditSource];

/** Lane and function that took the credits, and the source of each. */
export class CreditHold {
  lane = 0;
  functionNumber = 0;
  execution: CreditSource = CreditSource.NONE;
  completion: CreditSource = CreditSource.NONE;
}
