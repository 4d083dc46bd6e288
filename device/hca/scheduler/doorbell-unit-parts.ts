// SPDX-License-Identifier: Apache-2.0
/**
 * The parts that a doorbell unit is built from, and the scheduler and the command fetcher as the
 * unit uses them (US 9,069,485 par. 70, 75-76): both belong to `scheduler/`, a layer above. The
 * adapter hands the parts to `DoorbellUnit`; `Unit` stands for that class, which this file must not
 * import.
 */
import type { DmaTiming } from '../function/dma-timing.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { CollectWrite } from './held-writes.ts';

/** The send queue scheduler as the doorbell unit uses it. */
export interface DoorbellScheduler<Unit> {
  /** Schedules `unit.advance`. No effect when it is scheduled. */
  wake(unit: Unit): void;
  /** Appends the QP to its list. No effect when the QP is in the list or stopped. */
  schedule(qp: QueuePair): void;
  /**
   * Starts the turn of the QP without linking it. Returns false when the QP must wait in its list.
   */
  beginAtOnce(unit: Unit, qp: QueuePair): boolean;
  /** Removes the QP from its list, if it is linked. */
  unschedule(qp: QueuePair): void;
}

/** The command fetcher: it takes the completions of bus reads of records and commands. */
export interface CommandReads<Unit> {
  /** True when a dedicated buffer can be bound for the function. */
  hasBuffer(owner: UnderlyingFunction): boolean;
  /** Takes the completion at the head of the bus, of a read of a queue-pair-record. */
  takeRecord(unit: Unit): void;
  /** Takes the completion at the head of the bus, of a read of a command. */
  takeCommand(unit: Unit): void;
}

/** Constructor arguments of a doorbell unit. */
export interface DoorbellUnitParts<Unit> {
  readonly scheduler: DoorbellScheduler<Unit>;
  readonly fetcher: CommandReads<Unit>;
  readonly queuePairs: ObjectTable<QueuePair>;
  /** Capacity of the scheduler buffer. */
  readonly doorbellEntries: number;
  /** Limit of outstanding bus reads, and how long they take. */
  readonly busReads: number;
  /** Posted doorbells that the bus holds per entry of the scheduler buffer. */
  readonly busDepth?: number;
  readonly timing: DmaTiming;
  /** Takes writes to the collect BAR that the stalled bus has held. */
  readonly deliver: CollectWrite;
}
