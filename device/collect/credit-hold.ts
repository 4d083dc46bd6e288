// SPDX-License-Identifier: Apache-2.0
/**
 * The credits of one command: where each came from, and thereby whether it is still held. The hold goes with the command, from its PCB to its record;
 * because releasing empties it, every credit comes back once only, whatever ends the command.
 */

export const CreditSource = { NONE: 0, PRIVATE: 1, SHARED: 2 } as const;
export type CreditSource = (typeof CreditSource)[keyof typeof CreditSource];

export class CreditHold {
  lane = 0;
  functionNumber = 0;
  execution: CreditSource = CreditSource.NONE;
  completion: CreditSource = CreditSource.NONE;
}
