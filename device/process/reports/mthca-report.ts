// SPDX-License-Identifier: Apache-2.0
/**
 * The status of an adapter of the personality mthca as plain data: what its driver has started, its
 * objects, commands and ports (docs/verbs/PERSONALITIES.md). Part of the status report; it reads
 * only what the units keep anyway.
 */
import { ContextStatus, qpContextStateName } from '../../../protocol/mthca/gen/values.gen.ts';
import { HcaState } from '../../personality/mthca/hca/hca.ts';
import type { MthcaAdapter } from '../../personality/mthca/mthca-adapter.ts';
import { reportDrops, reportFaults, reportPort, reportTraffic } from './common-report.ts';
import { reportLanes } from './lane-report.ts';

const states: Readonly<Record<HcaState, string>> = {
  [HcaState.RESET]: 'reset',
  [HcaState.FIRMWARE]: 'firmware started',
  [HcaState.RUNNING]: 'running',
};

export function reportMthca(core: MthcaAdapter) {
  const { hca, processor, underlying, lanes, ports, engine, raw, sends } = core;
  return {
    state: hca.hasFailed ? 'failed' : states[hca.state],
    busMaster: underlying.dma.busMaster,
    resets: { ...underlying.resets },
    commands: { executed: processor.executed, refused: processor.refused },
    contextPages: hca.icm.mappedPages,
    memoryRegions: hca.regions.table.count,
    queuePairs: countStates(core),
    sharedReceiveQueues: hca.sharedReceiveQueues.count,
    completionQueues: reportQueues(
      [...hca.completionQueues.values()].map(({ count, context }) => ({ count, ...context })),
      hca.retired.completions,
    ),
    eventQueues: reportQueues([...hca.eventQueues.values()], hca.retired.events),
    eventsLost: hca.events.lost,
    /** Packets of QP0 and QP1 that were dropped. */
    raw: { malformed: raw.malformed, noReceive: raw.noReceive },
    sendBuffersBusy: sends.busyBuffers,
    ...reportTraffic(underlying),
    lanes: reportLanes(lanes),
    ports: ports.map(reportPort),
    drops: reportDrops(engine),
    faults: reportFaults(underlying),
  };
}

/** Number of queue pairs in each state that occurs, QP0 and QP1 included. */
function countStates({ hca }: MthcaAdapter): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { state } of hca.queuePairs.values()) {
    const name = qpContextStateName(state);
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

/** Number of queues, of entries posted since the process started, and of queues in error. */
function reportQueues(queues: readonly { readonly count: number; readonly status: number }[], retired: number) {
  return {
    count: queues.length,
    posted: queues.reduce((sum, { count }) => sum + count, retired),
    errors: queues.filter(({ status }) => status !== ContextStatus.OK).length,
  };
}
