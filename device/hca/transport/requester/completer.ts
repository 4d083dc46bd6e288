// SPDX-License-Identifier: Apache-2.0
/**
 * The completer of reliable QPs (IBTA 9.7.5.1, 9.7.6, 9.7.7): takes acknowledgements, NAKs and
 * responses, completes records in order and retries. `PacketReceiver` calls it with packets,
 * `RetryTimers` with timeouts.
 */
import { getAethMsn, getAethSyndromeKind, getAethSyndromeValue } from '../../../../protocol/infiniband/gen/aeth.gen.ts';
import {
  getAtomicAckEthOriginalHigh,
  getAtomicAckEthOriginalLow,
} from '../../../../protocol/infiniband/gen/atomic-ack-eth.gen.ts';
import { AethKind, NakCode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag } from '../../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../../protocol/infiniband/packet.ts';
import { addPsn, MSN_MASK, psnDistance } from '../../../../protocol/infiniband/psn.ts';
import {
  ackTimeoutNs,
  CREDITS_UNLIMITED,
  creditsOf,
  rnrTimerNs,
  syndromeOf,
} from '../../../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { ArrivedPayload } from '../../../fabric/port/arrived-payload.ts';
import type { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { AdapterClock } from '../../../host.ts';
import { noteStep, Step } from '../../function/timeline.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { refusalStatus } from '../fault-status.ts';
import { RequestKind } from '../requester-opcodes.ts';
import { type RequesterState, RequesterWait } from '../state/requester-state.ts';
import type { SendRecord } from '../state/send-record.ts';
import type { Requester } from './requester.ts';
import type { RetryTimers } from './retry-timers.ts';
import type { RecordEndings } from './send-record-life.ts';

const { FIRST, LAST, ONLY, ATOMIC_ACKNOWLEDGE } = OpcodeFlag;
const RNR_RETRY_INFINITE = 7;
const ATOMIC_BYTES = 8;
/** Fault of a response whose opcode or length does not match the request. */
const BAD_RESPONSE = FaultKind.COMMAND_LENGTH;

/** Units that the completer uses. */
export interface CompleterParts {
  readonly requester: Requester;
  readonly records: RecordEndings;
  readonly timers: RetryTimers;
  readonly clock: AdapterClock;
}

/** One per adapter: its counters are totals of all QPs. */
export class Completer {
  acknowledges = 0;
  naks = 0;
  rnrNaks = 0;
  retries = 0;
  timeouts = 0;
  ghosts = 0;
  readonly #parts: CompleterParts;
  readonly #payload = new ArrivedPayload();
  readonly #original = new Uint8Array(ATOMIC_BYTES);
  readonly #originalView = new DataView(this.#original.buffer);
  readonly #originalBytes = { bytes: this.#original, words: new Int32Array(this.#original.buffer) };

  constructor(parts: CompleterParts) {
    this.#parts = parts;
  }

  /** Takes a response packet for the QP of `state`. Returns false when it was dropped. */
  receive(state: RequesterState, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    if (!state.qp.isRequesting) return false;
    // Acknowledged already, or never sent: a duplicate or a ghost (IBTA 9.7.5.1.1).
    if (!state.isUnacked(packet.psn)) {
      if (this.#takeUnsolicitedCredits(state, ring.view, packet)) return true;
      this.ghosts++;
      return false;
    }
    if (packet.flags & OpcodeFlag.ACKNOWLEDGE) return this.#receiveAcknowledge(state, ring.view, packet);
    return this.#receiveData(state, ring, packet);
  }

  /** The local ACK timeout or the RNR wait of the QP has expired. */
  expire(state: RequesterState): void {
    if (state.qp.destroyed || !state.qp.isRequesting) return;
    if (state.wait === RequesterWait.RNR) return this.#endRnrWait(state);
    if (!state.outstanding || this.#parts.requester.defersTimeout(state)) return;
    this.timeouts++;
    noteStep(state.qp, Step.TIMEOUT, state.unackedPsn);
    state.retriedPsn = -1;
    this.#retry(state, state.unackedPsn);
  }

  #receiveAcknowledge(state: RequesterState, view: DataView, packet: Readonly<ParsedPacket>): boolean {
    const kind = getAethSyndromeKind(view, packet.aethOffset);
    const value = getAethSyndromeValue(view, packet.aethOffset);
    noteStep(state.qp, Step.ANSWER, packet.psn, syndromeOf(kind, value));
    switch (kind) {
      case AethKind.ACK:
        this.acknowledges++;
        this.#takeCredits(state, view, packet.aethOffset);
        this.#acknowledgeThrough(state, packet.psn);
        return true;
      case AethKind.RNR_NAK:
        this.rnrNaks++;
        // A repeated RNR NAK during the wait carries no news.
        if (state.wait === RequesterWait.RNR && packet.psn === state.unackedPsn) return false;
        if (this.#acknowledgeBefore(state, packet.psn)) this.#beginRnrWait(state, value);
        return true;
      case AethKind.NAK:
        this.naks++;
        if (this.#acknowledgeBefore(state, packet.psn)) this.#refused(state, packet.psn, value);
        return true;
      default:
        return false;
    }
  }

  /** Takes a READ response or an atomic acknowledge. */
  #receiveData(state: RequesterState, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    const record = state.oldestFetch;
    if (record === undefined) return false;
    if (psnDistance(addPsn(record.firstPsn, record.responsesReceived), packet.psn) < 0) return false;
    // An earlier response was lost: this one is useless, and the lost one is asked for.
    if (!this.#acknowledgeBefore(state, packet.psn)) return true;
    if (!isResponseTo(record, state.qp.pathMtuBytes, ring.view, packet)) {
      this.#failData(state, BAD_RESPONSE, packet.psn);
      return true;
    }
    if (packet.aethOffset >= 0) this.#takeCredits(state, ring.view, packet.aethOffset);
    if (!this.#placeData(state.qp, record, ring, packet)) {
      if (!this.#parts.requester.pages.awaitResponse(state, packet.psn))
        this.#failData(state, FaultKind.DMA_WRITE, packet.psn);
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

  /** Returns false when local memory cannot take the data. */
  #placeData(qp: QueuePair, record: SendRecord, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    if (record.kind === RequestKind.ATOMIC) {
      // Big-endian on the wire, in the host's byte order in memory.
      this.#originalView.setUint32(0, getAtomicAckEthOriginalLow(ring.view, packet.atomicAckEthOffset), true);
      this.#originalView.setUint32(4, getAtomicAckEthOriginalHigh(ring.view, packet.atomicAckEthOffset), true);
      record.trace?.keepAnswer(
        record.traceBlock,
        0,
        packet,
        ring,
        packet.lrhOffset,
        packet.atomicAckEthOffset,
        ATOMIC_BYTES,
      );
      return record.list.scatter(qp, 0, this.#originalBytes, 0, ATOMIC_BYTES);
    }
    const done = record.responsesReceived * qp.pathMtuBytes;
    const { payloadOffset, payloadLengthBytes: length } = packet;
    record.trace?.keepAnswer(record.traceBlock, done, packet, ring, packet.lrhOffset, payloadOffset, length);
    const { block, offset } = this.#payload.locate(ring, payloadOffset);
    return record.list.scatter(qp, done, block, offset, length);
  }

  /** IBTA 9.7.6.2.3: a malformed response, or one that local memory cannot take. */
  #failData(state: RequesterState, fault: FaultKind, psn: number): void {
    const isLocal = fault === FaultKind.DMA_WRITE;
    const status = isLocal ? CompletionStatus.LOCAL_PROTECTION_ERROR : CompletionStatus.BAD_RESPONSE_ERROR;
    this.#parts.records.completeDone(state);
    this.#parts.records.failOldest(state, status, fault, psn);
  }

  /**
   * Acknowledges everything before `psn`. Returns false when a response is missing, which starts a
   * retry, or when the QP failed.
   */
  #acknowledgeBefore(state: RequesterState, psn: number): boolean {
    if (psn === state.unackedPsn) return true;
    return this.#acknowledgeThrough(state, addPsn(psn, -1));
  }

  /**
   * Acknowledges everything up to `psn`, except READs and atomics without their responses: an
   * implied NAK (IBTA 9.7.5.1.3). Returns false as above.
   */
  #acknowledgeThrough(state: RequesterState, psn: number): boolean {
    for (let record = state.oldest; record?.numbered; record = record.next) {
      if (record.done) continue;
      if (psnDistance(record.firstPsn, psn) < 0) break;
      if (record.isFetch) {
        // Not behind `psn`: what was received is acknowledged.
        const missing = addPsn(record.firstPsn, record.responsesReceived);
        if (missing === state.unackedPsn || this.#progress(state, missing)) this.#retry(state, missing);
        return false;
      }
      if (psnDistance(record.lastPsn, psn) >= 0) record.done = true;
      else record.skipTo(addPsn(psn, 1));
    }
    return this.#progress(state, addPsn(psn, 1));
  }

  /**
   * Packets before `psn`, at least one, are acknowledged: retry counters and timer restart. Returns
   * false when a completion failed the QP.
   */
  #progress(state: RequesterState, psn: number): boolean {
    const { qp } = state;
    state.acknowledge(psn);
    state.refillRetries();
    if (state.outstanding) {
      this.#parts.timers.deadlineNs = this.#parts.clock.now() + ackTimeoutNs(qp.attributes.timeout);
      this.#parts.timers.set(state);
    } else this.#parts.timers.turnOff(state);
    this.#parts.records.completeDone(state);
    if (!qp.isRequesting) return false;
    // A later copy of the message that met an RNR NAK was taken after all.
    if (state.wait === RequesterWait.RNR) this.#endRnrWait(state);
    else this.#unblock(state);
    return true;
  }

  #unblock(state: RequesterState): void {
    if (state.wait === RequesterWait.NONE) return this.#parts.requester.wake(state);
    if (state.wait === RequesterWait.FAULT) return;
    state.wait = RequesterWait.NONE;
    this.#parts.requester.resume(state);
  }

  #takeCredits(state: RequesterState, view: DataView, aethOffset: number): void {
    const value = getAethSyndromeValue(view, aethOffset);
    state.creditsUnlimited = value === CREDITS_UNLIMITED;
    if (!state.creditsUnlimited) state.limitSequence = (getAethMsn(view, aethOffset) + creditsOf(value)) & MSN_MASK;
  }

  /**
   * The newest acknowledgement once more grants further credits (IBTA 9.7.7.2, unsolicited
   * acknowledge). Returns false for other packets, and for late copies, which grant none.
   */
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

  /** The RNR wait is over: sends the refused message and everything behind it again. */
  #endRnrWait(state: RequesterState): void {
    state.wait = RequesterWait.NONE;
    this.#parts.requester.rewind(state, state.unackedPsn);
    this.#parts.requester.resume(state);
  }

  /** RNR retry: waits as long as the RNR NAK says, while a retry is left (IBTA 9.7.5.2.8). */
  #beginRnrWait(state: RequesterState, timerCode: number): void {
    const { qp, unackedPsn } = state;
    if (qp.attributes.rnrRetry !== RNR_RETRY_INFINITE) {
      const nak = syndromeOf(AethKind.RNR_NAK, timerCode);
      if (state.rnrRetriesLeft === 0)
        return this.#parts.records.failOldest(
          state,
          CompletionStatus.RNR_RETRY_EXCEEDED,
          FaultKind.NONE,
          unackedPsn,
          nak,
        );
      state.rnrRetriesLeft--;
    }
    state.wait = RequesterWait.RNR;
    noteStep(qp, Step.RNR_WAIT, unackedPsn, rnrTimerNs(timerCode));
    this.#parts.timers.deadlineNs = this.#parts.clock.now() + rnrTimerNs(timerCode);
    this.#parts.timers.set(state);
    this.#parts.records.returnUnbegun(state);
  }

  #refused(state: RequesterState, psn: number, code: number): void {
    if (code === NakCode.PSN_SEQUENCE_ERROR) return this.#retry(state, psn);
    this.#parts.records.failOldest(state, refusalStatus(code), FaultKind.NONE, psn, syndromeOf(AethKind.NAK, code));
  }

  /**
   * Sends again from `psn` on while a retry is left (IBTA 9.9.2.4.1). Once per loss: all packets in
   * flight behind the lost one report the same loss and must not use up the retries.
   */
  #retry(state: RequesterState, psn: number): void {
    if (state.wait === RequesterWait.RNR || state.retriedPsn === psn) return;
    if (state.retriesLeft === 0)
      return this.#parts.records.failOldest(state, CompletionStatus.RETRY_EXCEEDED, FaultKind.NONE, psn);
    state.retriesLeft--;
    state.retriedPsn = psn;
    this.retries++;
    noteStep(state.qp, Step.RETRY, psn, state.retriesLeft);
    this.#parts.requester.rewind(state, psn);
    this.#parts.timers.deadlineNs = this.#parts.clock.now() + ackTimeoutNs(state.qp.attributes.timeout);
    this.#parts.timers.set(state);
    this.#parts.requester.wake(state);
  }
}

/**
 * True when the packet is the next response that `record` lacks (IBTA 9.7.5.1, 9.7.6): by its
 * opcode, its place among the responses of a READ, its length and its syndrome. A NAK is a packet
 * of its own.
 */
function isResponseTo(
  record: SendRecord,
  mtuBytes: number,
  view: DataView,
  { flags, psn, aethOffset, payloadLengthBytes }: Readonly<ParsedPacket>,
): boolean {
  if (aethOffset >= 0 && getAethSyndromeKind(view, aethOffset) !== AethKind.ACK) return false;
  const isAtomic = record.kind === RequestKind.ATOMIC;
  if (isAtomic || (flags & ATOMIC_ACKNOWLEDGE) !== 0) return isAtomic === ((flags & ATOMIC_ACKNOWLEDGE) !== 0);
  const { responsesReceived: received, requestedFrom, responseBytes } = record;
  const begins = (flags & (FIRST | ONLY)) !== 0;
  // An answer begins with the first response, and again where the rest was asked for; there, the
  // next packet of an earlier answer may come, too.
  if (begins ? received !== requestedFrom : received === 0) return false;
  const isLast = psn === record.lastPsn;
  const ends = (flags & (LAST | ONLY)) !== 0;
  return ends === isLast && payloadLengthBytes === (isLast ? responseBytes - received * mtuBytes : mtuBytes);
}
