// SPDX-License-Identifier: Apache-2.0
/**
 * Samples of an adapter's status for the measurement of shares, and their sums over a phase. Pure;
 * called by measure.ts and by the plot.
 */
import type { StatusReport } from '../../device/process/reports/status-report.ts';

const NS_PER_S = 1e9;
/** Samples of a busy machine may lie far apart: a longer gap between two of them tells nothing. */
const LONGEST_INTERVAL_NS = 0.25 * NS_PER_S;

/** A QoS level of a function at one time; refusals and launches count from the function's reset. */
export interface LevelSample {
  readonly pcbsInUse: number;
  readonly pcbsGuaranteed: number;
  /** The number it could bind now. */
  readonly pcbsAvailable: number;
  /** Execution credits of its lanes: private ones, those in use, and shared ones in use. */
  readonly credits: number;
  readonly creditsUsed: number;
  readonly creditsShared: number;
  /** Completion credits of its lanes in use, private and shared ones. */
  readonly completionCreditsUsed: number;
  readonly refusals: number;
  /** Commands that its lanes have launched. */
  readonly launches: number;
}

export interface FunctionSample {
  readonly levels: readonly LevelSample[];
  /** Commands in the lists of its lanes. */
  readonly waiting: number;
  readonly collected: number;
  readonly fetched: number;
}

export interface Sample {
  readonly timeNs: number;
  readonly functions: readonly FunctionSample[];
}

/** The first adapter of a process. */
export function takeSample({ uptimeNs, adapters: [adapter] }: StatusReport): Sample {
  return {
    timeNs: uptimeNs,
    functions: adapter.functions.map(({ number, collect, commands, lanes }) => ({
      waiting: lanes.waiting,
      collected: commands.collected,
      fetched: commands.fetched,
      levels: collect.levels.map(({ inUse, guaranteed, available, refusals }, level) => {
        const own = adapter.lanes.lanes.filter(({ owner, levels }) => owner === number && levels.includes(level));
        return {
          pcbsInUse: inUse,
          pcbsGuaranteed: guaranteed,
          pcbsAvailable: available,
          credits: sum(own.map(({ execution }) => execution.private)),
          creditsUsed: sum(own.map(({ execution }) => execution.used)),
          creditsShared: sum(own.map(({ execution }) => execution.sharedUsed)),
          completionCreditsUsed: sum(own.map(({ completion }) => completion.used + completion.sharedUsed)),
          refusals,
          launches: sum(own.map(({ launches }) => launches)),
        };
      }),
    })),
  };
}

/** A QoS level over a phase. Means and peaks are over the samples. */
export interface LevelResult {
  readonly commandsPerSecond: number;
  readonly refused: number;
  readonly pcbsGuaranteed: number;
  readonly pcbsMean: number;
  readonly pcbsPeak: number;
  readonly credits: number;
  readonly creditsMean: number;
  readonly creditsSharedPeak: number;
  readonly completionCreditsMean: number;
  /** Samples in which a guaranteed and unused PCB could not have been bound. */
  readonly broken: number;
}

/** A function over a phase. */
export interface FunctionResult {
  readonly levels: readonly LevelResult[];
  /**
   * Its part of all commands launched while every active guest had some waiting; 0 when that never
   * happened.
   */
  readonly share: number;
  /**
   * The error of `share`: the most commands that it had begun and not ended, as a part of all those
   * launched.
   */
  readonly shareError: number;
  /** The part of its commands that came by doorbell, 0 to 1. */
  readonly byDoorbell: number;
}

/** A phase in numbers. */
export interface Summary {
  readonly functions: readonly FunctionResult[];
  /** The part of the time in which every active guest had commands waiting, 0 to 1. */
  readonly contested: number;
}

/** A phase of the measurement. */
export interface PhaseResult extends Summary {
  readonly name: string;
  readonly active: readonly boolean[];
  /** By function: the weight of each of its lanes; 1 when absent. */
  readonly weights?: readonly number[];
  readonly samples: readonly Sample[];
}

/** The measurement of all phases. */
export interface Measurement {
  readonly phases: readonly PhaseResult[];
  /** The counts of the guests: all WRITEs, and those that failed. */
  readonly completed: number;
  readonly failed: number;
}

/** Sums up two samples or more; `active` names the active functions. */
export function summarise(samples: readonly Sample[], active: readonly boolean[]): Summary {
  const [first, last] = [samples[0], samples[samples.length - 1]];
  const { launched, contested } = countContested(samples, active);
  const all = Math.max(1, sum(launched));
  const functions = first.functions.map(({ levels, collected, fetched }, number) => {
    const end = last.functions[number];
    const byDoorbell = end.fetched - fetched;
    return {
      levels: levels.map((_, level) => summariseLevel(samples, number, level)),
      share: launched[number] / all,
      shareError: Math.max(...samples.map((sample) => countBegun(sample, number))) / all,
      byDoorbell: byDoorbell / Math.max(1, byDoorbell + end.collected - collected),
    };
  });
  return { functions, contested };
}

/**
 * Commands launched, by function, between samples in which every active guest has some waiting: a
 * guest without has no claim to service.
 */
function countContested(
  samples: readonly Sample[],
  active: readonly boolean[],
): { launched: readonly number[]; contested: number } {
  const isContested = ({ functions }: Sample): boolean =>
    functions.every(({ waiting }, at) => !active[at] || waiting > 0);
  const launched = active.map(() => 0);
  let contestedNs = 0;
  for (const [at, after] of samples.entries()) {
    const before = samples[at - 1];
    if (before === undefined || !isContested(before) || !isContested(after)) continue;
    if (after.timeNs - before.timeNs > LONGEST_INTERVAL_NS) continue;
    contestedNs += after.timeNs - before.timeNs;
    for (const number of launched.keys()) launched[number] += launchesOf(after, number) - launchesOf(before, number);
  }
  return { launched, contested: contestedNs / (samples[samples.length - 1].timeNs - samples[0].timeNs) };
}

/** Commands that hold an execution credit. */
function countBegun({ functions }: Sample, number: number): number {
  return sum(functions[number].levels.map(({ creditsUsed, creditsShared }) => creditsUsed + creditsShared));
}

function launchesOf({ functions }: Sample, number: number): number {
  return sum(functions[number].levels.map(({ launches }) => launches));
}

function summariseLevel(samples: readonly Sample[], number: number, level: number): LevelResult {
  const points = samples.map((sample) => levelOf(sample, number, level));
  const [first, last] = [points[0], points[points.length - 1]];
  const seconds = (samples[samples.length - 1].timeNs - samples[0].timeNs) / NS_PER_S;
  return {
    commandsPerSecond: (last.launches - first.launches) / seconds,
    refused: last.refusals - first.refusals,
    pcbsGuaranteed: last.pcbsGuaranteed,
    pcbsMean: mean(points.map(({ pcbsInUse }) => pcbsInUse)),
    pcbsPeak: Math.max(...points.map(({ pcbsInUse }) => pcbsInUse)),
    credits: last.credits,
    creditsMean: mean(points.map(({ creditsUsed, creditsShared }) => creditsUsed + creditsShared)),
    completionCreditsMean: mean(points.map(({ completionCreditsUsed }) => completionCreditsUsed)),
    creditsSharedPeak: Math.max(...points.map(({ creditsShared }) => creditsShared)),
    broken: points.filter((point) => point.pcbsAvailable < point.pcbsGuaranteed - point.pcbsInUse).length,
  };
}

function levelOf(sample: Sample, number: number, level: number): LevelSample {
  return sample.functions[number].levels[level];
}

function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
