// SPDX-License-Identifier: Apache-2.0
/**
 * What the key check and memory windows see of a queue pair (IBTA 10.6.7): the queue pair itself
 * belongs to a layer above.
 */
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ProtectionDomain } from './protection-domain.ts';

export interface KeyHolder {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  readonly pd: ProtectionDomain;
  /** Type 2 memory windows that are bound to it. */
  boundWindows: number;
}
