// SPDX-License-Identifier: Apache-2.0
/** The requests for objects that `Driver` creates. Absent fields have defaults. */
import type { EqAttributes } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import type { QpCreation } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import type { DriverCompletionQueue } from './completion-queue.ts';
import type { DriverEventQueue } from './event-queue.ts';

/** A buffer in guest memory to send from or to receive into. */
export interface DriverBuffer {
  readonly address: number;
  readonly lengthBytes: number;
  /** A live view of its bytes. */
  readonly bytes: Uint8Array;
}

/** A memory region. */
export interface DriverMemoryRegion {
  readonly number: number;
  readonly lkey: number;
  readonly rkey: number;
}

/** The set-up of a function. */
export interface BringUpRequest {
  readonly addressHandleEntries?: number;
  /** Number of collect buffers of QoS level 1: the last ones of the function. */
  readonly levelOnePages?: number;
  /** log2 of the entries of the doorbell overflow buffer; 0: none. */
  readonly overflowEntriesLog2?: number;
  /** Send queues are watched, for this many us after a find (0: the default of the device). */
  readonly tailWindowUs?: number;
}

/** A completion queue. */
export interface CompletionQueueRequest {
  readonly entriesLog2?: number;
  /** Handle of software, repeated in events. */
  readonly token?: number;
  readonly eventQueue?: DriverEventQueue;
  readonly paged?: boolean;
  /** Index of its secondary summary byte in the event queue. */
  readonly summaryIndex?: number;
  /** Number of the collect context whose pages request its events; 0: only those of the kernel. */
  readonly collectContext?: number;
}

/** An event queue. */
export interface EventQueueRequest {
  readonly entriesLog2?: number;
  readonly vector?: number;
  readonly asynchronous?: boolean;
  readonly paged?: boolean;
  /** Number of secondary summary bytes; with them there is a primary one. */
  readonly summaryCount?: number;
  readonly attributes?: Partial<EqAttributes>;
}

/** A shared receive queue. */
export interface SharedReceiveQueueRequest {
  readonly pd: number;
  readonly entriesLog2?: number;
  /** Fewer WQEs than this cause one event; 0: none. */
  readonly limit?: number;
  readonly paged?: boolean;
}

/** A queue pair. */
export interface QueuePairRequest {
  readonly pd: number;
  readonly sendCq: DriverCompletionQueue;
  readonly receiveCq?: DriverCompletionQueue;
  readonly sendEntriesLog2?: number;
  readonly receiveEntriesLog2?: number;
  /** log2 of the slot bytes of both queues; the largest unless given. */
  readonly strideLog2?: number;
  readonly paged?: boolean;
  readonly qosLevel?: number;
  readonly checksumKey?: number;
  /**
   * A process owns the QP: number of its collect context, and byte offset of the collect page in
   * which it posts.
   */
  readonly user?: { readonly collectContext: number; readonly page: number };
  /** Creation attributes that override all others. */
  readonly creation?: Partial<QpCreation>;
}
