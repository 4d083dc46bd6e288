// SPDX-License-Identifier: Apache-2.0
/** What the driver is asked for when it makes objects. Everything not given has a default. */
import type { EqAttributes } from '../../../../protocol/layout/gen/eq-attributes.gen.ts';
import type { QpCreation } from '../../../../protocol/layout/gen/qp-creation.gen.ts';
import type { DriverCompletionQueue } from './completion-queue.ts';
import type { DriverEventQueue } from './event-queue.ts';

/** A piece of guest memory to send from or receive into. */
export interface DriverBuffer {
  readonly address: number;
  readonly lengthBytes: number;
  /** Its bytes, live. */
  readonly bytes: Uint8Array;
}

/** A memory region of the driver. */
export interface DriverMemoryRegion {
  readonly number: number;
  readonly lkey: number;
  readonly rkey: number;
}

export interface BringUpRequest {
  readonly addressHandleEntries?: number;
  /** Collect buffers, the last ones, that become those of QoS level 1. */
  readonly levelOnePages?: number;
  /** log2 of the entries of the doorbell overflow buffer; 0 gives none. */
  readonly overflowEntriesLog2?: number;
}

export interface CompletionQueueRequest {
  readonly entriesLog2?: number;
  /** Software's own handle, repeated in events. */
  readonly token?: number;
  readonly eventQueue?: DriverEventQueue;
  readonly paged?: boolean;
  /** Which secondary summary byte of the event queue stands for it. */
  readonly summaryIndex?: number;
}

export interface EventQueueRequest {
  readonly entriesLog2?: number;
  readonly vector?: number;
  readonly asynchronous?: boolean;
  readonly paged?: boolean;
  /** Secondary summary bytes; with them comes a primary one. */
  readonly summaryCount?: number;
  readonly attributes?: Partial<EqAttributes>;
}

export interface QueuePairRequest {
  readonly pd: number;
  readonly sendCq: DriverCompletionQueue;
  readonly receiveCq?: DriverCompletionQueue;
  readonly sendEntriesLog2?: number;
  readonly receiveEntriesLog2?: number;
  /** log2 of the bytes of a slot, of both queues; by default the largest. */
  readonly strideLog2?: number;
  readonly paged?: boolean;
  readonly qosLevel?: number;
  readonly checksumKey?: number;
  /** Creation attributes as they shall stand, whatever the rest says. */
  readonly creation?: Partial<QpCreation>;
}
