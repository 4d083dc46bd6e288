// SPDX-License-Identifier: Apache-2.0
/**
 * Registers of transmit virtual lanes and their credits (US 8,484,392 par. 42-44, 51): sums of the
 * function, and one array entry per lane.
 */
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  setCsrTvlCompletionCredits,
  setCsrTvlCompletionUsed,
  setCsrTvlExecutionCredits,
  setCsrTvlExecutionUsed,
  setCsrTvlKickListLength,
  setCsrTvlKickListMaximum,
  setCsrTvlOwnerFunction,
  setCsrTvlOwnerQosLevels,
  setCsrTvlOwnerSharedCompletion,
  setCsrTvlOwnerSharedExecution,
  setCsrTvlOwnerState,
  setCsrTvlOwnerWeight,
  setCsrTvlSharedCompletion,
  setCsrTvlSharedExecution,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import { PHYSICAL_FUNCTION } from '../function/underlying-function.ts';
import type { CreditAccounts } from '../lane/credit-accounts.ts';
import { classOf } from '../lane/lane.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { RegisterParts } from './register-parts.ts';

export function attachLaneRegisters(parts: RegisterParts): void {
  attachSums(parts);
  attachTable(parts);
  attachLanes(parts);
}

function attachSums({ registers, underlying, shared }: RegisterParts): void {
  const { number } = underlying;
  const { lanes } = shared;
  const { execution, completion, map } = lanes;
  const isPhysical = number === PHYSICAL_FUNCTION;
  // A virtual function does not see what idle functions lend.
  const sources: [number, (index: number) => number][] = [
    [CSR.LANE_LAUNCHES, () => lanes.functionLaunches[number]],
    [CSR.EXECUTION_CREDITS, () => sumPrivate(lanes, number, execution)],
    [CSR.EXECUTION_CREDITS_USED, () => execution.functions[number].used],
    [CSR.COMPLETION_CREDITS, () => sumPrivate(lanes, number, completion)],
    [CSR.COMPLETION_CREDITS_USED, () => completion.functions[number].used],
    [
      CSR.EXECUTION_CREDITS_SHARED,
      () => (isPhysical ? execution.shared : shared.unallocatedCredits.executionUnallocated),
    ],
    [CSR.EXECUTION_CREDITS_SHARED_USED, () => execution.functions[number].sharedUsed],
    [
      CSR.COMPLETION_CREDITS_SHARED,
      () => (isPhysical ? completion.shared : shared.unallocatedCredits.completionUnallocated),
    ],
    [CSR.COMPLETION_CREDITS_SHARED_USED, () => completion.functions[number].sharedUsed],
    [CSR.TVL_COUNT, () => lanes.count],
    [CSR.TVL_ALLOCATED, () => map.getOwned(number).size],
    [CSR.TVL_MAPPED, (level) => map.getLanes(number, level).size],
    [CSR.KICK_LIST_LENGTH, () => lanes.functionWaiting[number]],
  ];
  for (const [offset, read] of sources) registers.attach(offset, { read });
}

/** The table lies in memory of the physical function, which alone knows its address. */
function attachTable({ registers, underlying, shared }: RegisterParts): void {
  const { number, faults } = underlying;
  const isPhysical = number === PHYSICAL_FUNCTION;
  const refuse = (): void => faults.reportNumber(FaultKind.NOT_PERMITTED, FaultObject.FUNCTION, number, CSR.LANE_TABLE);
  const set = (_index: number, low: number, high: number): void => {
    shared.laneTable.address = joinDwords(low, high);
  };
  registers.attach(CSR.LANE_TABLE, isPhysical ? { write: set } : { read: () => 0, write: refuse });
  registers.attach(CSR.LANE_TABLE_READS, { read: () => (isPhysical ? shared.laneTable.reads : 0) });
}

function attachLanes({ registers, underlying, shared }: RegisterParts): void {
  const { number } = underlying;
  const { lanes } = shared;
  const { execution, completion, map } = lanes;
  const attach = (offset: number, read: (lane: number) => number): void => {
    const isSeen = (lane: number): boolean =>
      lane < lanes.count && (number === PHYSICAL_FUNCTION || map.getOwner(lane) === number);
    registers.attach(offset, { read: (lane) => (isSeen(lane) ? read(lane) : 0) });
  };
  attach(CSR.TVL_OWNER, (lane) => describeOwner(lanes, lane));
  attach(CSR.TVL_EXECUTION, (lane) =>
    setCsrTvlExecutionUsed(
      setCsrTvlExecutionCredits(0, execution.lanes[lane].private),
      execution.lanes[lane].privateUsed,
    ),
  );
  attach(CSR.TVL_COMPLETION, (lane) =>
    setCsrTvlCompletionUsed(
      setCsrTvlCompletionCredits(0, completion.lanes[lane].private),
      completion.lanes[lane].privateUsed,
    ),
  );
  attach(CSR.TVL_SHARED, (lane) =>
    setCsrTvlSharedCompletion(
      setCsrTvlSharedExecution(0, execution.lanes[lane].sharedUsed),
      completion.lanes[lane].sharedUsed,
    ),
  );
  const buffers = shared.collectBuffers.buffers.length + shared.schedulerBuffers.buffers.length;
  attach(CSR.TVL_KICK_LIST, (lane) => {
    const maximum = Math.min(countUsers(lanes, lane) * lanes.lanes[lane].listSize, buffers);
    return setCsrTvlKickListMaximum(setCsrTvlKickListLength(0, lanes.lanes[lane].length), maximum);
  });
  attach(CSR.TVL_LAUNCHES, (lane) => lanes.lanes[lane].launches);
}

function describeOwner({ lanes, map, execution, completion }: TransmitVirtualLanes, lane: number): number {
  const owner = map.getOwner(lane);
  let levels = 0;
  for (let level = 0; level < QOS_LEVELS; level++)
    if (owner >= 0 && map.getLanes(owner, level).has(lane)) levels |= 1 << level;
  let value = setCsrTvlOwnerState(0, map.getState(lane));
  value = setCsrTvlOwnerFunction(value, Math.max(owner, 0));
  value = setCsrTvlOwnerQosLevels(value, levels);
  value = setCsrTvlOwnerWeight(value, lanes[lane].weight);
  value = setCsrTvlOwnerSharedExecution(value, execution.lanes[lane].mayShare ? 1 : 0);
  return setCsrTvlOwnerSharedCompletion(value, completion.lanes[lane].mayShare ? 1 : 0);
}

/** Functions and QoS levels whose commands may enter the kick list of the lane, or are in it. */
function countUsers({ lanes, map, functionWaiting }: TransmitVirtualLanes, lane: number): number {
  let count = 0;
  for (let number = 0; number < functionWaiting.length; number++)
    for (let level = 0; level < QOS_LEVELS; level++) {
      const isMapped = map.getLanes(number, level).has(lane) || map.getDedicatedLanes(number, level).has(lane);
      if (isMapped || lanes[lane].lengths[classOf(number, level)] > 0) count++;
    }
  return count;
}

/** Private credits of all lanes that the function's commands take. */
function sumPrivate({ map, count }: TransmitVirtualLanes, functionNumber: number, accounts: CreditAccounts): number {
  let sum = 0;
  for (let lane = 0; lane < count; lane++) {
    let isTaken = false;
    for (let level = 0; level < QOS_LEVELS; level++) isTaken ||= map.getLanes(functionNumber, level).has(lane);
    if (isTaken) sum += accounts.lanes[lane].private;
  }
  return sum;
}
