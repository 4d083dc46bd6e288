// SPDX-License-Identifier: Apache-2.0
/** What a connected QP remembers as responder: the PSN it expects, the message in progress, READs and atomics it must be able to repeat, what it has to answer. */

import { ReceiveReport } from './completions.ts';
import type { Path } from './path.ts';
import { ScatterGatherList } from './scatter-gather.ts';

/** What kind of message is in progress. */
export const MessageKind = { NONE: 0, SEND: 1, WRITE: 2 } as const;
export type MessageKind = (typeof MessageKind)[keyof typeof MessageKind];

/** A READ or atomic served: its answer can be repeated until it is pushed out by newer ones (IBTA 9.4.5, 9.7.7.3: responder resources). */
export class ResponderResource {
  isAtomic = false;
  /** First and last PSN of the answer. */
  firstPsn = 0;
  lastPsn = 0;
  msn = 0;
  address = 0;
  rkey = 0;
  lengthBytes = 0;
  originalHigh = 0;
  originalLow = 0;
  /** The answer, or the rest of it, is still to be sent; next packet of it. */
  active = false;
  packetsSent = 0;
  /** The next packet begins an answer anew, in the middle of the data. */
  restart = false;
  /** An acknowledgement that follows the answer. */
  readonly after = new PendingAcknowledge();
}

/** One acknowledgement to send; a newer one replaces it (coalescing, IBTA 9.7.5.1.2). */
export class PendingAcknowledge {
  pending = false;
  kind = 0;
  value = 0;
  psn = 0;
  msn = 0;

  set(kind: number, value: number, psn: number, msn: number): void {
    this.pending = true;
    this.kind = kind;
    this.value = value;
    this.psn = psn;
    this.msn = msn;
  }
}

export class ResponderState {
  readonly path: Path;
  expectedPsn = 0;
  msn = 0;
  /** A sequence error or RNR NAK was sent for the expected PSN: not again until it arrives (IBTA 9.7.5.2.8). */
  nakSent = false;
  /** First packet seen since RTR. */
  established = false;
  message: MessageKind = MessageKind.NONE;
  /** Bytes of the message placed so far. */
  messageBytes = 0;
  /** A receive entry is taken for the message; its number and elements. */
  entryTaken = false;
  entryNumber = 0;
  readonly list = new ScatterGatherList();
  /** RDMA WRITE in progress. */
  writeAddress = 0;
  writeRkey = 0;
  writeLength = 0;
  readonly report = new ReceiveReport();
  /** Ring of the last READs and atomics; `resourceNext` is overwritten next. */
  readonly resources: ResponderResource[] = [];
  resourceNext = 0;
  /** Answers to be sent, oldest first: active resources in order, then `acknowledge`. */
  readonly queue: ResponderResource[] = [];
  readonly acknowledge = new PendingAcknowledge();
  /** In the list of responders with answers to send. */
  ready = false;

  constructor(path: Path) {
    this.path = path;
  }

  /** A new connection expects `psn`. */
  start(psn: number, maxReads: number): void {
    this.expectedPsn = psn;
    this.msn = 0;
    this.nakSent = false;
    this.established = false;
    this.message = MessageKind.NONE;
    this.entryTaken = false;
    this.acknowledge.pending = false;
    this.queue.length = 0;
    this.resourceNext = 0;
    this.resources.length = 0;
    for (let index = 0; index < maxReads; index++) this.resources.push(new ResponderResource());
  }

  /** Where an acknowledgement goes so that it leaves after every answer queued before it. */
  get lastAcknowledge(): PendingAcknowledge {
    return this.queue.length === 0 ? this.acknowledge : this.queue[this.queue.length - 1].after;
  }
}
