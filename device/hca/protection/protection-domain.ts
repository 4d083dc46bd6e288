// SPDX-License-Identifier: Apache-2.0
/**
 * Protection domain: queue pairs, memory regions and address handles work together only within one
 * (IBTA 10.2.3). Management commands make and destroy it.
 */
import type { UnderlyingFunction } from '../function/underlying-function.ts';

export class ProtectionDomain {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  /** Opaque handle of software. */
  tokenLow = 0;
  tokenHigh = 0;
  /** Number of objects that use it. */
  references = 0;

  constructor(number: number, owner: UnderlyingFunction) {
    this.number = number;
    this.owner = owner;
  }
}
