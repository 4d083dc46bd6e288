// SPDX-License-Identifier: Apache-2.0
/**
 * The status of a live adapter: a snapshot of its counters as plain data, for `vuhca status` and
 * readers of its JSON. It reads only counts that the units keep anyway; nothing here runs without a
 * request.
 */
import { QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { qpStateName } from '../../../protocol/layout/gen/values.gen.ts';
import { dropCauseNames } from '../../fabric/switch/drop-causes.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';
import type { PcieFunction } from '../../hca/adapter/pcie-function.ts';
import type { EventQueue } from '../../hca/events/event-queue.ts';
import type { ObjectTable } from '../../hca/function/object-table.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { CompletionQueue } from '../../hca/queues/completion-queue.ts';
import type { ObjectTables } from '../../hca/queues/object-tables.ts';
import type { SendQueueList } from '../../hca/scheduler/send-queue-list.ts';
import type { NamedSwitch } from '../../topology/named-nodes.ts';
import type { AdapterProcess, ServedNode } from '../host/adapter-process.ts';
import { reportDrops, reportFaults, reportHost, reportPort, reportTraffic } from './common-report.ts';
import { reportFunctionLanes, reportLanes } from './lane-report.ts';
import { reportLinks } from './link-report.ts';
import { reportPersonality } from './personality-report.ts';

export type StatusReport = ReturnType<typeof reportProcess>;
export type AdapterReport = ReturnType<typeof reportAdapter>;
export type FunctionReport = ReturnType<typeof reportFunction>;

/** A live process: its adapters, or only one of them, and how all are linked. */
export function reportProcess(process: AdapterProcess, pid: number, only?: ServedNode) {
  const isWanted = (one: ServedNode): boolean => only === undefined || one === only;
  return {
    pid,
    uptimeNs: process.clock.now(),
    pump: process.pump.report,
    recording: process.recording && { path: process.recording.path, bytes: process.recording.bytesWritten },
    adapters: process.adapters.filter(isWanted).map((adapter) => ({
      name: adapter.name,
      sockets: adapter.hosts.map(reportHost),
      ...reportAdapter(adapter.core),
    })),
    personalities: process.personalities.filter(isWanted).map(({ name, functionOf, hosts, core }) => ({
      name,
      functionOf,
      sockets: hosts.map(reportHost),
      ...reportPersonality(core),
    })),
    switches: process.switches.map(reportSwitch),
    links: reportLinks(process),
    ...(process.stepper && { stepping: process.stepper.report }),
  };
}

/** A switch: its address, ports, and packets dropped, by cause. */
export function reportSwitch({ name, core }: NamedSwitch) {
  const { ports, endPorts } = core;
  const plugged = ports.filter(({ link }) => link !== undefined);
  const drops = dropCauseNames.map((cause, index): [string, number] => [
    cause,
    ports.reduce((sum, port) => sum + port.drops[index], 0),
  ]);
  return {
    name,
    lid: endPorts[0].lid,
    ports: ports.length,
    plugged: plugged.length,
    active: plugged.filter(({ active }) => active).length,
    received: ports.reduce((sum, { receivePackets }) => sum + receivePackets, 0),
    sent: ports.reduce((sum, { transmitPackets }) => sum + transmitPackets, 0),
    drops: Object.fromEntries(drops.filter(([, count]) => count > 0)) as Record<string, number>,
  };
}

/** The adapter and its functions. */
export function reportAdapter(adapter: Adapter) {
  const { collectBuffers, schedulerBuffers } = adapter;
  return {
    collectBuffers: {
      total: collectBuffers.buffers.length,
      free: collectBuffers.freeCount,
      shared: collectBuffers.deviceShared,
      sharedInUse: collectBuffers.deviceUsed,
    },
    schedulerBuffers: { total: schedulerBuffers.buffers.length, free: schedulerBuffers.freeCount },
    lanes: reportLanes(adapter.lanes),
    pipeline: reportPipeline(adapter),
    ports: adapter.ports.map(reportPort),
    drops: reportDrops(adapter.engine),
    functions: adapter.functions.map(reportFunction),
  };
}

/** The time of reads, and the commands of all functions that wait for theirs. */
function reportPipeline({ dmaTiming, engine }: Adapter) {
  const { pipeline, receiver } = engine;
  const { latencyNs, pipelineNs, contexts, pool } = dmaTiming;
  const { count, reads } = pipeline.stage;
  return {
    latencyNs,
    pipelineNs,
    contexts,
    contextsUsed: pool.used,
    commands: count,
    reads,
    packets: receiver.stage.count,
  };
}

function reportFunction(port: PcieFunction) {
  const { underlying: owner, shared } = port;
  const { tables } = shared;
  return {
    number: owner.number,
    enabled: owner.enabled,
    busMaster: owner.dma.busMaster,
    resets: { ...owner.resets },
    collect: reportCollect(port),
    managementCommands: owner.counters.managementCommands,
    managementRefused: owner.counters.managementRefused,
    doorbells: reportDoorbells(port),
    lanes: reportFunctionLanes(shared.lanes, owner.number),
    inPipeline: shared.engine.pipeline.stage.functionCounts[owner.number],
    commands: {
      collected: owner.counters.commandsCollected,
      fetched: owner.counters.commandsFetched,
      stale: owner.counters.commandsStale,
      levelMismatches: owner.counters.levelMismatches,
    },
    protectionDomains: countOwned(owner, tables.protectionDomains),
    memoryRegions: countOwned(owner, tables.memoryRegions),
    queuePairs: reportQueuePairs(owner, tables),
    completionQueues: reportQueues(owner, tables.completionQueues, owner.counters.retiredCompletions),
    eventQueues: reportQueues(owner, tables.eventQueues, owner.counters.retiredEvents),
    ...reportTraffic(owner),
    onDemandPaging: reportPaging(owner, tables),
    faults: reportFaults(owner),
  };
}

/** Page faults of on-demand regions, and the pages that software gave and took back. */
function reportPaging(owner: UnderlyingFunction, { keys }: ObjectTables) {
  const { pageFaults, pageFaultsShared, pageFaultsDeferred, pageFaultsRefused } = owner.counters;
  return {
    ...keys.pageFaults.count(owner),
    faults: pageFaults,
    shared: pageFaultsShared,
    deferred: pageFaultsDeferred,
    refused: pageFaultsRefused,
    pagesResolved: owner.counters.pagesResolved,
    pagesInvalidated: owner.counters.pagesInvalidated,
  };
}

/** Doorbells by origin, and the fate of those that found no room. */
function reportDoorbells({ underlying, doorbells }: PcieFunction) {
  const { counters } = underlying;
  const { buffer, inbound, overflow, thresholds } = doorbells;
  return {
    explicit: counters.doorbellsExplicit,
    implicit: counters.doorbellsImplicit,
    idle: counters.doorbellsIdle,
    stale: counters.doorbellsStale,
    /** Spilling begins with less than `low` free entries, and ends with `high`. */
    buffer: { entries: buffer.entries, used: buffer.used, low: thresholds.low, high: thresholds.high },
    bus: {
      posted: inbound.posted,
      reads: inbound.reads,
      readsLimit: inbound.readsLimit,
      flying: inbound.flying,
      held: doorbells.held.count,
    },
    overflow: {
      enabled: overflow.enabled,
      entries: overflow.entries,
      depth: overflow.pending,
      spilled: counters.doorbellsSpilled,
      queued: counters.commandsQueued,
      drained: counters.doorbellsDrained,
      lost: counters.doorbellsLost,
      spilling: doorbells.spilling,
    },
    sweeps: counters.sweeps,
    sweeping: doorbells.sweeping,
    stalled: doorbells.stalled,
    deadlocksDetected: counters.deadlocksDetected,
    queueTurns: counters.queueTurns,
    tails: {
      /** 0: no send queue is watched. */
      windowNs: underlying.tailWindowNs,
      watches: counters.tailWatches,
      found: counters.tailsFound,
    },
    queuesLinked: counters.queuesLinked,
    listed: doorbells.lists.map(countListed),
    linkChecks: counters.linkChecks,
    linkChecksFailed: counters.linkChecksFailed,
  };
}

/** Number of send queues in a scheduler list. */
function countListed({ head }: SendQueueList): number {
  let count = 0;
  for (let qp = head; qp !== undefined; qp = qp.nextScheduled) count++;
  return count;
}

function reportCollect({ collect, underlying, shared }: PcieFunction) {
  const { number } = underlying;
  const { collectBuffers, vcbSpace } = shared;
  const { vcbCount, inUseCount, kicks, refusals, cancels, choke } = collect;
  return {
    vcbBase: vcbSpace.getBase(number),
    vcbs: vcbCount,
    vcbsInUse: inUseCount,
    pcbs: collectBuffers.getTotal(number),
    levels: Array.from({ length: QOS_LEVELS }, (_, level) => ({
      guaranteed: collectBuffers.getGuaranteed(number, level),
      inUse: collectBuffers.getInUse(number, level),
      available: collectBuffers.getAvailable(number, level),
      refusals: collect.levelRefusals[level],
    })),
    kicks,
    refusals,
    cancels,
    choked: choke.commands,
  };
}

/** Number of queue pairs in each state that occurs. */
function reportQueuePairs(owner: UnderlyingFunction, { queuePairs }: ObjectTables): Record<string, number> {
  const counts: Record<string, number> = {};
  queuePairs.forEach((qp) => {
    if (qp.owner !== owner) return;
    const name = qpStateName(qp.state);
    counts[name] = (counts[name] ?? 0) + 1;
  });
  return counts;
}

/** Number of queues, of entries posted since the reset, and of queues in error. */
function reportQueues(
  owner: UnderlyingFunction,
  table: ObjectTable<CompletionQueue> | ObjectTable<EventQueue>,
  retired: number,
) {
  const report = { count: 0, posted: retired, errors: 0 };
  table.forEach((queue: CompletionQueue | EventQueue) => {
    if (queue.owner !== owner) return;
    report.count++;
    report.posted += queue.producerCount;
    if (queue.error) report.errors++;
  });
  return report;
}

function countOwned(
  owner: UnderlyingFunction,
  table: { forEach(visit: (object: { readonly owner: UnderlyingFunction }) => void): void },
): number {
  let count = 0;
  table.forEach((object) => {
    if (object.owner === owner) count++;
  });
  return count;
}
