// SPDX-License-Identifier: Apache-2.0
/**
 * The measurement of `npm run demo:interrupts` as figures and as tables for the terminal. Pure;
 * called by main.ts and plot.ts.
 */
import { median } from '../../bench/statistics.ts';
import { table } from '../../console/table.ts';

/** One load served in one way, as the guest counted it. */
export interface GuestCount {
  /** With timers and summary bytes, polled under load; else one interrupt per event. */
  readonly adaptive: boolean;
  /** Completions per second that were requested; 0 is saturation. */
  readonly rate: number;
  readonly elapsedNs: number;
  readonly completions: number;
  readonly interrupts: number;
  readonly events: number;
  readonly polls: number;
  /** Sum of the times from posting to handling. */
  readonly waitedNs: number;
}

export interface InterruptSample extends GuestCount {
  /** Processor time over time: 1 is one processor of the guest, busy all the time. */
  readonly busyProcessors: number;
}

/** One load served in one way: medians over the rounds. */
export interface InterruptFigure {
  readonly adaptive: boolean;
  readonly rate: number;
  readonly completionsPerSecond: number;
  readonly interruptsPerMillion: number;
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
    const key = `${sample.rate} ${sample.adaptive}`;
    groups.set(key, [...(groups.get(key) ?? []), sample]);
  }
  return [...groups.values()].map((group) => {
    const busy = group.map(({ busyProcessors }) => busyProcessors);
    const of = (value: (sample: InterruptSample) => number): number => median(group.map(value));
    return {
      adaptive: group[0].adaptive,
      rate: group[0].rate,
      completionsPerSecond: of(({ completions, elapsedNs }) => (completions * NS_PER_S) / elapsedNs),
      interruptsPerMillion: of(interruptsPerMillion),
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
  const header = ['load/s', 'served by', 'completions/s', 'interrupts/million', 'CPU %', '', 'CPU us each', 'wait us'];
  const rows = figures.map((figure) => [
    nameLoad(figure.rate),
    figure.adaptive ? 'timers and summary bytes' : 'an interrupt per event',
    figure.completionsPerSecond.toFixed(0),
    figure.interruptsPerMillion.toFixed(0),
    percent(figure.busyProcessors),
    `(${percent(figure.leastBusy)}-${percent(figure.mostBusy)})`,
    ((figure.busyProcessors * US_PER_S) / figure.completionsPerSecond).toFixed(0),
    figure.waitUs.toFixed(0),
  ]);
  return table([header, ...rows], [1, 5]);
}

/**
 * The effect of timers and summary bytes at each load: interrupts, and processor time as the ratio
 * of consecutive runs.
 */
export function formatComparison(samples: readonly InterruptSample[]): string {
  const rates = [...new Set(samples.map(({ rate }) => rate))];
  const header = ['load/s', 'interrupts', 'CPU', ''];
  const rows = rates.map((rate) => {
    const each = samples.filter((sample) => sample.rate === rate && !sample.adaptive);
    const polled = samples.filter((sample) => sample.rate === rate && sample.adaptive);
    const ratios = polled.map(({ busyProcessors }, round) => busyProcessors / each[round].busyProcessors);
    const interrupts = median(polled.map(interruptsPerMillion)) / median(each.map(interruptsPerMillion));
    const range = `(${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)})`;
    return [nameLoad(rate), `x ${interrupts.toPrecision(2)}`, `x ${median(ratios).toFixed(2)}`, range];
  });
  return `With timers and summary bytes, against an interrupt per event:\n${table([header, ...rows], [3])}`;
}

/** The name of a load. */
export function nameLoad(rate: number): string {
  return rate === 0 ? 'saturated' : String(rate);
}

function percent(processors: number): string {
  return (100 * processors).toFixed(0);
}
