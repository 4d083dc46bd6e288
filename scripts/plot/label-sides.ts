// SPDX-License-Identifier: Apache-2.0
/**
 * Chooses the side of its point for a label, so that it hides no mark and no other label, or leaves
 * the label out. Pure; called by plots with lines close to each other.
 */

/** A point of one of several lines, all at about the same place of the other axis. */
export interface LabelledPoint {
  /** Pixels from the upper edge: the point, and the ends of its bar. */
  readonly y: number;
  readonly top: number;
  readonly bottom: number;
  /** The side where its label should stand; undefined: it has none. */
  readonly wanted: 'above' | 'below' | undefined;
}

export type LabelSide = 'above' | 'below' | undefined;

/** From the end of a bar to the middle of its label; half the height of a label with its halo. */
export const LABEL_DISTANCE = 13;
const HALF = 8;
const HALF_POINT = 3;

/** The side of each label. A label that finds room on neither side is left out. */
export function chooseSides(points: readonly LabelledPoint[]): LabelSide[] {
  const middles: number[] = [];
  return points.map((point) => {
    if (point.wanted === undefined) return undefined;
    const sides = point.wanted === 'above' ? (['above', 'below'] as const) : (['below', 'above'] as const);
    for (const side of sides) {
      const middle = side === 'above' ? point.top - LABEL_DISTANCE : point.bottom + LABEL_DISTANCE;
      const hidesPoint = points.some(({ y }) => Math.abs(y - middle) < HALF + HALF_POINT);
      if (hidesPoint || middles.some((other) => Math.abs(other - middle) < 2 * HALF)) continue;
      middles.push(middle);
      return side;
    }
    return undefined;
  });
}
