// SPDX-License-Identifier: Apache-2.0
/**
 * The title of the plots of `npm run demo -- qos`: whether guests that share the adapter have the
 * shares that their lanes guarantee (US8484392). Pure; called by share-plot.ts and phase-plot.ts.
 */

/** The share of a guest in a phase. */
export interface GuestShare {
  readonly guest: string;
  readonly phase: string;
  /** Its part of all commands, and the part that its lanes guarantee: 0 when idle, 1 when alone. */
  readonly share: number;
  readonly guaranteed: number;
  /** True if the share reaches the guarantee; undefined when that cannot be judged. */
  readonly isMet: boolean | undefined;
}

const COUNTS = ['no', 'one', 'two', 'three'];

/** One sentence without a full stop, about the phases with several active guests. */
export function describeShares(shares: readonly GuestShare[]): string {
  const contested = shares.filter(({ guaranteed }) => guaranteed > 0 && guaranteed < 1);
  const [worst] = contested.filter(({ isMet }) => isMet === false).sort((left, right) => gap(right) - gap(left));
  if (worst !== undefined)
    return `${capital(worst.guest)} has ${points(gap(worst))} points less than its guarantee (${worst.phase})`;
  const judged = contested.filter(({ isMet }) => isMet === true);
  if (judged.length === 0) return 'Guaranteed shares could not be judged: guests had nothing waiting most of the time';
  const most = Math.max(...judged.map((share) => Math.abs(gap(share))));
  const companies = judged.map(({ phase }) => judged.filter((other) => other.phase === phase).length);
  const words = [...new Set(companies)].sort().map((count) => COUNTS[count] ?? `${count}`);
  return `Guaranteed shares hold within ${bound(most)} points while ${words.join(' or ')} guests flood`;
}

function gap({ share, guaranteed }: GuestShare): number {
  return guaranteed - share;
}

function points(part: number): string {
  return (100 * part).toFixed(1);
}

/** Shares that hold within a bound are not further off: it is rounded up, rounding errors aside. */
function bound(part: number): string {
  return (Math.ceil(1000 * part - 1e-6) / 10).toFixed(1);
}

function capital(name: string): string {
  return `${name[0].toUpperCase()}${name.slice(1)}`;
}
