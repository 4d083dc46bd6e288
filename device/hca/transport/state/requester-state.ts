// SPDX-License-Identifier: Apache-2.0
/**
 * Requester state of a connected QP (IBTA 9.7.1 to 9.7.3): its path, its records from oldest to
 * newest, and the PSNs sent and acknowledged. `RequesterState` states what holds of them between
 * two steps. Requester, completer and `SendRecordLife` work on it; connected-states.ts attaches it.
 */
import { addPsn, psnDistance } from '../../../../protocol/infiniband/psn.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { noteStep, Step } from '../../function/timeline.ts';
import { CommandWait } from '../../function/timeline-values.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { Path } from '../path.ts';
import type { SendRecord } from './send-record.ts';

/** Maximum of records per QP; further commands stay in the send queue. */
export const RECORDS_PER_QUEUE_PAIR = 64;

/** Maximum of outstanding PSNs: half of all (IBTA 9.7.1). */
export const PSNS_OUTSTANDING_MAX = 1 << 23;

/** Reasons why a requester with records sends nothing. */
export const RequesterWait = {
  NONE: 0,
  /** Until the timer of an RNR NAK expires (IBTA 9.7.5.2.8). */
  RNR: 1,
  /** A fenced command waits for READs and atomics (IBTA 10.8.3.3). */
  FENCE: CommandWait.FENCE,
  /** READs and atomics are outstanding up to the initiator depth. */
  READS: CommandWait.READS,
  /** The responder has granted no end-to-end credit (IBTA 9.7.7.2). */
  CREDIT: CommandWait.CREDIT,
  /** A malformed command waits until it is the oldest and can be reported. */
  FAULT: 5,
  /** Too many packets are unacknowledged. */
  WINDOW: CommandWait.WINDOW,
  /** A page of the payload is not present. */
  PAGE: 7,
} as const;
export type RequesterWait = (typeof RequesterWait)[keyof typeof RequesterWait];

/** Names of the reasons, for the status; undefined for none. */
export const requesterWaitNames: Readonly<Record<RequesterWait, string | undefined>> = {
  [RequesterWait.NONE]: undefined,
  [RequesterWait.RNR]: 'receiver not ready',
  [RequesterWait.FENCE]: 'fence',
  [RequesterWait.READS]: 'outstanding READs',
  [RequesterWait.CREDIT]: 'end-to-end credit',
  [RequesterWait.FAULT]: 'failed command',
  [RequesterWait.WINDOW]: 'acknowledgements',
  [RequesterWait.PAGE]: 'page fault',
};

/** States of one turn over the records of a QP. EXIT ends it. */
export const RequesterStep = { SELECT: 0, ADMIT: 1, NUMBER: 2, SEND: 3, LOCAL: 4, EXIT: 5 } as const;
export type RequesterStep = (typeof RequesterStep)[keyof typeof RequesterStep];

/** Names of the states, for traces and the status. */
export const requesterStepNames: Readonly<Record<RequesterStep, string>> = {
  [RequesterStep.SELECT]: 'select',
  [RequesterStep.ADMIT]: 'admit',
  [RequesterStep.NUMBER]: 'number',
  [RequesterStep.SEND]: 'send',
  [RequesterStep.LOCAL]: 'local operation',
  [RequesterStep.EXIT]: 'exit',
};

/** A connected QP, as its requester sees it. */
export interface RequestingQueuePair extends QueuePair {
  requester: RequesterState;
}

/**
 * Between two steps `unackedPsn <= cursorPsn <= sentPsn <= nextPsn`, and at most half of all PSNs
 * lie between the ends. Records have consecutive PSNs up to `nextPsn`. A record with PSNs is done
 * exactly if they are acknowledged, or if it failed here. What is before the cursor is sent, and
 * behind the cursor nothing waits but what is to be sent, or sent again. `findError` checks this.
 *
 * An ACK, or a response, counts only with a PSN from `unackedPsn` to before `sentPsn`. It moves
 * `unackedPsn` behind that PSN, or to the first response that is missing. Records up to there are
 * done. The cursor moves with it when the ACK has overtaken packets that are sent again; only a
 * retry moves the cursor back, and never before `unackedPsn`. Nothing but a packet moves `sentPsn`.
 */
export class RequesterState extends Path {
  readonly qp: RequestingQueuePair;
  /** Index of its timer in `RetryTimers`, or -1. */
  timer = -1;
  /** Oldest record not completed, record launched last, and record to send from next. */
  oldest: SendRecord | undefined = undefined;
  newest: SendRecord | undefined = undefined;
  cursor: SendRecord | undefined = undefined;
  recordCount = 0;
  /** PSN of the next new packet, and oldest unacknowledged PSN. */
  nextPsn = 0;
  unackedPsn = 0;
  /** PSN behind the newest one sent: acknowledgements beyond it are ghosts. */
  sentPsn = 0;
  /** PSN that the last implied or explicit NAK asked for; -1 once something is acknowledged. */
  retriedPsn = -1;
  readsOutstanding = 0;
  wait: RequesterWait = RequesterWait.NONE;
  /** The step of the turn in hand, or the one at which the last turn ended; EXIT before any. */
  step: RequesterStep = RequesterStep.EXIT;
  retriesLeft = 0;
  rnrRetriesLeft = 0;
  /** Message sequence numbers of end-to-end credits: of the next new message, and the limit. */
  sendSequence = 1;
  limitSequence = 0;
  creditsUnlimited = true;
  /** PSN of the last packet whose payload missed a page, and whose page fault was refused. */
  refusedPsn = -1;
  /** True while the QP waits for a turn to send, and for payload that is read again. */
  ready = false;
  reading = false;

  /** Attaches itself to the QP. */
  constructor(qp: QueuePair) {
    super();
    this.qp = Object.assign(qp, { requester: this });
  }

  /** The path of the connection: part of this object, which each packet needs as well. */
  get path(): Path {
    return this;
  }

  /** True when further commands may be launched. */
  get acceptsCommands(): boolean {
    return this.wait === RequesterWait.NONE && this.recordCount < RECORDS_PER_QUEUE_PAIR;
  }

  /** True when a sent PSN is not acknowledged. */
  get outstanding(): boolean {
    return this.unackedPsn !== this.nextPsn;
  }

  /**
   * Notes that a packet with `psn` was sent, and that PSNs up to `lastPsn` are used: that of the
   * packet, or of the last response of a requested READ.
   */
  noteSent(psn: number, lastPsn: number): void {
    const after = addPsn(lastPsn, 1);
    if (this.#ahead(after) > this.#ahead(this.sentPsn)) this.sentPsn = after;
    else noteStep(this.qp, Step.RESEND, psn);
  }

  /**
   * Everything before `psn` is acknowledged. PSNs come again after a wrap, so marks of packets that
   * are acknowledged are removed.
   */
  acknowledge(psn: number): void {
    this.unackedPsn = psn;
    this.retriedPsn = -1;
    if (this.refusedPsn >= 0 && this.#ahead(this.refusedPsn) > this.#ahead(this.nextPsn)) this.refusedPsn = -1;
  }

  /**
   * PSN of the packet that is sent next. A READ is requested from the first missing response on.
   */
  get cursorPsn(): number {
    let record = this.cursor;
    while (record?.done && record.fault === FaultKind.NONE) record = record.next;
    if (record === undefined || !record.numbered) return this.nextPsn;
    return addPsn(record.firstPsn, record.isFetch ? record.responsesReceived : record.packetsSent);
  }

  /** True when `psn` was sent and is not acknowledged. */
  isUnacked(psn: number): boolean {
    return this.#ahead(psn) < this.#ahead(this.sentPsn);
  }

  /** The command with this sequence number may not begin yet, unless `wait` is NONE. */
  beginWait(sequence: number, wait: RequesterWait): void {
    this.wait = wait;
    if (wait !== RequesterWait.NONE) noteStep(this.qp, Step.COMMAND_WAIT, sequence, wait, this.step);
  }

  append(record: SendRecord): void {
    if (this.newest === undefined) this.oldest = record;
    else this.newest.next = record;
    this.newest = record;
    this.cursor ??= record;
    this.recordCount++;
  }

  /** Removes and returns the oldest record. */
  shift(): SendRecord | undefined {
    const record = this.oldest;
    if (record === undefined) return undefined;
    this.oldest = record.next;
    if (this.oldest === undefined) this.newest = undefined;
    if (this.cursor === record) this.cursor = record.next;
    this.recordCount--;
    return record;
  }

  /** The oldest READ or atomic that is sent and lacks a response. */
  get oldestFetch(): SendRecord | undefined {
    for (let record = this.oldest; record?.numbered; record = record.next) {
      if (!record.done && record.isFetch) return record;
    }
    return undefined;
  }

  /**
   * Moves the cursor back to the packet with `psn`: it and everything behind it are sent again.
   * Calls `again` for each record of which `sent` packets were sent, more than now.
   */
  rewind(psn: number, again?: (record: SendRecord, sent: number) => void): void {
    let found: SendRecord | undefined;
    for (let record = this.oldest; record?.numbered; record = record.next) {
      if (record.done || psnDistance(record.lastPsn, psn) > 0) continue;
      const sent = record.packetsSent;
      record.packetsSent = record.isFetch ? 0 : Math.max(0, psnDistance(record.firstPsn, psn));
      if (sent > record.packetsSent) again?.(record, sent);
      found ??= record;
    }
    if (found !== undefined) this.cursor = found;
  }

  /** Sets the retry counters from the attributes: at the start and after progress. */
  refillRetries(): void {
    this.retriesLeft = this.qp.attributes.retryCount;
    this.rnrRetriesLeft = this.qp.attributes.rnrRetry;
  }

  /** Starts a connection at `psn`. There must be no records. */
  start(psn: number): void {
    this.nextPsn = psn;
    this.unackedPsn = psn;
    this.sentPsn = psn;
    this.retriedPsn = -1;
    this.readsOutstanding = 0;
    this.wait = RequesterWait.NONE;
    this.step = RequesterStep.EXIT;
    this.sendSequence = 1;
    this.limitSequence = 0;
    this.creditsUnlimited = true;
    this.refusedPsn = -1;
    this.refillRetries();
  }

  /** Describes what of the rules above does not hold; undefined if all do. */
  findError(): string | undefined {
    const { unackedPsn, cursorPsn, sentPsn, nextPsn } = this;
    const [cursor, sent, next] = [this.#ahead(cursorPsn), this.#ahead(sentPsn), this.#ahead(nextPsn)];
    if (cursor > sent || sent > next || next > PSNS_OUTSTANDING_MAX)
      return `of PSNs from ${unackedPsn} on, ${cursor} are before the cursor, ${sent} sent and ${next} numbered`;
    return this.#findRecordError();
  }

  #findRecordError(): string | undefined {
    let [reads, count, isBehind] = [0, 0, false];
    let psn = this.oldest?.numbered ? this.oldest.firstPsn : this.nextPsn;
    for (let record = this.oldest; record !== undefined; record = record.next, count++) {
      const { sequence, numbered, firstPsn, lastPsn, done, fault, isFetch, packetsSent } = record;
      isBehind ||= record === this.cursor;
      if (!numbered) continue;
      if (firstPsn !== psn) return `record ${sequence} begins with PSN ${firstPsn} in place of ${psn}`;
      psn = addPsn(lastPsn, 1);
      if (isFetch && !done) reads++;
      const psns = addPsn(psn, -firstPsn);
      const acked = psnDistance(firstPsn, this.unackedPsn);
      if (psns > 0 && fault === FaultKind.NONE && done !== acked >= psns)
        return `record ${sequence}, PSNs ${firstPsn} to ${lastPsn}, is ${done ? '' : 'not '}done`;
      const left = isFetch ? 1 - packetsSent : psns - packetsSent;
      if (!isBehind && !done && left > 0)
        return `${left} packets of record ${sequence} are before the cursor, not sent`;
      if (isBehind && record !== this.cursor && !done && packetsSent > Math.max(0, acked))
        return `${packetsSent} packets of record ${sequence} are sent, behind the cursor`;
    }
    if (psn !== this.nextPsn) return `the records end before PSN ${psn}, not ${this.nextPsn}`;
    if (count !== this.recordCount) return `${count} records in place of ${this.recordCount}`;
    return reads === this.readsOutstanding ? undefined : `${reads} READs in place of ${this.readsOutstanding}`;
  }

  /**
   * Distance from the oldest unacknowledged PSN; up to half of all PSNs may be outstanding (IBTA
   * 9.7.1).
   */
  #ahead(psn: number): number {
    return addPsn(psn, -this.unackedPsn);
  }
}
