// SPDX-License-Identifier: Apache-2.0
/** Why a resource change is refused: a status, the field at fault within the change, and what would have been accepted. */
import { RESOURCE_CHANGE_AMOUNT_OFFSET } from '../../protocol/layout/gen/resource-change.gen.ts';
import type { ManagementStatus } from '../../protocol/layout/gen/values.gen.ts';

export interface Refusal {
  readonly status: ManagementStatus;
  /** Byte offset in the resource change. */
  readonly offset: number;
  /** Largest amount (or bits of a map) that would have been accepted, where that helps. */
  readonly limit: number;
}

export function refuse(status: ManagementStatus, offset: number, limit: number): Refusal {
  return { status, offset, limit };
}

export function badAmount(status: ManagementStatus, limit: number): Refusal {
  return refuse(status, RESOURCE_CHANGE_AMOUNT_OFFSET, limit);
}
