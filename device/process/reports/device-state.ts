// SPDX-License-Identifier: Apache-2.0
/** The part of the status that personalities differ in, and how it is counted. */

/** Queues, entries posted since the process started, and queues in error. */
export interface QueueCounts {
  readonly count: number;
  readonly posted: number;
  readonly errors: number;
}

/** The part of the status that personalities differ in. */
export interface DeviceState {
  /** What the driver has started, or that the device has failed. */
  readonly state: string;
  readonly commands: { readonly executed: number; readonly refused: number };
  /** Objects by kind; their names are words of a screen. */
  readonly objects: Readonly<Record<string, number>>;
  /** Queue pairs by state, of those that occur; QP0 and QP1 included. */
  readonly queuePairs: Readonly<Record<string, number>>;
  readonly completionQueues: QueueCounts;
  readonly eventQueues: QueueCounts;
  readonly eventsLost: number;
  /** Doorbells for queues that the page does not have; they do nothing. */
  readonly strayDoorbells: number;
  /** Packets of QP0 and QP1 that were dropped, where software builds them. */
  readonly raw?: { readonly malformed: number; readonly noReceive: number };
}

/** Sums up queues; `retired`: entries posted to queues that no longer exist. */
export function countQueues(
  queues: readonly { readonly posted: number; readonly isGood: boolean }[],
  retired: number,
): QueueCounts {
  return {
    count: queues.length,
    posted: queues.reduce((sum, { posted }) => sum + posted, retired),
    errors: queues.filter(({ isGood }) => !isGood).length,
  };
}

/** How often each name occurs. */
export function countNames(names: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
