// SPDX-License-Identifier: Apache-2.0
/**
 * The completer of reliable QPs (IBTA 9.7.5.1, 9.7.6, 9.7.7): takes acknowledgements, NAKs and responses, completes records in order, and decides what is sent again.
 */

import { getAethMsn, getAethSyndromeKind, getAethSyndromeValue } from '../../protocol/infiniband/gen/aeth.gen.ts';
import {
  getAtomicAckEthOriginalHigh,
  getAtomicAckEthOriginalLow,
} from '../../protocol/infiniband/gen/atomic-ack-eth.gen.ts';
import { AethKind, NakCode } from '../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag } from '../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../protocol/infiniband/packet.ts';
import { addPsn, MSN_MASK, psnDistance } from '../../protocol/infiniband/psn.ts';
import { ackTimeoutNs, CREDITS_UNLIMITED, creditsOf, rnrTimerNs } from '../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, FaultKind, QpState } from '../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { refusalStatus } from './fault-status.ts';
import type { Requester } from './requester.ts';
import { RequestKind } from './requester-opcodes.ts';
import { type RequesterState, RequesterWait } from './requester-state.ts';
import type { RetryTimers } from './retry-timers.ts';
import type { SendRecord } from './send-record.ts';

const RNR_RETRY_INFINITE = 7;
const ATOMIC_BYTES = 8;
/** Message sequence numbers. A copy: imports are looked up at each use. */
const MSN_BITS = MSN_MASK;
/** A fault that ends a response whose opcode or length does not answer the request. */
const BAD_RESPONSE = FaultKind.COMMAND_LENGTH;

export interface CompleterParts {
  readonly requester: Requester;
  readonly timers: RetryTimers;
  now(): number;
  /** The oldest records may be done. */
  completeDone(qp: QueuePair): void;
  /** The oldest record ends with an error; everything behind it is flushed. */
  failOldest(qp: QueuePair, status: CompletionStatus, fault: FaultKind): void;
  /** A wait is over: more commands may be taken from the send queue. */
  resume(qp: QueuePair): void;
  /** Records not begun go back to the send queue. */
  returnUnbegun(qp: QueuePair): void;
}

export class Completer {
  acknowledges = 0;
  naks = 0;
  rnrNaks = 0;
  retries = 0;
  timeouts = 0;
  ghosts = 0;
  readonly #parts: CompleterParts;
  readonly #original = new Uint8Array(ATOMIC_BYTES);
  readonly #originalView = new DataView(this.#original.buffer);
  readonly #originalBytes = { bytes: this.#original, words: new Int32Array(this.#original.buffer) };

  constructor(parts: CompleterParts) {
    this.#parts = parts;
  }

  /** A response packet for `state`'s QP. False when it was dropped. */
  receive(state: RequesterState, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    if (!isRunning(state.qp)) return false;
    // Acknowledged before, or never sent: a duplicate or a ghost (IBTA 9.7.5.1.1).
    if (!state.isUnacked(packet.psn)) {
      if (this.#takeUnsolicitedCredits(state, ring.view, packet)) return true;
      this.ghosts++;
      return false;
    }
    if (packet.flags & OpcodeFlag.ACKNOWLEDGE) return this.#receiveAcknowledge(state, ring.view, packet);
    return this.#receiveData(state, ring, packet);
  }

  /** The local ACK timeout or the RNR wait of the QP has run out. */
  expire(state: RequesterState): void {
    if (state.qp.destroyed || !isRunning(state.qp)) return;
    if (state.wait === RequesterWait.RNR) return this.#endReceiverWait(state);
    if (!state.outstanding) return;
    this.timeouts++;
    state.retriedPsn = -1;
    this.#retry(state, state.unackedPsn);
  }

  #receiveAcknowledge(state: RequesterState, view: DataView, packet: Readonly<ParsedPacket>): boolean {
    const kind = getAethSyndromeKind(view, packet.aethOffset);
    const value = getAethSyndromeValue(view, packet.aethOffset);
    switch (kind) {
      case AethKind.ACK:
        this.acknowledges++;
        this.#takeCredits(state, view, packet.aethOffset);
        this.#acknowledgeThrough(state, packet.psn);
        return true;
      case AethKind.RNR_NAK:
        this.rnrNaks++;
        // A second one during the wait says nothing new.
        if (state.wait === RequesterWait.RNR && packet.psn === state.unackedPsn) return false;
        if (this.#acknowledgeBefore(state, packet.psn)) this.#waitForReceiver(state, value);
        return true;
      case AethKind.NAK:
        this.naks++;
        if (this.#acknowledgeBefore(state, packet.psn)) this.#refused(state, packet.psn, value);
        return true;
      default:
        return false;
    }
  }

  /** A read response or an atomic acknowledge. */
  #receiveData(state: RequesterState, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    const record = state.oldestFetch;
    if (record === undefined) return false;
    const expected = addPsn(record.firstPsn, record.responsesReceived);
    const ahead = psnDistance(expected, packet.psn);
    if (ahead < 0) return false;
    // Not the response that comes next: an earlier one was lost, and what follows it is of no use.
    if (ahead > 0) {
      if (this.#acknowledgeBefore(state, expected)) this.#retry(state, expected);
      return true;
    }
    if (!this.#acknowledgeBefore(state, packet.psn)) return true;
    if (packet.aethOffset >= 0) this.#takeCredits(state, ring.view, packet.aethOffset);
    const fault = this.#takeData(state, record, ring, packet);
    if (fault !== FaultKind.NONE) {
      this.#failData(state, fault);
      return true;
    }
    record.responsesReceived++;
    if (packet.psn === record.lastPsn) {
      record.done = true;
      state.readsOutstanding--;
    }
    this.#progress(state, addPsn(packet.psn, 1));
    return true;
  }

  #takeData(state: RequesterState, record: SendRecord, ring: PacketRing, packet: Readonly<ParsedPacket>): FaultKind {
    const { qp } = state;
    const isAtomic = record.kind === RequestKind.ATOMIC;
    if (isAtomic !== ((packet.flags & OpcodeFlag.ATOMIC_ACKNOWLEDGE) !== 0)) return BAD_RESPONSE;
    if (isAtomic) {
      // The wire carries the value big-endian; memory holds it in the order of the host.
      this.#originalView.setUint32(0, getAtomicAckEthOriginalLow(ring.view, packet.atomicAckEthOffset), true);
      this.#originalView.setUint32(4, getAtomicAckEthOriginalHigh(ring.view, packet.atomicAckEthOffset), true);
      record.trace?.keepAnswer(record.traceBlock, 0, ring, packet.lrhOffset, packet.atomicAckEthOffset, ATOMIC_BYTES);
      return record.list.scatter(qp, 0, this.#originalBytes, 0, ATOMIC_BYTES) ? FaultKind.NONE : FaultKind.DMA_WRITE;
    }
    const done = record.responsesReceived * qp.pathMtuBytes;
    const isLast = packet.psn === record.lastPsn;
    const length = isLast ? record.messageLength - done : qp.pathMtuBytes;
    const endsHere = (packet.flags & (OpcodeFlag.LAST | OpcodeFlag.ONLY)) !== 0;
    if (packet.payloadLengthBytes !== length || endsHere !== isLast) return BAD_RESPONSE;
    record.trace?.keepAnswer(record.traceBlock, done, ring, packet.lrhOffset, packet.payloadOffset, length);
    return record.list.scatter(qp, done, ring, packet.payloadOffset, length) ? FaultKind.NONE : FaultKind.DMA_WRITE;
  }

  /** IBTA 9.7.6.2.3: a response that makes no sense, or that local memory does not take. */
  #failData(state: RequesterState, fault: FaultKind): void {
    const isLocal = fault === FaultKind.DMA_WRITE;
    this.#parts.completeDone(state.qp);
    this.#parts.failOldest(
      state.qp,
      isLocal ? CompletionStatus.LOCAL_PROTECTION_ERROR : CompletionStatus.BAD_RESPONSE_ERROR,
      fault,
    );
  }

  /** Everything before `psn` is acknowledged too. False when that shows a lost response, which is asked for again, or ended the QP. */
  #acknowledgeBefore(state: RequesterState, psn: number): boolean {
    if (psn === state.unackedPsn) return true;
    return this.#acknowledgeThrough(state, addPsn(psn, -1));
  }

  /** Everything up to `psn` is done, unless it is a READ or atomic whose response is missing (IBTA 9.7.5.1.3: implied NAK). */
  #acknowledgeThrough(state: RequesterState, psn: number): boolean {
    for (let record = state.oldest; record?.numbered; record = record.next) {
      if (record.done) continue;
      if (psnDistance(record.firstPsn, psn) < 0) break;
      if (record.isFetch) {
        const missing = addPsn(record.firstPsn, record.responsesReceived);
        if (psnDistance(missing, psn) < 0) break;
        if (missing === state.unackedPsn || this.#progress(state, missing)) this.#retry(state, missing);
        return false;
      }
      if (psnDistance(record.lastPsn, psn) >= 0) record.done = true;
    }
    return this.#progress(state, addPsn(psn, 1));
  }

  /** Packets before `psn`, at least one, are acknowledged: the retry counters start anew, and the timer. False when the QP failed over a completion. */
  #progress(state: RequesterState, psn: number): boolean {
    const { qp } = state;
    state.unackedPsn = psn;
    state.retriedPsn = -1;
    state.refillRetries();
    const timeoutNs = ackTimeoutNs(qp.attributes.timeout);
    this.#parts.timers.set(state, state.outstanding ? this.#parts.now() + timeoutNs : Number.POSITIVE_INFINITY);
    this.#parts.completeDone(qp);
    if (!isRunning(qp)) return false;
    // The message that was refused for want of a receive entry has been taken after all: a copy of it came later.
    if (state.wait === RequesterWait.RNR) this.#endReceiverWait(state);
    else this.#unblock(state);
    return true;
  }

  #unblock(state: RequesterState): void {
    if (state.wait === RequesterWait.NONE) return this.#parts.requester.wake(state);
    if (state.wait === RequesterWait.FAULT) return;
    state.wait = RequesterWait.NONE;
    this.#parts.resume(state.qp);
  }

  #takeCredits(state: RequesterState, view: DataView, aethOffset: number): void {
    const value = getAethSyndromeValue(view, aethOffset);
    state.creditsUnlimited = value === CREDITS_UNLIMITED;
    if (state.creditsUnlimited) return;
    state.limitSequence = (getAethMsn(view, aethOffset) + creditsOf(value)) & MSN_BITS;
  }

  /** The newest acknowledgement once more, which grants further credits (IBTA 9.7.7.2, unsolicited acknowledge). False when it is something else, or a late copy, which grants none. */
  #takeUnsolicitedCredits(state: RequesterState, view: DataView, packet: Readonly<ParsedPacket>): boolean {
    const { creditsUnlimited, limitSequence } = state;
    const isNewest = (packet.flags & OpcodeFlag.ACKNOWLEDGE) !== 0 && addPsn(packet.psn, 1) === state.unackedPsn;
    if (creditsUnlimited || !isNewest || getAethSyndromeKind(view, packet.aethOffset) !== AethKind.ACK) return false;
    this.#takeCredits(state, view, packet.aethOffset);
    const isMore = state.creditsUnlimited || psnDistance(limitSequence, state.limitSequence) > 0;
    if (!isMore) state.limitSequence = limitSequence;
    else if (state.wait === RequesterWait.CREDIT) this.#unblock(state);
    return isMore;
  }

  /** Sends again what was refused, and everything behind it. */
  #endReceiverWait(state: RequesterState): void {
    state.wait = RequesterWait.NONE;
    state.rewind(state.unackedPsn);
    this.#parts.requester.wake(state);
    this.#parts.resume(state.qp);
  }

  #waitForReceiver(state: RequesterState, timerCode: number): void {
    if (state.qp.attributes.rnrRetry !== RNR_RETRY_INFINITE) {
      if (state.rnrRetriesLeft === 0)
        return this.#parts.failOldest(state.qp, CompletionStatus.RNR_RETRY_EXCEEDED, FaultKind.NONE);
      state.rnrRetriesLeft--;
    }
    state.wait = RequesterWait.RNR;
    this.#parts.timers.set(state, this.#parts.now() + rnrTimerNs(timerCode));
    this.#parts.returnUnbegun(state.qp);
  }

  #refused(state: RequesterState, psn: number, code: number): void {
    if (code === NakCode.PSN_SEQUENCE_ERROR) return this.#retry(state, psn);
    this.#parts.failOldest(state.qp, refusalStatus(code), FaultKind.NONE);
  }

  /**
   * Sends again from `psn` on, if a retry is left (IBTA 9.9.2.4.1). Once per loss: everything that was under way behind the lost packet tells of the same
   * loss, and must not use up the retries.
   */
  #retry(state: RequesterState, psn: number): void {
    if (state.wait === RequesterWait.RNR || state.retriedPsn === psn) return;
    if (state.retriesLeft === 0)
      return this.#parts.failOldest(state.qp, CompletionStatus.RETRY_EXCEEDED, FaultKind.NONE);
    state.retriesLeft--;
    state.retriedPsn = psn;
    this.retries++;
    state.rewind(psn);
    this.#parts.timers.set(state, this.#parts.now() + ackTimeoutNs(state.qp.attributes.timeout));
    this.#parts.requester.wake(state);
  }
}

/** States in which a requester works (IBTA 10.3.1: in SQD it finishes what it has begun). */
function isRunning(qp: QueuePair): boolean {
  return qp.state === QpState.RTS || qp.state === QpState.SQD;
}
