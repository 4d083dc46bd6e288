// SPDX-License-Identifier: Apache-2.0
/**
 * Contents of an EQE, as units pass them to an event queue (IBTA 11.6.3), and the interfaces of the
 * objects involved. A caller keeps one record and fills it anew for each event, so posting an event
 * allocates nothing.
 */
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { EventCause } from './timeline-values.ts';

/** The fields of one event. An unused field is 0. */
export class EventRecord {
  type = 0;
  port = 0;
  objectNumber = 0;
  completionSequence = 0;
  fault: FaultKind = FaultKind.NONE;
  tokenLow = 0;
  tokenHigh = 0;
  /** What posts a completion event, for the timeline; no part of the EQE. */
  cause: EventCause = EventCause.COMPLETION;
}

/** What the event of a page fault has besides. */
export class PageFaultRecord {
  address = 0;
  lengthBytes = 0;
  key = 0;
  isWrite = false;
}

/** An object that an event may name. The token is software's opaque 64-bit handle of the object. */
export interface EventSubject {
  readonly number: number;
  readonly tokenLow: number;
  readonly tokenHigh: number;
}

/** The event queue that receives the asynchronous events of a function. */
export interface AsynchronousEventQueue {
  /** True while this queue receives asynchronous events. */
  asynchronous: boolean;
  /** Returns false when the queue is full or in error. */
  post(event: EventRecord): boolean;
  /**
   * Posts a page fault. Returns false, without any effect, while the queue is half full: the other
   * half is for events that cannot wait.
   */
  postPageFault(event: EventRecord, page: Readonly<PageFaultRecord>): boolean;
}
