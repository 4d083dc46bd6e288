// SPDX-License-Identifier: Apache-2.0
/**
 * Settings of one end of a link by subnet management, besides its state and MTU (IBTA 14.2.5.6):
 * widths and speeds, VLs in use, thresholds, filters of a switch port. `LinkEnd` holds it; the
 * subnet management agent reads and writes it, and links read it when they train.
 */
import { LinkSpeed, LinkWidth, PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';

/** Entries of each VL arbitration table: two blocks of 32 (IBTA 14.2.5.9). */
export const VL_ARBITRATION_ENTRIES = 64;
const ENTRY_BYTES = 2;

export class LinkSettings {
  linkWidthSupported: number = LinkWidth.WIDTH_1X | LinkWidth.WIDTH_4X;
  linkWidthEnabled: number = this.linkWidthSupported;
  linkWidthActive: number = LinkWidth.WIDTH_4X;
  linkSpeedSupported: number = LinkSpeed.SDR | LinkSpeed.DDR | LinkSpeed.QDR;
  linkSpeedEnabled: number = this.linkSpeedSupported;
  linkSpeedActive: number = LinkSpeed.QDR;
  /** Physical state into which a lost link falls: SLEEP or POLLING. */
  linkDownDefaultState: PortPhysicalState = PortPhysicalState.POLLING;
  vlStallCount = 7;
  /** Code of the time at the head of a VL, 4.096 us * 2^n; above 19: no limit. */
  headOfQueueLife = 31;
  isInboundEnforced = false;
  isOutboundEnforced = false;
  isRawInboundFiltered = false;
  isRawOutboundFiltered = false;
  /** Thresholds of traps 129 and 130; 0: every error counts. */
  localPhysicalErrors = 8;
  overrunErrors = 8;
  hasBeacon = false;
  /** The arbitration tables as a manager wrote them: pairs of VL and weight. */
  readonly vlArbitrationHigh = new Uint8Array(VL_ARBITRATION_ENTRIES * ENTRY_BYTES);
  readonly vlArbitrationLow = new Uint8Array(VL_ARBITRATION_ENTRIES * ENTRY_BYTES);
}
