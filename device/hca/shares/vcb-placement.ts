// SPDX-License-Identifier: Apache-2.0
/**
 * Placement of a function's VCBs in the VCB space: its base address register moves to where there
 * is room (US 8,484,392 par. 70-71). `share-changes.ts` calls it.
 */
import type { SharePlan } from './share-plan.ts';

/** VCBs that a function returned but still collects into. */
export interface VcbReservations {
  /** True when another function still holds a VCB of the range. */
  isHeldByOther(functionNumber: number, base: number, count: number): boolean;
}

/**
 * The base found; or the size of the largest gap, and whether only VCBs in use prevent a placement.
 */
export type Placement = { readonly base: number } | { readonly converging: boolean; readonly largest: number };

/** VCB numbers from `first` up to, not including, `end`. */
interface Gap {
  readonly first: number;
  readonly end: number;
}

/**
 * Finds a base for `count` VCBs of a function: the present one if they fit there, else the first
 * gap. When there is none, returns the largest gap and whether only VCBs still in use prevent it.
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

/** True when `count` VCBs from `base` on are allocated to no other function. */
export function isFree(plan: SharePlan, functionNumber: number, base: number, count: number): boolean {
  return plan.functions.every(
    (share, number) =>
      number === functionNumber ||
      share.vcbs === 0 ||
      base + count <= share.vcbBase ||
      share.vcbBase + share.vcbs <= base,
  );
}

/** Ranges of the VCB space that no other function has. */
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
