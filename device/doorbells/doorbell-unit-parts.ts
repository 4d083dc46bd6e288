// SPDX-License-Identifier: Apache-2.0
/**
 * What a doorbell unit is built from, and the scheduler as it sees it: the scheduler belongs to a
 * layer above. `Unit` is `DoorbellUnit`.
 */
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** The send queue scheduler, as a doorbell unit sees it. */
export interface DoorbellScheduler<Unit> {
  /** A unit may have something to do. */
  wake(unit: Unit): void;
  /** Puts the QP at the end of its list unless it is there. */
  schedule(qp: QueuePair): void;
  /** Gives the QP its turn at once. Returns false when it has to wait in its list. */
  beginAtOnce(unit: Unit, qp: QueuePair): boolean;
  /** Takes the QP off its list. */
  unschedule(qp: QueuePair): void;
}

/** What takes the completions of bus reads of records and commands. */
export interface CommandReads<Unit> {
  /** The function may have a dedicated buffer now. */
  hasBuffer(owner: UnderlyingFunction): boolean;
  /** The completion at the head of the bus is that of a queue-pair-record. */
  takeRecord(unit: Unit): void;
  /** The completion at the head of the bus is that of a command. */
  takeCommand(unit: Unit): void;
}

/** What a doorbell unit is built from. */
export interface DoorbellUnitParts<Unit> {
  readonly scheduler: DoorbellScheduler<Unit>;
  readonly fetcher: CommandReads<Unit>;
  readonly queuePairs: ObjectTable<QueuePair>;
  /** Entries of the scheduler buffer. */
  readonly doorbellEntries: number;
  /** Bus reads that may be outstanding. */
  readonly busReads: number;
}
