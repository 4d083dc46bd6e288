// SPDX-License-Identifier: Apache-2.0
/**
 * Turns rounds into rows of a table and judges the targets. A ratio is the median of the ratios of
 * the rounds, each of which measured both devices next to each other, so that a load of the machine
 * that lasts longer than a round cancels out. Called by main.ts.
 */
import { table } from '../console/table.ts';
import type { BatchSample, LatencySample, Round, Sample } from './samples.ts';
import { median, percentile } from './statistics.ts';

/** The most that the adapter's p50 of reads may be, over the twin's. */
export const READ_TARGET = 1.1;
/** The least that the adapter's rate of posted writes may be, over the twin's. */
export const WRITE_TARGET = 0.8;

/** One line of the table; texts are ready to print. */
export interface Row {
  readonly name: string;
  readonly adapter: string;
  readonly twin: string;
  readonly ratio: string;
  /** The quartiles of the ratios of the rounds. */
  readonly quartiles: string;
  /** The target and whether it is reached. */
  readonly target: string;
}

/** A whole comparison. */
export interface Comparison {
  readonly rows: readonly Row[];
  /** One sentence for each target that is missed. */
  readonly missed: readonly string[];
}

/** Compares adapter and twin over all rounds. Rounds without both devices do not count. */
export function compare(rounds: readonly Round[]): Comparison {
  const missed: string[] = [];
  const rows = [
    readRow('read p50', rounds, (sample) => sample.p50Ns, missed),
    readRow('read p99', rounds, (sample) => sample.p99Ns),
    writeRow('posted write', 'write', rounds, missed),
    writeRow('doorbell write', 'doorbell', rounds, missed),
  ];
  return { rows, missed: [...missed, ...lostWrites(rounds)] };
}

/** Latencies and rates of messages, one row for each way of posting. */
export function messageRows(rounds: readonly Round[]): string[][] {
  return ['collect', 'doorbell'].map((device) => {
    const latency = (until: string, value: (sample: LatencySample) => number): string =>
      microseconds(median(pick<LatencySample>(rounds, 'latency', device, until).map(value)));
    const rates = pick<BatchSample>(rounds, 'rate', device).map(({ count, totalNs }) => (count / totalNs) * 1e9);
    return [
      device === 'collect' ? 'collect buffer' : device,
      ...['sent', 'received'].flatMap((until) => [
        latency(until, ({ p50Ns }) => p50Ns),
        latency(until, ({ p99Ns }) => p99Ns),
      ]),
      `${Math.round(median(rates))}/s`,
    ];
  });
}

/** The rows as a table. */
export function comparisonTable({ rows }: Comparison): string {
  const cells = rows.map(({ name, adapter, twin, ratio, quartiles, target }) => [
    name,
    adapter,
    twin,
    ratio,
    quartiles,
    target,
  ]);
  return table([['', 'adapter', 'C twin', 'ratio', 'quartiles', 'target'], ...cells], 1);
}

function readRow(
  name: string,
  rounds: readonly Round[],
  value: (sample: LatencySample) => number,
  missed?: string[],
): Row {
  const times = (device: string): number[] => pick<LatencySample>(rounds, 'read', device).map(value);
  const ratios = ratiosOf(rounds, 'read', (sample) => value(sample as LatencySample));
  const ratio = median(ratios);
  const target = missed === undefined ? '' : judge(name, ratio, ratio <= READ_TARGET, `<= ${READ_TARGET}`, missed);
  return { name, ...sides((device) => microseconds(median(times(device)))), ...describeRatios(ratios), target };
}

function writeRow(name: string, kind: 'write' | 'doorbell', rounds: readonly Round[], missed: string[]): Row {
  const perWrite = ({ totalNs, count }: BatchSample): number => totalNs / count;
  const times = (device: string): number[] => pick<BatchSample>(rounds, kind, device).map(perWrite);
  // A rate is the inverse of a time.
  const ratios = ratiosOf(rounds, kind, (sample) => 1 / perWrite(sample as BatchSample));
  const ratio = median(ratios);
  const target = judge(`${name} rate`, ratio, ratio >= WRITE_TARGET, `rate >= ${WRITE_TARGET}`, missed);
  return { name, ...sides((device) => microseconds(median(times(device)))), ...describeRatios(ratios), target };
}

function describeRatios(ratios: readonly number[]): { ratio: string; quartiles: string } {
  const [low, high] = [0.25, 0.75].map((share) => percentile(ratios, share).toFixed(2));
  return { ratio: median(ratios).toFixed(3), quartiles: `${low}-${high}` };
}

function sides(text: (device: string) => string): { adapter: string; twin: string } {
  return { adapter: text('adapter'), twin: text('twin') };
}

function judge(name: string, ratio: number, met: boolean, target: string, missed: string[]): string {
  if (!met) missed.push(`${name}: the ratio is ${ratio.toFixed(3)}, the target ${target}`);
  return `${target} ${met ? 'met' : 'MISSED'}`;
}

function lostWrites(rounds: readonly Round[]): string[] {
  const lost = rounds.flat().filter((sample) => 'lost' in sample && sample.lost !== 0) as BatchSample[];
  return lost.map(({ device, kind, lost: count }) => `${device}: ${count} of the posted ${kind}s did not arrive`);
}

/** The ratio of adapter to twin, for each round that has both. */
function ratiosOf(rounds: readonly Round[], kind: Sample['kind'], value: (sample: Sample) => number): number[] {
  return rounds.flatMap((round) => {
    const [adapter, twin] = ['adapter', 'twin'].map((device) => pick([round], kind, device)[0]);
    return adapter === undefined || twin === undefined ? [] : [value(adapter) / value(twin)];
  });
}

function pick<T extends Sample>(rounds: readonly Round[], kind: Sample['kind'], device: string, until?: string): T[] {
  return rounds.flat().filter((sample) => {
    if (sample.kind !== kind || sample.device !== device) return false;
    return until === undefined || ('until' in sample && sample.until === until);
  }) as T[];
}

function microseconds(ns: number): string {
  return `${(ns / 1000).toFixed(ns < 10_000 ? 2 : 1)} us`;
}
