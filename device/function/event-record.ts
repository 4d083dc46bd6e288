// SPDX-License-Identifier: Apache-2.0
/**
 * What an event queue entry says, as units hand it to an event queue (IBTA 11.6.3). A caller keeps
 * one record and fills it anew for each event, so posting an event allocates nothing.
 */
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';

export class EventRecord {
  type = 0;
  port = 0;
  objectNumber = 0;
  completionSequence = 0;
  fault: FaultKind = FaultKind.NONE;
  tokenLow = 0;
  tokenHigh = 0;
}

/** An object that an event may name. The token is the opaque 64-bit handle of software. */
export interface EventSubject {
  readonly number: number;
  readonly tokenLow: number;
  readonly tokenHigh: number;
}

/** The event queue that takes the asynchronous events of a function. */
export interface AsynchronousEventQueue {
  /** Whether this queue takes asynchronous events at present. */
  asynchronous: boolean;
  /** Returns false when the queue is full or in error. */
  post(event: EventRecord): boolean;
}
