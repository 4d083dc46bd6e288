// SPDX-License-Identifier: Apache-2.0
/**
 * The built-in subnet managers of this process as plain data: state, rank, sweeps, and what went
 * wrong. `vuhca fabric` shows it with the subnet (`fabric-report.ts`).
 */
import { smStateName } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { SubnetManager } from '../../fabric/subnet-manager/manager/subnet-manager.ts';

export interface ManagerReport {
  /** GUID of its port. */
  readonly guid: string;
  /** `asleep`: another manager has its port. */
  readonly state: string;
  readonly priority: number;
  readonly heavySweeps: number;
  readonly lightSweeps: number;
  /** Nothing is under way or due: no sweep, no request. */
  readonly isSettled: boolean;
  /** Datagrams sent. */
  readonly datagrams: number;
  /** Counts that are not 0: each needs a look. */
  readonly problems: Readonly<Record<string, number>>;
  /** GUIDs of nodes that were found twice: all but one of each are left out. */
  readonly duplicates: readonly string[];
}

/** `nowNs`: time of the process; what it reads of managers leaves no trace in a recording. */
export function reportManagers(managers: readonly SubnetManager[], nowNs: number): ManagerReport[] {
  return managers.map((manager) => {
    const { guid, options, isStopped, sent, stateMachine, sweeper, overflow, administration } = manager;
    const { counters, lids, subnet } = sweeper;
    const counts = {
      requestsWithoutAnswer: counters.silent,
      requestsRefused: counters.refusals,
      lidsThatClashed: lids.clashes,
      portsWithoutLid: lids.homeless,
      keysWithoutRoom: counters.cutKeys,
      groupsRefused: administration.multicast.refused,
      datagramsDropped: overflow,
    };
    return {
      guid,
      state: isStopped ? 'asleep' : smStateName(stateMachine.state),
      priority: options.priority,
      heavySweeps: sweeper.heavySweeps,
      lightSweeps: sweeper.lightSweeps,
      isSettled: manager.isSettledAt(nowNs),
      datagrams: sent,
      problems: Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
      duplicates: [...new Set(subnet.duplicates)],
    };
  });
}
