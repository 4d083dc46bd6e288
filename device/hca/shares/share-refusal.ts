// SPDX-License-Identifier: Apache-2.0
/**
 * Refusal of a resource change, as in the error messages of US 8,484,392 par. 69, 73, 76, 77, 83
 * and 85: a status, the field at fault, and the amount that would have been accepted.
 */
import { RESOURCE_CHANGE_AMOUNT_OFFSET } from '../../../protocol/layout/gen/resource-change.gen.ts';
import type { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';

/** Why a change was refused. */
export interface ShareRefusal {
  readonly status: ManagementStatus;
  /** Byte offset in the resource change. */
  readonly offset: number;
  /** Largest amount (or bits of a map) that would have been accepted, where that helps. */
  readonly limit: number;
}

/** A refusal that blames the field at `offset`. */
export function refuse(status: ManagementStatus, offset: number, limit: number): ShareRefusal {
  return { status, offset, limit };
}

/** A refusal that blames the amount. */
export function badAmount(status: ManagementStatus, limit: number): ShareRefusal {
  return refuse(status, RESOURCE_CHANGE_AMOUNT_OFFSET, limit);
}
