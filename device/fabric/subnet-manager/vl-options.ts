// SPDX-License-Identifier: Apache-2.0
/**
 * Mapping of service levels to VLs, and shares of VLs in a link (IBTA 7.6.6, 7.6.9, 14.2.5.8,
 * 14.2.5.9): the options, and the tables of a port with some VLs. Without options, service levels
 * are spread over the VLs and VLs have equal turns. `vl-tables.ts` writes the tables.
 */
import {
  SL_TO_VL_TABLE_SIZE,
  SL_TO_VL_TABLE_VL_COUNT,
  setSlToVlTableVl,
} from '../../../protocol/infiniband/mad/gen/sl-to-vl-table.gen.ts';
import {
  setVlArbitrationTableVl,
  setVlArbitrationTableWeight,
  VL_ARBITRATION_TABLE_SIZE,
  VL_ARBITRATION_TABLE_VL_COUNT,
} from '../../../protocol/infiniband/mad/gen/vl-arbitration-table.gen.ts';
import { viewOf } from '../../../protocol/layout/view.ts';

/** A turn of VL arbitration: a VL, and units of 64 bytes. */
type VlTurn = readonly [virtualLane: number, weight: number];

export interface VlOptions {
  /** VL of each service level; 15 drops its packets. Empty: level n takes VL n modulo the VLs. */
  readonly serviceLevels: readonly number[];
  /** Tables of VL arbitration. Both empty: all VLs take turns of 4096 bytes. */
  readonly arbitrationHigh: readonly VlTurn[];
  readonly arbitrationLow: readonly VlTurn[];
  /**
   * Units of 4096 bytes after which the table of low priority has a turn; 255: no such limit.
   */
  readonly highLimit: number;
}

export const defaultVlOptions: VlOptions = {
  serviceLevels: [],
  arbitrationHigh: [],
  arbitrationLow: [],
  highLimit: 0,
};

const LEVELS = SL_TO_VL_TABLE_VL_COUNT;
/** A service level that is mapped to the VL of management is not used. */
const DROPPED = 15;
const TURNS_MAX = 64;
const BYTE_MAX = 255;
/** 4096 bytes. */
const EQUAL_WEIGHT = 64;
/** Numbers of data VLs by their codes in PortInfo (IBTA 14.2.5.6). */
const VLS_OF_CODE: readonly number[] = [1, 1, 2, 4, 8, 15];

/** Data VLs of a code of PortInfo. */
export function vlsOfCode(code: number): number {
  return VLS_OF_CODE[code] ?? 1;
}

/** True when ports with this number of VLs have tables: with one, there is nothing to choose. */
export function hasTables(options: VlOptions, vls: number): boolean {
  const { serviceLevels, arbitrationHigh, arbitrationLow } = options;
  return vls > 1 || [serviceLevels, arbitrationHigh, arbitrationLow].some(({ length }) => length > 0);
}

/** True when packets of a service level are carried. */
export function isLevelUsed({ serviceLevels }: VlOptions, level: number): boolean {
  return serviceLevels[level] !== DROPPED;
}

/** The SL to VL table of an exit with this number of VLs; VLs beyond wrap around. */
export function vlMap({ serviceLevels }: VlOptions, vls: number): Uint8Array {
  const bytes = new Uint8Array(SL_TO_VL_TABLE_SIZE);
  const view = viewOf(bytes);
  for (let level = 0; level < LEVELS; level++) {
    const wanted = serviceLevels.length === 0 ? level % vls : serviceLevels[level];
    const virtualLane = wanted === DROPPED && serviceLevels.length > 0 ? DROPPED : wanted % vls;
    setSlToVlTableVl(view, 0, level, virtualLane);
  }
  return bytes;
}

/** Turns of the tables of low and of high priority. */
export function arbitrationTurns(options: VlOptions, vls: number): { low: VlTurn[]; high: VlTurn[] } {
  const low = options.arbitrationLow.filter(([virtualLane]) => virtualLane < vls);
  const high = options.arbitrationHigh.filter(([virtualLane]) => virtualLane < vls);
  const isEqual = low.length === 0 && high.length === 0;
  const equal = Array.from({ length: vls }, (_, virtualLane): VlTurn => [virtualLane, EQUAL_WEIGHT]);
  return { low: isEqual ? equal : low, high };
}

/** A block of 32 turns; those that are not given have weight 0. */
export function turnBlock(turns: readonly VlTurn[], block: number): Uint8Array {
  const bytes = new Uint8Array(VL_ARBITRATION_TABLE_SIZE);
  const view = viewOf(bytes);
  const count = VL_ARBITRATION_TABLE_VL_COUNT;
  for (const [index, [virtualLane, weight]] of turns.slice(block * count, (block + 1) * count).entries()) {
    setVlArbitrationTableVl(view, 0, index, virtualLane);
    setVlArbitrationTableWeight(view, 0, index, weight);
  }
  return bytes;
}

/** One sentence about the first error, or undefined. */
export function findVlError({ serviceLevels, highLimit, ...tables }: VlOptions): string | undefined {
  if (serviceLevels.length !== 0 && serviceLevels.length !== LEVELS)
    return `serviceLevels has ${serviceLevels.length} VLs; it must have ${LEVELS}, or none`;
  for (const [level, virtualLane] of serviceLevels.entries())
    if (!isWhole(virtualLane, DROPPED)) return `VL ${virtualLane} of service level ${level} must be 0 to ${DROPPED}`;
  for (const name of ['arbitrationHigh', 'arbitrationLow'] as const) {
    const turns = tables[name];
    if (turns.length > TURNS_MAX) return `${name} has ${turns.length} turns; it must have at most ${TURNS_MAX}`;
    for (const turn of turns)
      if (!Array.isArray(turn) || turn.length !== 2 || !isWhole(turn[0], DROPPED - 1) || !isWhole(turn[1], BYTE_MAX))
        return `${name}: turn ${JSON.stringify(turn)} must be [VL, weight], of 0 to ${DROPPED - 1} and 0 to ${BYTE_MAX}`;
  }
  return isWhole(highLimit, BYTE_MAX) ? undefined : `highLimit ${highLimit} must be 0 to ${BYTE_MAX}`;
}

function isWhole(value: unknown, largest: number): boolean {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= largest;
}
