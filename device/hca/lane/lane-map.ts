// SPDX-License-Identifier: Apache-2.0
/**
 * The TVL mapping table (US 8,484,392 par. 51-52, 114): the lanes that a command may take, by
 * function and QoS level, or a set of its own for commands in the scheduler's dedicated buffers. A
 * level without lanes uses those of its function, a function without lanes the shared ones, and all
 * lanes when none is shared. Called by `TransmitVirtualLanes` and the lane registers.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { TvlState } from '../../../protocol/layout/gen/values.gen.ts';
import { type LaneMask, LaneSet } from './lane-set.ts';

export class LaneMap {
  /** Incremented by each change; queue pairs then choose a lane again. */
  generation = 0;
  /**
   * Functions whose entry in host memory must be read, or is being read, before their next command
   * gets a lane.
   */
  invalidCount = 0;
  /**
   * Reads the entry of a function, and changes the map as it says. Returns false when that takes
   * time: `noteRead` is called behind it.
   */
  onInvalid: (functionNumber: number) => boolean = () => true;
  /** Lanes without an owner that are not dedicated. */
  readonly shared = new LaneSet();
  /** Lanes of commands in the scheduler's dedicated buffers. */
  readonly dedicated = new LaneSet();
  readonly #all: LaneSet;
  readonly #owned: LaneSet[];
  /** By function and level: the configured set, and the set in effect. */
  readonly #levels: LaneSet[];
  readonly #effective: LaneSet[];
  readonly #owners: Int8Array;
  readonly #invalid: Uint8Array;
  /** 1 while the entry is being read. It may become invalid again meanwhile. */
  readonly #reading: Uint8Array;
  #hasDedicated = false;

  constructor(laneCount: number, functionCount: number) {
    const sets = (count: number): LaneSet[] => Array.from({ length: count }, () => new LaneSet());
    this.#all = LaneSet.first(laneCount);
    this.#owned = sets(functionCount);
    this.#levels = sets(functionCount * QOS_LEVELS);
    this.#effective = sets(functionCount * QOS_LEVELS);
    this.#owners = new Int8Array(laneCount);
    this.#invalid = new Uint8Array(functionCount);
    this.#reading = new Uint8Array(functionCount);
    this.#recompute();
  }

  /** Lanes that the function owns. */
  getOwned(functionNumber: number): LaneSet {
    return this.#owned[functionNumber];
  }

  /** Lanes configured for the level. */
  getMap(functionNumber: number, qosLevel: number): LaneSet {
    return this.#levels[functionNumber * QOS_LEVELS + qosLevel];
  }

  /** Lanes that commands of the level use. */
  getLanes(functionNumber: number, qosLevel: number): LaneSet {
    return this.#effective[functionNumber * QOS_LEVELS + qosLevel];
  }

  /** The next queue pairs of the function get lanes as after power-on. */
  restart(functionNumber: number): void {
    for (let level = 0; level < QOS_LEVELS; level++) this.getLanes(functionNumber, level).restart();
  }

  /** Lanes that commands of the level in dedicated buffers use. */
  getDedicatedLanes(functionNumber: number, qosLevel: number): LaneSet {
    return this.#hasDedicated ? this.dedicated : this.getLanes(functionNumber, qosLevel);
  }

  /** Number of the function that owns the lane, or -1. */
  getOwner(lane: number): number {
    return this.#owners[lane];
  }

  getState(lane: number): TvlState {
    if (!this.#all.has(lane)) return TvlState.NONE;
    if (this.#owners[lane] >= 0) return TvlState.ALLOCATED;
    return this.dedicated.has(lane) ? TvlState.DEDICATED : TvlState.SHARED;
  }

  /** True when the entry of the function must be read. */
  isInvalid(functionNumber: number): boolean {
    return this.#invalid[functionNumber] === 1;
  }

  setInvalid(functionNumber: number, invalid: boolean): void {
    this.invalidCount += Number(invalid) - this.#invalid[functionNumber];
    this.#invalid[functionNumber] = Number(invalid);
  }

  /**
   * Reads the entry of the function if it is invalid. Returns false while it is being read. Sets of
   * lanes stay the same objects.
   */
  validate(functionNumber: number): boolean {
    if (this.#reading[functionNumber] === 1) return false;
    if (!this.isInvalid(functionNumber)) return true;
    this.setInvalid(functionNumber, false);
    if (this.onInvalid(functionNumber)) return true;
    this.#reading[functionNumber] = 1;
    this.invalidCount++;
    return false;
  }

  /** The entry of the function has been read. */
  noteRead(functionNumber: number): void {
    this.invalidCount -= this.#reading[functionNumber];
    this.#reading[functionNumber] = 0;
  }

  /** No entry needs to be read. */
  validateAll(): void {
    this.#invalid.fill(0);
    this.#reading.fill(0);
    this.invalidCount = 0;
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
