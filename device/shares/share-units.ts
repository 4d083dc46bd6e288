// SPDX-License-Identifier: Apache-2.0
/** What the resource manager asks of the units whose resources it divides. Setters take whatever they are given: all was checked on a plan before. */
import type { LaneMask } from '../lane/lane-set.ts';
import type { LaneShare } from './share-plan.ts';
import type { VcbReservations } from './vcb-placement.ts';

export interface ShareUnits extends VcbReservations {
  placeVcbs(functionNumber: number, base: number, count: number): void;
  /** First VCB of QoS level 1, counted from the base. Software may move it by its register. */
  getVcbDivider(functionNumber: number): number;
  setVcbDivider(functionNumber: number, vcb: number): void;
  setPcbs(functionNumber: number, total: number, level0: number, level1: number): void;
  setSchedulerBuffers(functionNumber: number, count: number): void;
  setOwnedLanes(functionNumber: number, mask: LaneMask): void;
  setLevelLanes(functionNumber: number, qosLevel: number, mask: LaneMask): void;
  setDedicatedLanes(mask: LaneMask): void;
  setLane(lane: number, share: LaneShare): void;
  /** Somebody else changed the function's share: it is told. */
  shareChanged(functionNumber: number): void;
  /** Grows with everything software of the function asks for. */
  getActivity(functionNumber: number): number;
  /** Commands of the function hold buffers or credits. */
  isBusy(functionNumber: number): boolean;
  /** PCBs the function does not use are lent to all until it binds one, or `askBack`. */
  lendPcbs(functionNumber: number): void;
  askBackPcbs(functionNumber: number): void;
}
