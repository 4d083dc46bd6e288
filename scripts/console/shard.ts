// SPDX-License-Identifier: Apache-2.0
/**
 * A share of work that several machines divide: `--shard 2/4`. The shares of all shards are the
 * whole and do not overlap; they depend only on the work and the two numbers. Pure. Called by the
 * programs that take the option.
 */
import { InvalidArgumentError } from 'commander';

/** One of `count` shards; the first one has number 1. */
export interface Shard {
  readonly number: number;
  readonly count: number;
}

const COUNT_MAX = 10_000;

/** Description of the value of `--shard`. */
export const SHARD_RULE = `it must be NUMBER/COUNT, such as 2/4, with NUMBER from 1 to COUNT and COUNT at most ${COUNT_MAX}`;

/** Reads `2/4`; undefined when it is no shard. */
export function readShard(text: string): Shard | undefined {
  const [, number, count] = /^(\d{1,5})\/(\d{1,5})$/.exec(text) ?? [];
  const shard = { number: Number(number), count: Number(count) };
  return shard.number >= 1 && shard.number <= shard.count && shard.count <= COUNT_MAX ? shard : undefined;
}

/** The same for an option of commander. */
export function parseShard(text: string): Shard {
  const shard = readShard(text);
  if (shard === undefined) throw new InvalidArgumentError(`${SHARD_RULE[0]?.toUpperCase()}${SHARD_RULE.slice(1)}`);
  return shard;
}

export function writeShard({ number, count }: Shard): string {
  return `${number}/${count}`;
}

/**
 * The items of a shard, in their order. They are dealt in turn, to and fro, so that shards cost
 * about the same when `items` begin with the costly ones.
 */
export function takeShare<T>(items: readonly T[], { number, count }: Shard): T[] {
  return items.filter((_, index) => {
    const place = index % count;
    return (Math.floor(index / count) % 2 === 0 ? place : count - 1 - place) === number - 1;
  });
}

/** The part of a range of `size` numbers from `first` on, such as seeds. */
export function takeRange(first: number, size: number, { number, count }: Shard): { first: number; size: number } {
  const [from, to] = [number - 1, number].map((part) => Math.floor((size * part) / count)) as [number, number];
  return { first: first + from, size: to - from };
}

/**
 * Work of a shard, and the rest that it leaves to others: `shard 2/4: 25 of 100 seeds, the others
 * have 75`.
 */
export function describeShare(shard: Shard, own: number, all: number, what: string): string {
  return `shard ${writeShard(shard)}: ${own} of ${all} ${what}, the others have ${all - own}`;
}
