// SPDX-License-Identifier: Apache-2.0
/**
 * Work requests in guest memory: the block that one is read into, and the memory that queues of a
 * personality lie in. Send queues, receive queues and SRQs read requests with both.
 */
import type { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../../hca/function/fault-log.ts';
import type { WordBlock } from '../../host.ts';

/** Bytes of the longest request of any personality. */
const REQUEST_MAX_BYTES = 2048;

/** A request that was read. */
export class RequestBlock implements WordBlock {
  readonly bytes = new Uint8Array(REQUEST_MAX_BYTES);
  readonly words = new Int32Array(this.bytes.buffer);
  readonly view = new DataView(this.bytes.buffer);
}

/** The memory of one or several work queues; offsets are in bytes from its start. */
export interface RequestMemory {
  /** Address of a byte, as faults name it. */
  addressOf(offset: number): number;
  /**
   * Reads `lengthBytes` of a request into `target`. Returns NONE, or the fault of `subject`, which
   * has been reported.
   */
  read(subject: FaultSubject, offset: number, lengthBytes: number, target: RequestBlock): FaultKind;
}

/** The counter of posted requests that software keeps in guest memory: a doorbell record. */
export interface PostedCounter {
  /** Undefined when it cannot be read; the fault has been reported. */
  read(subject: FaultSubject): number | undefined;
}
