// SPDX-License-Identifier: Apache-2.0
/**
 * Two processes that flood one function at QoS levels of their own (US 8,484,392 par. 50-52): the
 * phases, the adapter's counts of them, and whether each has the share that the weights of its
 * lanes give. Pure; called by processes.ts, process-plot.ts and process-report.ts.
 */
import type { QueuePairList } from '../../../device/process/reports/queue-pair-report.ts';
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import type { Finding } from '../../../guest-tests/shares/judge.ts';

const NS_PER_S = 1e9;
/** Sequence numbers of commands are counted modulo this. */
const SEQUENCES = 0x10000;
/** A longer gap between two samples of a busy machine tells nothing. */
const LONGEST_INTERVAL_NS = 0.5 * NS_PER_S;
/** Largest deviation of a share from that of the weights. */
const TOLERANCE = 0.05;
/** The smallest part of a phase in which both processes must have had commands in flight. */
const LEAST_CONTESTED = 0.5;
const LEVELS = [0, 1] as const;

/** The processes, and the choice of the level of each. */
export const TENANTS = ['ib_write_bw', 'flood'] as const;
/** Launches, and quanta of packets, per turn of the only lane of each level. */
export const WEIGHTS = [1, 3] as const;

/** A phase: the QoS level of each process. */
export interface Phase {
  readonly name: string;
  readonly levels: readonly [number, number];
}

export const PHASES: readonly Phase[] = [
  { name: 'both at level 0', levels: [0, 0] },
  { name: 'ib_write_bw at level 1', levels: [1, 0] },
  { name: 'flood at level 1', levels: [0, 1] },
  { name: 'both at level 1', levels: [1, 1] },
];

/** Counts of the adapter for a process. */
interface TenantSample {
  /** WRITEs that are complete, modulo 2^16. */
  readonly completed: number;
  /** Commands that are not complete. */
  readonly underWay: number;
}

/** Counts of the adapter for a QoS level of the function. */
interface LevelSample {
  readonly pcbsInUse: number;
  readonly refused: number;
  /** Commands that its lane has launched. */
  readonly launched: number;
}

export interface ProcessSample {
  readonly timeNs: number;
  readonly tenants: readonly TenantSample[];
  readonly levels: readonly LevelSample[];
  readonly collected: number;
  readonly fetched: number;
  /** Commands that came in a page of another level than their queue pair's. */
  readonly mismatches: number;
}

export interface MeasuredPhase extends Phase {
  readonly samples: readonly ProcessSample[];
}

/** A sample of the only function; `processes` are numbers of the guest. */
export function takeProcessSample(
  { uptimeNs, adapters: [adapter] }: StatusReport,
  { queuePairs }: QueuePairList,
  processes: readonly number[],
): ProcessSample {
  const [{ collect, commands }] = adapter.functions;
  return {
    timeNs: uptimeNs,
    tenants: processes.map((process) => {
      const own = queuePairs.filter((qp) => qp.process === process);
      const completed = own.reduce((total, { send }) => total + send.nextWqe - send.inFlight, 0);
      const underWay = own.reduce((total, { send }) => total + send.inFlight, 0);
      return { completed: (completed + SEQUENCES) % SEQUENCES, underWay };
    }),
    levels: LEVELS.map((level) => ({
      pcbsInUse: collect.levels[level].inUse,
      refused: collect.levels[level].refusals,
      launched: adapter.lanes.lanes
        .filter(({ levels }) => levels.includes(level))
        .reduce((total, { launches }) => total + launches, 0),
    })),
    collected: commands.collected,
    fetched: commands.fetched,
    mismatches: commands.levelMismatches,
  };
}

/**
 * WRITEs of each process between two samples; undefined when one had none under way, or nothing is
 * known.
 */
export function countContested(before: ProcessSample, after: ProcessSample): readonly number[] | undefined {
  if (after.timeNs - before.timeNs > LONGEST_INTERVAL_NS) return undefined;
  const isIdle = ({ tenants }: ProcessSample): boolean => tenants.some(({ underWay }) => underWay === 0);
  if (isIdle(before) || isIdle(after)) return undefined;
  return after.tenants.map(({ completed }, at) => modulo(completed - before.tenants[at].completed));
}

/** A process over a phase. */
export interface TenantResult {
  /** Its part of all WRITEs that completed while both processes had some under way. */
  readonly share: number;
  /** The part that the weights of the lanes give its level. */
  readonly documented: number;
  readonly perSecond: number;
}

export interface PhaseSummary {
  readonly tenants: readonly TenantResult[];
  /** The part of the time in which both had commands in flight. */
  readonly contested: number;
  /** By level: mean of the PCBs in use, PCBs refused, commands launched. */
  readonly levels: readonly { readonly pcbs: number; readonly refused: number; readonly launched: number }[];
  /** The part of all commands that came by a collect page of their process. */
  readonly collected: number;
  readonly mismatches: number;
}

/** Sums up a phase of two samples or more. */
export function summarisePhase({ levels, samples }: MeasuredPhase): PhaseSummary {
  const [first, last] = [samples[0], samples[samples.length - 1]];
  const done = [0, 0];
  let contestedNs = 0;
  for (const [at, after] of samples.entries()) {
    const counts = at === 0 ? undefined : countContested(samples[at - 1], after);
    if (counts === undefined) continue;
    contestedNs += after.timeNs - samples[at - 1].timeNs;
    for (const tenant of done.keys()) done[tenant] += counts[tenant];
  }
  const all = Math.max(1, done[0] + done[1]);
  const weights = levels.map((level) => WEIGHTS[level]);
  const [collected, fetched] = [last.collected - first.collected, last.fetched - first.fetched];
  return {
    tenants: done.map((count, tenant) => ({
      share: count / all,
      documented: levels[0] === levels[1] ? 1 / 2 : weights[tenant] / (weights[0] + weights[1]),
      perSecond: contestedNs === 0 ? 0 : (count * NS_PER_S) / contestedNs,
    })),
    contested: contestedNs / (last.timeNs - first.timeNs),
    levels: LEVELS.map((level) => ({
      pcbs: samples.reduce((total, sample) => total + sample.levels[level].pcbsInUse, 0) / samples.length,
      refused: last.levels[level].refused - first.levels[level].refused,
      launched: last.levels[level].launched - first.levels[level].launched,
    })),
    collected: collected / Math.max(1, collected + fetched),
    mismatches: last.mismatches - first.mismatches,
  };
}

/** Judges all claims. */
export function judgeProcesses(phases: readonly MeasuredPhase[]): Finding[] {
  const equal = phases.filter(({ levels: [first, second] }) => first === second);
  const unequal = phases.filter(({ levels: [first, second] }) => first !== second);
  return [
    judgeShares('at equal levels both processes have the same share', equal),
    judgeShares(`level 1, whose lane has ${WEIGHTS[1]} times the weight, has ${WEIGHTS[1]} times the share`, unequal),
    judgePages(phases),
  ];
}

function judgeShares(claim: string, phases: readonly MeasuredPhase[]): Finding {
  const results = phases.map(({ name, ...phase }) => ({ name, ...summarisePhase({ name, ...phase }) }));
  const detail = results
    .map(({ name, tenants }) => `${name}: ${tenants.map(({ share }) => (100 * share).toFixed(1)).join(' and ')} %`)
    .join('; ');
  const isWrong = ({ share, documented }: TenantResult): boolean => Math.abs(share - documented) > TOLERANCE;
  const idle = results.filter(({ contested }) => contested < LEAST_CONTESTED);
  if (results.length === 0 || idle.length > 0)
    return { claim, outcome: 'not shown', detail: `a process had nothing under way half of the time; ${detail}` };
  return { claim, outcome: results.some(({ tenants }) => tenants.some(isWrong)) ? 'broken' : 'holds', detail };
}

/** Each command in a page of another level than its queue pair's is counted by the adapter. */
function judgePages(phases: readonly MeasuredPhase[]): Finding {
  const claim = 'each process posts through collect pages of its own level';
  const all = phases.map(summarisePhase);
  const mismatches = all.reduce((total, one) => total + one.mismatches, 0);
  const parts = all.map(({ collected }) => (100 * collected).toFixed(0));
  const detail = `${mismatches} commands in a page of another level; by collect page: ${parts.join(', ')} %`;
  if (mismatches > 0) return { claim, outcome: 'broken', detail };
  return { claim, outcome: all.every(({ collected }) => collected > 0) ? 'holds' : 'not shown', detail };
}

function modulo(count: number): number {
  return (count + SEQUENCES) % SEQUENCES;
}
