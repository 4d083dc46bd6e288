// SPDX-License-Identifier: Apache-2.0
/** What a connected QP remembers as requester: its path, its records from oldest to newest, what is sent and what is acknowledged. */
import { addPsn, psnDistance } from '../../protocol/infiniband/psn.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { Path } from './path.ts';
import type { SendRecord } from './send-record.ts';

/** Records of one QP; more commands stay in its send queue. */
export const RECORDS_PER_QUEUE_PAIR = 64;

/** Why a requester sends nothing although it has records. */
export const RequesterWait = {
  NONE: 0,
  /** RNR NAK received: until the timer (IBTA 9.7.5.2.8). */
  RNR: 1,
  /** A fenced command waits for READs and atomics (IBTA 10.8.3.3). */
  FENCE: 2,
  /** As many READs and atomics are outstanding as the QP may have. */
  READS: 3,
  /** The responder has given no end-to-end credit (IBTA 9.7.7.2). */
  CREDIT: 4,
  /** A malformed command waits to become the oldest, to be reported. */
  FAULT: 5,
  /** Too many packets are unacknowledged. */
  WINDOW: 6,
} as const;
export type RequesterWait = (typeof RequesterWait)[keyof typeof RequesterWait];

export class RequesterState {
  readonly qp: QueuePair;
  readonly path = new Path();
  /** Number of its timer, or -1: see `RetryTimers`. */
  timer = -1;
  /** Oldest record not completed, newest launched, and the one to send from; undefined when there is none. */
  oldest: SendRecord | undefined = undefined;
  newest: SendRecord | undefined = undefined;
  cursor: SendRecord | undefined = undefined;
  recordCount = 0;
  /** PSN of the next packet never sent before, and the oldest one not acknowledged. */
  nextPsn = 0;
  unackedPsn = 0;
  /** PSN behind the newest one ever sent: only what is before it can be acknowledged. */
  sentPsn = 0;
  /** The last implied or explicit NAK asked for this PSN, and nothing has been acknowledged since; -1: none. */
  retriedPsn = -1;
  readsOutstanding = 0;
  wait: RequesterWait = RequesterWait.NONE;
  retriesLeft = 0;
  rnrRetriesLeft = 0;
  /** Message sequence numbers for end-to-end credits: of the next new message, and the last one allowed. */
  sendSequence = 1;
  limitSequence = 0;
  creditsUnlimited = true;
  /** In the list of requesters with work. */
  ready = false;

  constructor(qp: QueuePair) {
    this.qp = qp;
  }

  /** More commands may be launched. */
  get acceptsCommands(): boolean {
    return this.wait === RequesterWait.NONE && this.recordCount < RECORDS_PER_QUEUE_PAIR;
  }

  /** Something is sent and not acknowledged. */
  get outstanding(): boolean {
    return this.unackedPsn !== this.nextPsn;
  }

  /** A packet with `psn` has been sent, or a READ whose last response will have it. */
  noteSent(psn: number): void {
    const after = addPsn(psn, 1);
    if (this.#ahead(after) > this.#ahead(this.sentPsn)) this.sentPsn = after;
  }

  /** `psn` was sent and is not acknowledged. */
  isUnacked(psn: number): boolean {
    return this.#ahead(psn) < this.#ahead(this.sentPsn);
  }

  append(record: SendRecord): void {
    if (this.newest === undefined) this.oldest = record;
    else this.newest.next = record;
    this.newest = record;
    this.cursor ??= record;
    this.recordCount++;
  }

  /** Takes the oldest record off the list. */
  shift(): SendRecord | undefined {
    const record = this.oldest;
    if (record === undefined) return undefined;
    this.oldest = record.next;
    if (this.oldest === undefined) this.newest = undefined;
    if (this.cursor === record) this.cursor = record.next;
    this.recordCount--;
    return record;
  }

  /** The oldest READ or atomic that is sent and not yet answered in full. */
  get oldestFetch(): SendRecord | undefined {
    for (let record = this.oldest; record?.numbered; record = record.next) {
      if (!record.done && record.isFetch) return record;
    }
    return undefined;
  }

  /** Puts the cursor on the packet with `psn`; everything behind it is sent again. */
  rewind(psn: number): void {
    let found: SendRecord | undefined;
    for (let record = this.oldest; record?.numbered; record = record.next) {
      if (record.done || psnDistance(record.lastPsn, psn) > 0) continue;
      record.packetsSent = record.isFetch ? 0 : Math.max(0, psnDistance(record.firstPsn, psn));
      found ??= record;
    }
    if (found !== undefined) this.cursor = found;
  }

  /** Counters as attributes say, after progress or at the start. */
  refillRetries(): void {
    this.retriesLeft = this.qp.attributes.retryCount;
    this.rnrRetriesLeft = this.qp.attributes.rnrRetry;
  }

  /** A new connection starts at `psn`. The list must be empty. */
  start(psn: number): void {
    this.nextPsn = psn;
    this.unackedPsn = psn;
    this.sentPsn = psn;
    this.retriedPsn = -1;
    this.readsOutstanding = 0;
    this.wait = RequesterWait.NONE;
    this.sendSequence = 1;
    this.limitSequence = 0;
    this.creditsUnlimited = true;
    this.refillRetries();
  }

  /** Distance from the oldest unacknowledged PSN: up to half the circle is outstanding (IBTA 9.7.1). */
  #ahead(psn: number): number {
    return addPsn(psn, -this.unackedPsn);
  }
}
