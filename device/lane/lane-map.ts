// SPDX-License-Identifier: Apache-2.0
/**
 * Which lanes a command may take (US8484392: TVL mapping table): by function and QoS level, or, for commands in the scheduler's dedicated buffers, a set of
 * their own. A level without lanes takes those of its function, a function without lanes the shared ones; when nothing is shared either, all.
 */
import { QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';
import { TvlState } from '../../protocol/layout/gen/values.gen.ts';
import { type LaneMask, LaneSet } from './lane-set.ts';

export class LaneMap {
  /** Changes with every change: queue pairs then choose anew. */
  generation = 0;
  /** Lanes of nobody. */
  readonly shared = new LaneSet();
  readonly dedicated = new LaneSet();
  readonly #all: LaneSet;
  readonly #owned: LaneSet[];
  /** By function and level: as set, and as it follows. */
  readonly #levels: LaneSet[];
  readonly #effective: LaneSet[];
  readonly #owners: Int8Array;
  #hasDedicated = false;

  constructor(laneCount: number, functionCount: number) {
    const sets = (count: number): LaneSet[] => Array.from({ length: count }, () => new LaneSet());
    this.#all = LaneSet.first(laneCount);
    this.#owned = sets(functionCount);
    this.#levels = sets(functionCount * QOS_LEVELS);
    this.#effective = sets(functionCount * QOS_LEVELS);
    this.#owners = new Int8Array(laneCount);
    this.#recompute();
  }

  /** Lanes the function owns. */
  getOwned(functionNumber: number): LaneSet {
    return this.#owned[functionNumber];
  }

  /** Lanes the level was given. */
  getMap(functionNumber: number, qosLevel: number): LaneSet {
    return this.#levels[functionNumber * QOS_LEVELS + qosLevel];
  }

  /** Lanes that commands of the level take. */
  getLanes(functionNumber: number, qosLevel: number): LaneSet {
    return this.#effective[functionNumber * QOS_LEVELS + qosLevel];
  }

  /** Lanes that commands of the level in dedicated buffers take. */
  getDedicatedLanes(functionNumber: number, qosLevel: number): LaneSet {
    return this.#hasDedicated ? this.dedicated : this.getLanes(functionNumber, qosLevel);
  }

  /** The function that owns the lane, or -1. */
  getOwner(lane: number): number {
    return this.#owners[lane];
  }

  getState(lane: number): TvlState {
    if (!this.#all.has(lane)) return TvlState.NONE;
    if (this.#owners[lane] >= 0) return TvlState.ALLOCATED;
    return this.dedicated.has(lane) ? TvlState.DEDICATED : TvlState.SHARED;
  }

  setMap(functionNumber: number, qosLevel: number, mask: LaneMask): void {
    this.getMap(functionNumber, qosLevel).assign(mask);
    this.#recompute();
  }

  setOwned(functionNumber: number, mask: LaneMask): void {
    this.#owned[functionNumber].assign(mask);
    this.#recompute();
  }

  setDedicated(mask: LaneMask): void {
    this.dedicated.assign(mask);
    this.#recompute();
  }

  #recompute(): void {
    this.generation++;
    this.#hasDedicated = !this.dedicated.intersect(this.#all.words).isEmpty;
    this.shared.assign(this.#all.words).subtract(this.dedicated.words);
    this.#owners.fill(-1);
    this.#owned.forEach((owned, functionNumber) => {
      this.shared.subtract(owned.intersect(this.#all.words).words);
      for (let lane = 0; lane < this.#owners.length; lane++) if (owned.has(lane)) this.#owners[lane] = functionNumber;
    });
    const common = this.shared.isEmpty ? this.#all : this.shared;
    this.#effective.forEach((effective, index) => {
      const owned = this.#owned[Math.floor(index / QOS_LEVELS)];
      const level = this.#levels[index].intersect(this.#all.words);
      effective.assign((level.isEmpty ? (owned.isEmpty ? common : owned) : level).words);
    });
  }
}
