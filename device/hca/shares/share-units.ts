// SPDX-License-Identifier: Apache-2.0
/**
 * Operations that the share manager needs from the units whose resources it divides (US 8,484,392
 * par. 68, 71, 73 and 75: the registers that change). Setters do not check their arguments: all was
 * checked on a plan before. Implemented by `adapter/adapter-units.ts`.
 */
import type { LaneMask } from '../lane/lane-set.ts';
import type { Settings } from './setting-changes.ts';
import type { LaneShare } from './share-plan.ts';
import type { VcbReservations } from './vcb-placement.ts';

/** The units of one adapter, as the share manager sets and reads them. */
export interface ShareUnits extends VcbReservations {
  placeVcbs(functionNumber: number, base: number, count: number): void;
  /** First VCB of QoS level 1, counted from the base. Software may move it by its register. */
  getVcbDivider(functionNumber: number): number;
  setVcbDivider(functionNumber: number, vcb: number): void;
  setPcbs(functionNumber: number, total: number, level0: number, level1: number): void;
  setSchedulerBuffers(functionNumber: number, count: number): void;
  setSendShare(functionNumber: number, contexts: number, blocks: number): void;
  setOwnedLanes(functionNumber: number, mask: LaneMask): void;
  setLevelLanes(functionNumber: number, qosLevel: number, mask: LaneMask): void;
  setDedicatedLanes(mask: LaneMask): void;
  setLane(lane: number, share: LaneShare): void;
  /** Notifies the function that another requester changed its share. */
  shareChanged(functionNumber: number): void;
  /** A count that grows with every request of the function's software. */
  getActivity(functionNumber: number): number;
  /** True while commands of the function hold buffers or credits. */
  isBusy(functionNumber: number): boolean;
  /**
   * Lends PCBs that the function does not use to all functions until it binds one, or until
   * `askBackPcbs`.
   */
  lendPcbs(functionNumber: number): void;
  askBackPcbs(functionNumber: number): void;
  /** A copy of the settings, which software changes by registers. */
  readSettings(): Settings;
  /** Sets those that differ. */
  applySettings(settings: Settings): void;
}
