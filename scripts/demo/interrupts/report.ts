// SPDX-License-Identifier: Apache-2.0
/**
 * The measurement of `npm run demo -- interrupts` as figures and as tables for the terminal. Pure;
 * called by main.ts and plot.ts.
 */
import { median } from '../../bench/statistics.ts';
import { table } from '../../console/table.ts';

/**
 * Ways to serve events, each with one further part of the document's mechanism, and in the end with
 * longer times between polls than the driver takes by itself. The driver polls under load only.
 * Indexes are the numbers of guest-tests/interrupts/interrupts_main.c.
 */
export const WAYS = ['each', 'merged', 'polling', 'timers', 'bytes', 'apart2', 'apart8'] as const;
export type Way = (typeof WAYS)[number];

export const wayNames: Readonly<Record<Way, string>> = {
  each: 'an interrupt for each event',
  merged: 'an interrupt for a pass',
  polling: 'polling alone',
  timers: 'polling with timers',
  bytes: 'timers and summary bytes',
  apart2: 'polls up to 2 ms apart',
  apart8: 'polls up to 8 ms apart',
};

/** The two ways that are compared in the headline, and the one that saves most. */
export const PLAIN: Way = 'merged';
export const FULL: Way = 'bytes';
export const RARE: Way = 'apart8';

/** From this load on polls pay, also those that are far apart. */
const POLLED_FROM = 2000;

/** The ways that are measured at a load: under small loads no queue is polled in any case. */
export function waysAt(rate: number): readonly Way[] {
  const isPolled = rate === 0 || rate >= POLLED_FROM;
  return isPolled ? WAYS : WAYS.slice(0, WAYS.indexOf(FULL) + 1);
}

/** One load served in one way, as the guest counted it. */
export interface GuestCount {
  /** Completions per second that were requested; 0 is saturation. */
  readonly rate: number;
  readonly elapsedNs: number;
  readonly completions: number;
  readonly interrupts: number;
  readonly events: number;
  readonly polls: number;
  /** Changes from interrupts to polling. */
  readonly switches: number;
  /** Interrupts that came while the queue was polled. */
  readonly polledInterrupts: number;
  /** Interrupts that the adapter raised because a poll was late. */
  readonly late: number;
  /** Stores that requested the next event of a CQ. */
  readonly notifies: number;
  /** Those of completion handlers; the others are of CQs that polls begin or cease to look at. */
  readonly asked: number;
  /** Those of handlers that ran while the queue was polled. */
  readonly askedPolled: number;
  /** Sum of the times from posting to handling. */
  readonly waitedNs: number;
}

export interface InterruptSample extends GuestCount {
  readonly way: Way;
  /** Processor time over time: 1 is one processor of the guest, busy all the time. */
  readonly busyProcessors: number;
}

/** One load served in one way: medians over the rounds. */
export interface InterruptFigure {
  readonly way: Way;
  readonly rate: number;
  readonly completionsPerSecond: number;
  readonly interruptsPerMillion: number;
  readonly pollsPerMillion: number;
  readonly notifiesPerMillion: number;
  readonly busyProcessors: number;
  readonly leastBusy: number;
  readonly mostBusy: number;
  readonly waitUs: number;
}

const NS_PER_S = 1e9;
const NS_PER_US = 1000;
const US_PER_S = 1e6;
const MILLION = 1e6;

/** Figures in the order of their first samples. */
export function summarize(samples: readonly InterruptSample[]): InterruptFigure[] {
  const groups = new Map<string, InterruptSample[]>();
  for (const sample of samples) {
    const key = `${sample.rate} ${sample.way}`;
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  return [...groups.values()].map((group) => {
    const busy = group.map(({ busyProcessors }) => busyProcessors);
    const of = (value: (sample: InterruptSample) => number): number => median(group.map(value));
    return {
      way: group[0].way,
      rate: group[0].rate,
      completionsPerSecond: of(({ completions, elapsedNs }) => (completions * NS_PER_S) / elapsedNs),
      interruptsPerMillion: of(interruptsPerMillion),
      pollsPerMillion: of(({ polls, completions }) => (polls * MILLION) / completions),
      notifiesPerMillion: of(({ notifies, completions }) => (notifies * MILLION) / completions),
      busyProcessors: median(busy),
      leastBusy: Math.min(...busy),
      mostBusy: Math.max(...busy),
      waitUs: of(({ waitedNs, completions }) => waitedNs / completions / NS_PER_US),
    };
  });
}

function interruptsPerMillion({ interrupts, completions }: GuestCount): number {
  return (interrupts * MILLION) / completions;
}

/** A line for each figure. */
export function formatFigures(figures: readonly InterruptFigure[]): string {
  const counts = ['completions/s', 'interrupts/million', 'polls', 'notifies'];
  const header = ['load/s', 'served by', ...counts, 'CPU %', '', 'CPU us each', 'wait us'];
  const rows = figures.map((figure) => [
    nameLoad(figure.rate),
    wayNames[figure.way],
    figure.completionsPerSecond.toFixed(0),
    figure.interruptsPerMillion.toFixed(0),
    figure.pollsPerMillion.toFixed(0),
    figure.notifiesPerMillion.toFixed(0),
    percent(figure.busyProcessors),
    `(${percent(figure.leastBusy)}-${percent(figure.mostBusy)})`,
    ((figure.busyProcessors * US_PER_S) / figure.completionsPerSecond).toFixed(0),
    figure.waitUs.toFixed(0),
  ]);
  return table([header, ...rows], [1, 7]);
}

/** One way next to another one at a load: ratios. */
export interface Comparison {
  readonly interrupts: number;
  /** Processor time of a completion; the minimum and the maximum of the rounds. */
  readonly busy: number;
  readonly leastBusy: number;
  readonly mostBusy: number;
  readonly throughput: number;
  /** From posting to handling. */
  readonly latency: number;
}

/**
 * Interrupts are compared by their medians, throughput and processor time by the median of the
 * ratios of one round: its runs follow each other, so that a machine whose speed changes compares
 * fairly. Processor time is that of a completion, so that it can be compared at saturation, where
 * the ways complete different numbers. Undefined when one of the ways was not measured. The tables
 * and the plot have their ratios from here.
 */
export function compareWays(
  samples: readonly InterruptSample[],
  rate: number,
  way: Way,
  base: Way,
): Comparison | undefined {
  const [own, others] = [way, base].map((wanted) => samples.filter((one) => one.rate === rate && one.way === wanted));
  if (own.length === 0 || others.length === 0) return undefined;
  const ratiosOf = (value: (sample: InterruptSample) => number): number[] =>
    own.map((sample, round) => value(sample) / value(others[round]));
  const busy = ratiosOf(({ busyProcessors, completions, elapsedNs }) => (busyProcessors * elapsedNs) / completions);
  return {
    interrupts: median(own.map(interruptsPerMillion)) / median(others.map(interruptsPerMillion)),
    busy: median(busy),
    leastBusy: Math.min(...busy),
    mostBusy: Math.max(...busy),
    throughput: median(ratiosOf(({ completions, elapsedNs }) => completions / elapsedNs)),
    latency: median(ratiosOf(({ waitedNs, completions }) => waitedNs / completions)),
  };
}

/** A ratio as the tables and the plot write it. */
export function times(ratio: number): string {
  return `x ${ratio.toPrecision(2)}`;
}

/** The effect of each part at each load, against the first way that was measured. */
export function formatComparison(samples: readonly InterruptSample[]): string {
  const rates = [...new Set(samples.map(({ rate }) => rate))];
  const [first, ...others] = WAYS.filter((way) => samples.some((sample) => sample.way === way));
  const header = ['load/s', '', 'interrupts', 'CPU', ''];
  const rows = rates.flatMap((rate) =>
    others.flatMap((way) => {
      const ratios = compareWays(samples, rate, way, first);
      if (ratios === undefined) return [];
      const range = `(${ratios.leastBusy.toPrecision(2)}-${ratios.mostBusy.toPrecision(2)})`;
      return [[nameLoad(rate), wayNames[way], times(ratios.interrupts), times(ratios.busy), range]];
    }),
  );
  return `Against ${wayNames[first]}:\n${table([header, ...rows], [1, 4])}`;
}

/** The load at which savings are judged. */
export const JUDGED_LOAD = 8000;
/** Bounds of the ratios of polls to interrupts: of the driver's own polls. */
const MOST_LATENCY = 2;
const MOST_OWN_PROCESSOR_TIME = 0.85;
const MOST_OWN_INTERRUPTS = 0.5;
/** The same of polls that are far apart, which may cost latency, from POLLED_FROM on. */
const LEAST_THROUGHPUT = 1;
const MOST_PROCESSOR_TIME = 0.9;
const MOST_INTERRUPTS = 0.01;

/** A target: polling next to interrupts at a load. */
export interface Target {
  readonly way: Way;
  readonly what: string;
  readonly ratio: number;
  readonly wanted: string;
  readonly met: boolean;
}

/** Polling next to interrupts at the loads where it must pay, and must not cost latency. */
export function judgeTargets(samples: readonly InterruptSample[]): Target[] {
  const rates = [...new Set(samples.map(({ rate }) => rate))];
  return [...rates.flatMap((rate) => judgeOwn(samples, rate)), ...rates.flatMap((rate) => judgeRare(samples, rate))];
}

function judgeOwn(samples: readonly InterruptSample[], rate: number): Target[] {
  const ratios = compareWays(samples, rate, FULL, PLAIN);
  if (ratios === undefined) return [];
  const at = describeLoad(rate);
  const latency = most(FULL, `latency, ${at}`, ratios.latency, MOST_LATENCY);
  if (rate !== JUDGED_LOAD) return [latency];
  return [
    latency,
    most(FULL, `processor time, ${at}`, ratios.busy, MOST_OWN_PROCESSOR_TIME),
    most(FULL, `interrupts, ${at}`, ratios.interrupts, MOST_OWN_INTERRUPTS),
  ];
}

function judgeRare(samples: readonly InterruptSample[], rate: number): Target[] {
  const ratios = compareWays(samples, rate, RARE, PLAIN);
  if (ratios === undefined) return [];
  const at = describeLoad(rate);
  return [
    ...(rate === 0 ? [least(RARE, `throughput, ${at}`, ratios.throughput, LEAST_THROUGHPUT)] : []),
    most(RARE, `processor time, ${at}`, ratios.busy, MOST_PROCESSOR_TIME),
    most(RARE, `interrupts, ${at}`, ratios.interrupts, MOST_INTERRUPTS),
  ];
}

function describeLoad(rate: number): string {
  return rate === 0 ? nameLoad(rate) : `at ${nameLoad(rate)}/s`;
}

function least(way: Way, what: string, ratio: number, bound: number): Target {
  return { way, what, ratio, wanted: `at least ${bound.toFixed(1)}`, met: ratio >= bound };
}

function most(way: Way, what: string, ratio: number, bound: number): Target {
  return { way, what, ratio, wanted: `at most ${bound}`, met: ratio <= bound };
}

/** The targets as a table. */
export function formatTargets(targets: readonly Target[]): string {
  const rows = targets.map(({ way, what, ratio, wanted, met }) => [
    wayNames[way],
    what,
    times(ratio),
    wanted,
    met ? 'met' : 'MISSED',
  ]);
  return `Targets, against ${wayNames[PLAIN]}:\n${table([['', '', 'is', 'wanted', ''], ...rows], [0, 1, 3, 4])}`;
}

/** The name of a load. */
function nameLoad(rate: number): string {
  return rate === 0 ? 'saturated' : String(rate);
}

function percent(processors: number): string {
  return (100 * processors).toFixed(0);
}
