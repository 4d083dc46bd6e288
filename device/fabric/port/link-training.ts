// SPDX-License-Identifier: Apache-2.0
/**
 * Training of a link (IBTA 5.6 and 7.2.7): the ends agree on width and speed, and both come up.
 * Links call it when they are joined, after they went down, and when management restarts an end.
 */
import { PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { LinkEnd } from './link.ts';

/** Bits of the widths 1x, 2x, 4x, 8x and 12x, narrowest first. */
const WIDTHS = [1, 16, 2, 4, 8] as const;
/** Bits of the speeds SDR, DDR and QDR. */
const SPEEDS = [1, 2, 4] as const;

/**
 * Brings both ends up, unless one is switched off, both sleep, or they have no width or no speed in
 * common.
 */
export function trainLink(first: LinkEnd, second: LinkEnd): void {
  const states = [first.physicalState, second.physicalState];
  if (states.includes(PortPhysicalState.DISABLED)) return;
  if (states.every((state) => state === PortPhysicalState.SLEEP)) return;
  const width = best(WIDTHS, first.settings.linkWidthEnabled & second.settings.linkWidthEnabled);
  const speed = best(SPEEDS, first.settings.linkSpeedEnabled & second.settings.linkSpeedEnabled);
  if (width === undefined || speed === undefined) return;
  for (const end of [first, second]) {
    end.settings.linkWidthActive = width;
    end.settings.linkSpeedActive = speed;
    end.setLinkUp(true);
  }
}

function best(bits: readonly number[], common: number): number | undefined {
  return bits.findLast((bit) => (common & bit) !== 0);
}
