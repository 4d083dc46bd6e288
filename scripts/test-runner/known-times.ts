// SPDX-License-Identifier: Apache-2.0
/**
 * Times of the processes of tests when they were last measured, in seconds by the clock: the
 * longest begin first, and the progress of a run shows the remaining time. times.json is committed,
 * so that the first run of a clone has an estimate too; only proportions count. Called by main.ts;
 * `npm test -- --times --keep` writes it.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';

const PATH = new URL('times.json', import.meta.url);

export type KnownTimes = Readonly<Record<string, number>>;

export function readKnownTimes(): KnownTimes {
  return existsSync(PATH) ? (JSON.parse(readFileSync(PATH, 'utf8')) as KnownTimes) : {};
}

/** `known` with the times of `measured`, without processes that are not in `names`. */
export function mergeTimes(
  known: KnownTimes,
  measured: ReadonlyMap<string, number>,
  names: readonly string[],
): KnownTimes {
  const merged = { ...known, ...Object.fromEntries([...measured].map(([name, s]) => [name, Number(s.toFixed(1))])) };
  return Object.fromEntries([...names].sort().flatMap((name) => (name in merged ? [[name, merged[name]]] : [])));
}

export function writeKnownTimes(times: KnownTimes): void {
  writeFileSync(PATH, `${JSON.stringify(times, undefined, 2)}\n`);
}

/** `names` with the longest first; one without a known time is new, and comes before all. */
export function longestFirst<T extends { readonly name: string }>(processes: readonly T[], known: KnownTimes): T[] {
  const timeOf = ({ name }: T): number => known[name] ?? Number.POSITIVE_INFINITY;
  return [...processes].sort((a, b) => {
    const [first, second] = [timeOf(a), timeOf(b)];
    return first === second ? a.name.localeCompare(b.name, 'en') : second - first;
  });
}
