// SPDX-License-Identifier: Apache-2.0
/** Where in the VCB space a function's VCBs can stand: the base address register moves where there is room (US8484392, figure 4). */
import type { SharePlan } from './share-plan.ts';

/** VCBs that somebody gave back and still collects into. */
export interface VcbReservations {
  /** A number of the range is still held by another function. */
  isHeldByOther(functionNumber: number, base: number, count: number): boolean;
}

export type Placement = { readonly base: number } | { readonly converging: boolean; readonly largest: number };

interface Gap {
  readonly first: number;
  readonly end: number;
}

/**
 * A place for `count` VCBs of `owner`: where they are if they fit there, else the first gap. When there is none: the largest gap, and whether only
 * VCBs still in use are in the way.
 */
export function findPlace(
  plan: SharePlan,
  reserved: VcbReservations,
  functionNumber: number,
  count: number,
): Placement {
  const gaps = findGaps(plan, functionNumber);
  const { vcbBase } = plan.functions[functionNumber];
  if (count === 0) return { base: vcbBase };
  const here = gaps.find((gap) => gap.first <= vcbBase && vcbBase + count <= gap.end);
  if (here !== undefined && !reserved.isHeldByOther(functionNumber, vcbBase, count)) return { base: vcbBase };
  for (const gap of gaps)
    for (let base = gap.first; base + count <= gap.end; base++)
      if (!reserved.isHeldByOther(functionNumber, base, count)) return { base };
  const largest = gaps.reduce((most, gap) => Math.max(most, gap.end - gap.first), 0);
  return { converging: count <= largest, largest };
}

/** Whether `count` VCBs from `base` on belong to no other function. */
export function isFree(plan: SharePlan, functionNumber: number, base: number, count: number): boolean {
  return plan.functions.every(
    (share, number) =>
      number === functionNumber ||
      share.vcbs === 0 ||
      base + count <= share.vcbBase ||
      share.vcbBase + share.vcbs <= base,
  );
}

/** Pieces of the VCB space that no function but `owner` has. */
function findGaps(plan: SharePlan, functionNumber: number): Gap[] {
  const others = plan.functions
    .filter((share, number) => number !== functionNumber && share.vcbs > 0)
    .sort((a, b) => a.vcbBase - b.vcbBase);
  const gaps: Gap[] = [];
  let first = 0;
  for (const { vcbBase, vcbs } of others) {
    if (vcbBase > first) gaps.push({ first, end: vcbBase });
    first = vcbBase + vcbs;
  }
  if (first < plan.limits.vcbs) gaps.push({ first, end: plan.limits.vcbs });
  return gaps;
}
