// SPDX-License-Identifier: Apache-2.0
/**
 * Report at the end of `npm run demo -- verbs`: the medians of each program on each adapter, the
 * ways in which its requests were posted, and the ratios to soft-RoCE beside their goals. Pure.
 * Called by main.ts.
 */
import { table } from '../../console/table.ts';
import { type FigureReader, tabulateFigures } from '../../foreign/figures.ts';
import { ADAPTER_TITLES, type AdapterName, type ForeignResult, isJudged } from '../../foreign/suites.ts';

/** Names of figures in guest-tests/foreign/comparison.sh. */
const ROWS: readonly (readonly [name: string, title: string])[] = [
  ['ping', 'ping by IP, round trip, ms'],
  ['pingpong', 'ibv_rc_pingpong, 64 bytes, us'],
  ['latency-64', 'ib_send_lat, 64 bytes, us'],
  ['bandwidth-65536', 'ib_write_bw, 64 KiB, MiB/s'],
];

/** A table of the medians, and a sentence on posting from user space. */
export function formatComparison(figures: FigureReader, adapters: readonly AdapterName[]): string {
  const rows = ROWS.map(([name, title]) => [
    title,
    ...adapters.map((adapter) => `${figures.median(name, adapter) ?? '-'}`),
  ]);
  return `${table([['medians', ...adapters.map((adapter) => ADAPTER_TITLES[adapter])], ...rows], 1)}${describePosting(figures)}`;
}

function describePosting(figures: FigureReader): string {
  const collected = figures.median('collected', 'vuhca');
  if (collected === undefined) return '';
  const doorbells = figures.median('doorbells', 'vuhca');
  return `\nib_send_lat with VUHCA_POST=collect: ${collected} requests came by collect pages, ${doorbells} doorbells rang.\n`;
}

/** Ratios to soft-RoCE in one guest; more is better. */
export function formatRatios(figures: FigureReader, adapters: readonly AdapterName[]): string {
  const names = [...adapters.filter(isJudged), 'vuhca-single', 'loop', 'loop-single'] as const;
  const measured = names.map((name) => [name, figures.ratios(name)] as const);
  return table(tabulateFigures(Object.fromEntries(measured.filter(([, ratios]) => Object.keys(ratios).length > 0))), 1);
}

/** Names of figures of figures.sh; those of our driver without shadow tails end with `-rung`. */
const STREAM_ROWS: readonly (readonly [name: string, title: string])[] = [
  ['stream-64-post-fast', 'a call that posts, the fast tenth, us'],
  ['stream-64-post', 'a call that posts, us'],
  ['stream-64', 'a message, us'],
  ['stream-64-doorbells', 'doorbells for a message'],
  ['rate-64', 'ib_write_bw, million messages per second'],
  ['latency-64', 'ib_send_lat, us'],
];
const RUNG = 'vuhca, all doorbells';

/** Cost of messages of 64 bytes to a process that posts them in bursts. */
export function formatStream(figures: FigureReader, adapters: readonly AdapterName[]): string {
  const show = (value: number | undefined): string => value?.toPrecision(3) ?? '-';
  const rows = STREAM_ROWS.map(([name, title]) => [
    title,
    ...adapters.map((adapter) => show(figures.median(name, adapter))),
    show(figures.median(`${name}-rung`, 'vuhca')),
  ]);
  return table([['a stream of 64-byte messages', ...adapters.map((name) => ADAPTER_TITLES[name]), RUNG], ...rows], 1);
}

/** Names of figures in guest-tests/foreign/figures.sh. */
const PAIR_ROWS: readonly (readonly [name: string, title: string, goal: string])[] = [
  ['busy-pairs-one', 'a message over one, 16 in flight, us', ''],
  ['busy-pairs-1000', 'a message over 1,000 in turn, 16 in flight on each, us', ''],
  ['busy-pairs-ratio', 'times as long, median of rounds', 'at most 1.2'],
  ['pairs-one', 'a message over one, 64 in flight, us', ''],
  ['pairs-1000', 'a message over 1,000 in turn, 64 in flight in all, us', ''],
  ['pairs-ratio', 'times as long, median of rounds', 'at most 1.2'],
];

/** Cost of a message to a process with 1,000 connected queue pairs. */
export function formatPairs(figures: FigureReader, adapters: readonly AdapterName[]): string {
  const rows = PAIR_ROWS.map(([name, title, goal]) => [
    title,
    ...adapters.map((adapter) => figures.median(name, adapter)?.toPrecision(3) ?? '-'),
    goal,
  ]);
  return table([['queue pairs of a process', ...adapters.map((name) => ADAPTER_TITLES[name]), 'goal'], ...rows], 1);
}

/** False for soft-RoCE, whose failures are not ours. Tests have the name of their adapter. */
export function isOurs({ name }: ForeignResult): boolean {
  const adapter = name.split('-').find((word): word is AdapterName => word in ADAPTER_TITLES);
  return adapter === undefined || isJudged(adapter);
}
