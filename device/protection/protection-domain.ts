// SPDX-License-Identifier: Apache-2.0
/** Protection domain: what memory regions, address handles and queue pairs must have in common (IBTA 10.2.3). */
import type { UnderlyingFunction } from '../function/underlying-function.ts';

export class ProtectionDomain {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  /** Software's own handle. */
  tokenLow = 0;
  tokenHigh = 0;
  /** Objects that use it. */
  references = 0;

  constructor(number: number, owner: UnderlyingFunction) {
    this.number = number;
    this.owner = owner;
  }
}
