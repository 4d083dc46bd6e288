// SPDX-License-Identifier: Apache-2.0
/**
 * Responder state of a connected QP (IBTA 9.7.4, 9.8.2): the expected PSN, the message in progress,
 * the READs and atomics that can be repeated, and the queued answers. Responder, execution,
 * refusals and answers work on it; connected-states.ts attaches it.
 */
import { PSN_MASK, psnDistance } from '../../../../protocol/infiniband/psn.ts';
import { CompletionStatus, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { ProtectionDomain } from '../../protection/protection-domain.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { QueuePairTrace } from '../../trace/queue-pair-trace.ts';
import { ReceiveReport } from '../completions.ts';
import type { Path } from '../path.ts';
import { ScatterGatherList } from '../scatter-gather.ts';

const PSN_COUNT = PSN_MASK + 1;
/** The queue of every responder that never had an answer; nothing is put into it. */
const NO_ANSWERS: ResponderResource[] = [];

/** Kinds of the message in progress. */
export const MessageKind = { NONE: 0, SEND: 1, WRITE: 2 } as const;
export type MessageKind = (typeof MessageKind)[keyof typeof MessageKind];

/** States of the responder for one packet, in order. DROP and EXIT end it. */
export const ResponderStep = {
  CHECK_PSN: 0,
  CHECK_OPCODE_SEQUENCE: 1,
  CHECK_RESOURCES: 2,
  CHECK_LENGTH: 3,
  CHECK_RKEY: 4,
  EXECUTE: 5,
  READ: 6,
  ATOMIC: 7,
  PLACEMENT: 8,
  COMPLETE: 9,
  ACKNOWLEDGE: 10,
  DUPLICATE: 11,
  DROP: 12,
  EXIT: 13,
} as const;
export type ResponderStep = (typeof ResponderStep)[keyof typeof ResponderStep];

/** Names of the states, for traces and the status. */
export const responderStepNames: Readonly<Record<ResponderStep, string>> = {
  [ResponderStep.CHECK_PSN]: 'check PSN',
  [ResponderStep.CHECK_OPCODE_SEQUENCE]: 'check opcode sequence',
  [ResponderStep.CHECK_RESOURCES]: 'check resources',
  [ResponderStep.CHECK_LENGTH]: 'check length',
  [ResponderStep.CHECK_RKEY]: 'check R_Key',
  [ResponderStep.EXECUTE]: 'execute',
  [ResponderStep.READ]: 'READ',
  [ResponderStep.ATOMIC]: 'atomic',
  [ResponderStep.PLACEMENT]: 'placement',
  [ResponderStep.COMPLETE]: 'complete',
  [ResponderStep.ACKNOWLEDGE]: 'acknowledge',
  [ResponderStep.DUPLICATE]: 'duplicate',
  [ResponderStep.DROP]: 'drop',
  [ResponderStep.EXIT]: 'exit',
};

/**
 * A READ or atomic that was served: a responder resource (IBTA 9.4.5, 9.7.7.3). Its answer can be
 * repeated until newer ones overwrite it.
 */
export class ResponderResource {
  /** True once it holds a served request. */
  used = false;
  isAtomic = false;
  /** True for a FLUSH: its answer waits for a read that pushes writes into memory. */
  isFlush = false;
  /** BTH opcode of the request. */
  opcode = 0;
  /** First and last PSN of the answer; of the first one also `ResponderState.countOf`. */
  firstPsn = 0;
  lastPsn = 0;
  firstCount = 0;
  msn = 0;
  address = 0;
  rkey = 0;
  /** PD of the QP when the request was served: an XRC target has that of the last SRQ named. */
  pd: ProtectionDomain | undefined = undefined;
  lengthBytes = 0;
  originalHigh = 0;
  originalLow = 0;
  /** True while the answer is queued; index of its next packet. */
  active = false;
  packetsSent = 0;
  /** Reads of its data that are to be issued, and those that are outstanding. */
  readsLeft = 0;
  readsOutstanding = 0;
  /** Counts what it was read for, so that late reads of an earlier answer are not its own. */
  readRound = 0;
  /** True while a repeated answer is queued: it was sent completely before. */
  repeated = false;
  /** True when the next packet starts the answer in the middle of its data. */
  restart = false;
  /** Acknowledgement to be sent behind the answer. */
  readonly after = new PendingAcknowledge();
  /** Trace of the QP while the answer is sent for the first time, and its command block there. */
  trace: QueuePairTrace | undefined = undefined;
  traceBlock = -1;
}

/** One acknowledgement to send; a newer one replaces it (coalescing, IBTA 9.7.5.1.2). */
export class PendingAcknowledge {
  pending = false;
  kind = 0;
  /** Code of a NAK or timer of an RNR NAK. An ACK gets its credits when it is sent. */
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

/** Packets of one kind of access, as `countOf` their PSNs; -1: none. */
export class PageMarks {
  /** The one that last missed a page, and the last one whose page fault was refused. */
  missed = -1;
  refused = -1;

  clear(): void {
    this.missed = -1;
    this.refused = -1;
  }
}

/** A connected QP, as its responder sees it. */
export interface RespondingQueuePair extends QueuePair {
  responder: ResponderState;
}

/** Fields are in order of use: those of every packet come first. */
export class ResponderState {
  readonly qp: RespondingQueuePair;
  readonly path: Path;
  expectedPsn = 0;
  /** Times that the expected PSN has wrapped. */
  wraps = 0;
  msn = 0;
  /** True once a packet arrived since RTR. */
  established = false;
  /**
   * A NAK for a sequence error, or an RNR NAK, was sent for the expected PSN. It is not repeated
   * until that PSN arrives (IBTA 9.7.5.2.8).
   */
  nakSent = false;
  message: MessageKind = MessageKind.NONE;
  /** The step of the packet in hand, or the one at which the last packet ended; EXIT before any. */
  step: ResponderStep = ResponderStep.EXIT;
  /** Bytes of the message placed so far. */
  messageBytes = 0;
  /** The RDMA WRITE in progress. */
  writeAddress = 0;
  writeRkey = 0;
  writeLength = 0;
  /** True while the QP waits for a turn to send acknowledgements, and to send READ data. */
  ready = false;
  inTurn = false;
  /** True while the data of the oldest answer is being read. */
  reading = false;
  /** A fatal NAK is queued or sent: it and the answers before it leave in the error state too. */
  refused = false;
  /**
   * Queued answers, oldest first: active resources in order; `acknowledge` is before them. A queue
   * of its own is made for the first one, as are `resources`.
   */
  queue: ResponderResource[] = NO_ANSWERS;
  readonly acknowledge = new PendingAcknowledge();
  /** The receive WQE taken for the message: its number and elements. */
  wqeTaken = false;
  wqeNumber = 0;
  readonly list = new ScatterGatherList();
  readonly report = new ReceiveReport();
  /** Requests and READ data that missed pages: both may wait at once. */
  readonly requestPages = new PageMarks();
  readonly answerPages = new PageMarks();
  /** How often the request was repeated that last missed a page. */
  pageRepeats = 0;
  /** True while data of the oldest answer waits for a page. */
  paused = false;
  /** Of `resources`, the one that is overwritten next. */
  resourceNext = 0;
  /** Length of `resources`. */
  #maxReads = 0;
  readonly #resources: ResponderResource[] = [];

  /** Attaches itself to the QP. */
  constructor(qp: QueuePair, path: Path) {
    this.qp = Object.assign(qp, { responder: this });
    this.path = path;
  }

  /** Starts a connection that expects `psn`. */
  start(psn: number, maxReads: number): void {
    this.clear();
    this.expectedPsn = psn;
    this.wraps = 0;
    this.requestPages.clear();
    this.answerPages.clear();
    this.msn = 0;
    this.established = false;
    this.step = ResponderStep.EXIT;
    this.resourceNext = 0;
    this.#resources.length = 0;
    this.#maxReads = maxReads;
  }

  /**
   * Ring of the last READs and atomics. It is made when the first one comes: it takes more memory
   * than all else of a QP, and without it more QPs fit a processor's caches.
   */
  get resources(): readonly ResponderResource[] {
    while (this.#resources.length < this.#maxReads) this.#resources.push(new ResponderResource());
    return this.#resources;
  }

  /** The next packet is to have `psn`. */
  expect(psn: number): void {
    if (psn < this.expectedPsn) this.wraps++;
    this.expectedPsn = psn;
  }

  /**
   * Number of `psn`, which is the expected PSN or one of the 2^23 before it, since the connection
   * began: PSNs come again after 2^24, these numbers do not.
   */
  countOf(psn: number): number {
    return this.wraps * PSN_COUNT + this.expectedPsn + psnDistance(this.expectedPsn, psn);
  }

  /** The newest answer that has `psn`, to a request with that opcode; undefined if none is kept. */
  findAnswer(psn: number, opcode: number): ResponderResource | undefined {
    const { resources, resourceNext } = this;
    for (let age = 1; age <= resources.length; age++) {
      const resource = resources[(resourceNext + resources.length - age) % resources.length];
      const { used, firstPsn, lastPsn, firstCount } = resource;
      const offset = this.countOf(psn) - firstCount;
      const isIn = offset >= 0 && offset <= psnDistance(firstPsn, lastPsn);
      if (used && isIn && resource.opcode === opcode) return resource;
    }
    return undefined;
  }

  /** Drops the message in progress and all queued answers. */
  clear(): void {
    this.nakSent = false;
    this.refused = false;
    this.message = MessageKind.NONE;
    this.wqeTaken = false;
    this.clearAnswers();
  }

  /** The queue, to put an answer into it. */
  ownQueue(): ResponderResource[] {
    if (this.queue === NO_ANSWERS) this.queue = [];
    return this.queue;
  }

  clearAnswers(): void {
    for (const resource of this.queue) {
      resource.active = false;
      resource.after.pending = false;
      resource.trace?.endAnswer(resource, CompletionStatus.FLUSHED, FaultKind.NONE);
    }
    this.queue.length = 0;
    this.paused = false;
    this.acknowledge.pending = false;
  }

  /** Sets how many READs and atomics can be repeated; the newest stay (IBTA 11.2.5.2, in SQD). */
  resize(maxReads: number): void {
    const { resources, resourceNext } = this;
    const oldestFirst = [...resources.slice(resourceNext), ...resources.slice(0, resourceNext)];
    while (oldestFirst.length > maxReads) this.withdraw(oldestFirst.shift() as ResponderResource);
    while (oldestFirst.length < maxReads) oldestFirst.unshift(new ResponderResource());
    this.#resources.splice(0, this.#resources.length, ...oldestFirst);
    this.#maxReads = maxReads;
    this.resourceNext = 0;
  }

  /** Removes a queued answer; an acknowledgement behind it is still sent. */
  withdraw(resource: ResponderResource): void {
    const place = this.queue.indexOf(resource);
    if (place < 0) return;
    this.queue.splice(place, 1);
    if (place === 0) this.paused = false;
    resource.active = false;
    resource.trace?.endAnswer(resource, CompletionStatus.FLUSHED, FaultKind.NONE);
    const { after } = resource;
    if (!after.pending) return;
    after.pending = false;
    const next = this.lastAcknowledge;
    if (!next.pending) next.set(after.kind, after.value, after.psn, after.msn);
  }

  /** True when the next packet is READ data (`data`), or an acknowledgement or atomic result. */
  hasNext(data: boolean): boolean {
    const { acknowledge, queue } = this;
    if (acknowledge.pending || queue.length === 0) return acknowledge.pending && !data;
    return queue[0].isAtomic !== data && !(data && this.paused);
  }

  /** The acknowledgement that is sent after all queued answers. */
  get lastAcknowledge(): PendingAcknowledge {
    return this.queue.length === 0 ? this.acknowledge : this.queue[this.queue.length - 1].after;
  }
}
