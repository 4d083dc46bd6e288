// SPDX-License-Identifier: Apache-2.0
/** What a connected QP remembers as responder: the PSN it expects, the message in progress, READs and atomics it must be able to repeat, what it has to answer. */

import { CompletionStatus, FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { QueuePairTrace } from '../trace/queue-pair-trace.ts';
import { ReceiveReport } from './completions.ts';
import type { Path } from './path.ts';
import { ScatterGatherList } from './scatter-gather.ts';

/** What kind of message is in progress. */
export const MessageKind = { NONE: 0, SEND: 1, WRITE: 2 } as const;
export type MessageKind = (typeof MessageKind)[keyof typeof MessageKind];

/** A READ or atomic served: its answer can be repeated until it is pushed out by newer ones (IBTA 9.4.5, 9.7.7.3: responder resources). */
export class ResponderResource {
  /** Something was served with it. */
  used = false;
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
  /** The answer is on its way once more; the first time it was sent whole. */
  repeated = false;
  /** The next packet begins an answer anew, in the middle of the data. */
  restart = false;
  /** An acknowledgement that follows the answer. */
  readonly after = new PendingAcknowledge();
  /** The trace of the QP while the answer is sent the first time, and its command block there. */
  trace: QueuePairTrace | undefined = undefined;
  traceBlock = -1;
}

/** One acknowledgement to send; a newer one replaces it (coalescing, IBTA 9.7.5.1.2). */
export class PendingAcknowledge {
  pending = false;
  kind = 0;
  /** Of a NAK its code, of an RNR NAK its timer; an ACK gets its credits when it leaves. */
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

/** Fields are in the order of use: what every packet needs comes first. */
export class ResponderState {
  readonly path: Path;
  expectedPsn = 0;
  msn = 0;
  /** First packet seen since RTR. */
  established = false;
  /** A sequence error or RNR NAK was sent for the expected PSN: not again until it arrives (IBTA 9.7.5.2.8). */
  nakSent = false;
  message: MessageKind = MessageKind.NONE;
  /** Bytes of the message placed so far. */
  messageBytes = 0;
  /** RDMA WRITE in progress. */
  writeAddress = 0;
  writeRkey = 0;
  writeLength = 0;
  /** In the list of responders with acknowledgements to send; waits for the turn of its lane to send data that was read. */
  ready = false;
  inTurn = false;
  /** A fatal NAK is to be sent, or was: all that an error state still lets out. */
  refused = false;
  /** Answers to be sent, oldest first: active resources in order, then `acknowledge`. */
  readonly queue: ResponderResource[] = [];
  readonly acknowledge = new PendingAcknowledge();
  /** A receive entry is taken for the message; its number and elements. */
  wqeTaken = false;
  wqeNumber = 0;
  readonly list = new ScatterGatherList();
  readonly report = new ReceiveReport();
  /** Ring of the last READs and atomics; `resourceNext` is overwritten next. */
  readonly resources: ResponderResource[] = [];
  resourceNext = 0;

  constructor(path: Path) {
    this.path = path;
  }

  /** A new connection expects `psn`. */
  start(psn: number, maxReads: number): void {
    this.clear();
    this.expectedPsn = psn;
    this.msn = 0;
    this.established = false;
    this.resourceNext = 0;
    this.resources.length = 0;
    this.resize(maxReads);
  }

  /** No message is in progress, nothing is to be answered. */
  clear(): void {
    this.nakSent = false;
    this.refused = false;
    this.message = MessageKind.NONE;
    this.wqeTaken = false;
    this.clearAnswers();
  }

  clearAnswers(): void {
    for (const resource of this.queue) {
      resource.active = false;
      resource.after.pending = false;
      resource.trace?.endAnswer(resource, CompletionStatus.FLUSHED, FaultKind.NONE);
    }
    this.queue.length = 0;
    this.acknowledge.pending = false;
  }

  /** Changes how many READs and atomics can be repeated; the newest stay (IBTA 11.2.5.2, in SQD). */
  resize(maxReads: number): void {
    const { resources, resourceNext } = this;
    const oldestFirst = [...resources.slice(resourceNext), ...resources.slice(0, resourceNext)];
    while (oldestFirst.length > maxReads) this.withdraw(oldestFirst.shift() as ResponderResource);
    while (oldestFirst.length < maxReads) oldestFirst.unshift(new ResponderResource());
    resources.splice(0, resources.length, ...oldestFirst);
    this.resourceNext = 0;
  }

  /** The answer is not to be sent any more; what was to follow it still is. */
  withdraw(resource: ResponderResource): void {
    const place = this.queue.indexOf(resource);
    if (place < 0) return;
    this.queue.splice(place, 1);
    resource.active = false;
    resource.trace?.endAnswer(resource, CompletionStatus.FLUSHED, FaultKind.NONE);
    const { after } = resource;
    if (!after.pending) return;
    after.pending = false;
    const next = this.lastAcknowledge;
    if (!next.pending) next.set(after.kind, after.value, after.psn, after.msn);
  }

  /** Where an acknowledgement goes so that it leaves after every answer queued before it. */
  get lastAcknowledge(): PendingAcknowledge {
    return this.queue.length === 0 ? this.acknowledge : this.queue[this.queue.length - 1].after;
  }
}
