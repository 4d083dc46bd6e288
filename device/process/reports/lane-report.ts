// SPDX-License-Identifier: Apache-2.0
/**
 * State of an adapter's transmit virtual lanes (US 8,484,392 par. 41-47) as plain data: part of the
 * status report. Shared lanes that were never used are left out.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { TvlState, tvlStateName } from '../../../protocol/layout/gen/values.gen.ts';
import type { CreditAccounts } from '../../hca/lane/credit-accounts.ts';
import type { Lane } from '../../hca/lane/lane.ts';
import type { TransmitVirtualLanes } from '../../hca/lane/transmit-virtual-lanes.ts';

/** All lanes of the adapter, with sums. */
export function reportLanes(lanes: TransmitVirtualLanes) {
  const { map } = lanes;
  return {
    count: lanes.count,
    shared: map.shared.size,
    waiting: lanes.lanes.reduce((sum, { length }) => sum + length, 0),
    launches: lanes.lanes.reduce((sum, { launches }) => sum + launches, 0),
    execution: reportCredits(lanes.execution),
    completion: reportCredits(lanes.completion),
    lanes: lanes.lanes
      .filter(({ number, launches, length }) => map.getState(number) !== TvlState.SHARED || launches + length > 0)
      .map((lane) => reportLane(lanes, lane)),
  };
}

/**
 * Lanes open to a function, and its use of them: `waiting` counts its own commands, also on shared
 * lanes.
 */
export function reportFunctionLanes(lanes: TransmitVirtualLanes, functionNumber: number) {
  const { map, functionLaunches, execution, completion } = lanes;
  return {
    waiting: lanes.functionWaiting[functionNumber],
    launches: functionLaunches[functionNumber],
    execution: reportFunctionCredits(lanes, functionNumber, execution),
    completion: reportFunctionCredits(lanes, functionNumber, completion),
    levels: Array.from({ length: QOS_LEVELS }, (_, level) => {
      const open = lanes.lanes.filter(({ number }) => map.getLanes(functionNumber, level).has(number));
      return {
        lanes: open.length,
        own: open.filter(({ number }) => map.getOwner(number) === functionNumber).length,
        waiting: lanes.lanes.reduce((sum, { lengths }) => sum + lengths[functionNumber * QOS_LEVELS + level], 0),
      };
    }),
  };
}

function reportFunctionCredits(lanes: TransmitVirtualLanes, functionNumber: number, accounts: CreditAccounts) {
  const own = lanes.lanes.filter(({ number }) => lanes.map.getOwner(number) === functionNumber);
  const sharedUsed = accounts.functions[functionNumber].sharedUsed;
  return {
    private: own.reduce((sum, { number }) => sum + accounts.lanes[number].private, 0),
    privateUsed: accounts.functions[functionNumber].used - sharedUsed,
    sharedUsed,
  };
}

function reportCredits({ total, used, shared, sharedUsed }: CreditAccounts) {
  return { total, used, shared, sharedUsed };
}

function reportLane({ map, execution, completion }: TransmitVirtualLanes, lane: Lane) {
  const { number, weight, length, listSize, launches } = lane;
  const owner = map.getOwner(number);
  return {
    number,
    state: tvlStateName(map.getState(number)),
    owner: owner < 0 ? undefined : owner,
    levels: owner < 0 ? [] : getLevels(map, owner, number),
    weight,
    length,
    listSize,
    launches,
    execution: reportLaneCredits(execution, number),
    completion: reportLaneCredits(completion, number),
  };
}

function getLevels(map: TransmitVirtualLanes['map'], owner: number, lane: number): number[] {
  return Array.from({ length: QOS_LEVELS }, (_, level) => level).filter((level) =>
    map.getLanes(owner, level).has(lane),
  );
}

function reportLaneCredits(accounts: CreditAccounts, lane: number) {
  return {
    private: accounts.lanes[lane].private,
    used: accounts.lanes[lane].privateUsed,
    sharedUsed: accounts.lanes[lane].sharedUsed,
    mayShare: accounts.lanes[lane].mayShare,
  };
}
