// SPDX-License-Identifier: Apache-2.0
/**
 * A queue pair as the key check and memory windows see it (IBTA 10.6.7). The class `QueuePair`
 * implements it in a layer above.
 */
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ProtectionDomain } from './protection-domain.ts';

export interface KeyHolder {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  readonly pd: ProtectionDomain;
  /** Number of type 2 memory windows that are bound to it. */
  boundWindows: number;
}
