// SPDX-License-Identifier: Apache-2.0
/**
 * The requester of connected QPs (IBTA 9.7.2, 9.7.3): numbers messages, segments them into packets
 * of the path MTU and sends these through the port, in turns of owners, lanes and QPs. One function
 * per state returns the next. The completer handles responses. `ConnectedTransport` calls `serve`.
 */
import { addPsn, MSN_MASK, PSN_MASK, psnDistance } from '../../../../protocol/infiniband/psn.ts';
import { ackTimeoutNs } from '../../../../protocol/infiniband/syndrome.ts';
import { FaultKind, QpState, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { AdapterClock } from '../../../host.ts';
import type { Lane } from '../../lane/lane.ts';
import { type OwnerTurns, PACKET_COST_BYTES } from '../../lane/owner-turns.ts';
import { PacketTurns } from '../../lane/packet-turns.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { needsCredit, RequestKind } from '../requester-opcodes.ts';
import type { ResponderAnswers } from '../responder/responder-answers.ts';
import { PSNS_OUTSTANDING_MAX, RequesterState, RequesterStep, RequesterWait } from '../state/requester-state.ts';
import type { ResponderState } from '../state/responder-state.ts';
import type { SendRecord } from '../state/send-record.ts';
import { findFault } from './command-loader.ts';
import type { RequesterKeys } from './requester-keys.ts';
import { RequesterPackets } from './requester-packets.ts';
import { type PausedRequester, RequesterPages } from './requester-pages.ts';
import type { ResendReads } from './resend-reads.ts';
import type { RetryTimers } from './retry-timers.ts';
import type { RecordEndings } from './send-record-life.ts';

/** Maximum of packets per QP and turn. */
const QUANTUM = 16;
/** No message begins while so many packets of the QP are unacknowledged. */
const WINDOW_PACKETS = 1 << 16;

/** Units that the requester uses. */
export interface RequesterParts {
  readonly ports: readonly Port[];
  readonly portsOfFunction: number;
  readonly lanes: readonly Lane[];
  readonly turns: OwnerTurns;
  readonly timers: RetryTimers;
  readonly keys: KeyLookup;
  readonly clock: AdapterClock;
  readonly records: RecordEndings;
  /** Executes operations without packets. */
  readonly local: RequesterKeys;
  /** Sends READ responses of QPs that called `awaitTurn`. */
  readonly answers: ResponderAnswers;
  readonly resends: ResendReads;
  /** The send queue of the QP may be read again. */
  schedule(qp: QueuePair): void;
}

/** One per adapter: its fields hold the QP, the record and the port of the current turn. */
export class Requester implements PausedRequester {
  packets = 0;
  /** Waits for pages, of the completer too. */
  readonly pages: RequesterPages;
  readonly #parts: RequesterParts;
  readonly #turns: PacketTurns<RequesterState | ResponderState>;
  readonly #build = new RequesterPackets();
  #state!: RequesterState;
  #record!: SendRecord;
  #port!: Port;
  #work = 0;
  /** Bytes charged in this turn, and the allowance of its lane. */
  #bytes = 0;
  #allowance = 0;

  constructor(parts: RequesterParts) {
    this.#parts = parts;
    this.#turns = new PacketTurns(parts.ports, parts.lanes, parts.turns, parts.portsOfFunction);
    const { records, timers, clock, keys } = parts;
    this.pages = new RequesterPages({ requester: this, records, timers, clock, faults: keys.pageFaults });
  }

  /** QPs that wait for a turn at ports with room. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /** The QP may have packets to send. No effect when it waits for a turn already. */
  wake(state: RequesterState): void {
    if (state.ready) return;
    state.ready = true;
    const { qp } = state;
    this.#turns.push(qp.portIndex, Math.max(qp.lane, 0), state);
  }

  /** Sends again from the packet with `psn` on. The caller wakes the QP. */
  rewind(state: RequesterState, psn: number): void {
    this.#parts.resends.rewind(state, psn);
  }

  resume(state: RequesterState): void {
    this.wake(state);
    this.#parts.schedule(state.qp);
  }

  /** While payload is read again, the packets are not sent yet: their timeout starts anew. */
  defersTimeout(state: RequesterState): boolean {
    if (state.reading) this.#setTimer(state);
    return state.reading;
  }

  /** The QP has READ responses to send; they take turns on `lane`. */
  awaitTurn(state: ResponderState, lane: number): void {
    this.#turns.push(state.qp.portIndex, lane, state);
  }

  /**
   * Gives the next QP its turn. Returns the units of work done; 0 when it could do nothing or no QP
   * waits.
   */
  serve(): number {
    const state = this.#turns.shift();
    if (state === undefined) return 0;
    if (!(state instanceof RequesterState)) return this.#answer(state);
    state.ready = false;
    const { qp } = state;
    if (qp.destroyed || (qp.state !== QpState.RTS && qp.state !== QpState.SQD)) return 0;
    this.#state = state;
    this.#port = this.#parts.ports[qp.portIndex];
    this.#work = 0;
    this.#bytes = 0;
    this.#allowance = this.#turns.allowance;
    this.#run();
    this.#turns.charge(this.#bytes);
    return this.#work;
  }

  #answer(state: ResponderState): number {
    const { answers } = this.#parts;
    const packets = answers.serveData(state, this.#turns.allowance);
    this.#turns.charge(answers.turnCost);
    return packets;
  }

  #run(): void {
    let next: RequesterStep = RequesterStep.SELECT;
    while (next !== RequesterStep.EXIT) {
      if (next === RequesterStep.SELECT) next = this.#select();
      if (next === RequesterStep.ADMIT) next = this.#admit();
      if (next === RequesterStep.NUMBER) next = this.#number();
      if (next === RequesterStep.SEND) next = this.#send();
      if (next === RequesterStep.LOCAL) next = this.#local();
    }
  }

  /**
   * Selects the record to send from. Done records (READs answered before a rewind) are skipped; a
   * failed record stops everything behind it.
   */
  #select(): RequesterStep {
    const state = this.#state;
    state.step = RequesterStep.SELECT;
    if (state.wait === RequesterWait.RNR) return RequesterStep.EXIT;
    while (state.cursor?.done && state.cursor.fault === FaultKind.NONE) state.cursor = state.cursor.next;
    if (state.cursor === undefined) return RequesterStep.EXIT;
    this.#record = state.cursor;
    if (this.#record.done) return this.#stayFailed();
    return this.#record.numbered ? RequesterStep.SEND : RequesterStep.ADMIT;
  }

  /** Decides whether a message may begin now. */
  #admit(): RequesterStep {
    const state = this.#state;
    state.step = RequesterStep.ADMIT;
    const record = this.#record;
    const fault = findFault(state.qp, record, this.#parts.keys);
    if (fault !== FaultKind.NONE) return this.#fail(fault);
    state.beginWait(record.sequence, this.#findWait(state, record));
    if (state.wait === RequesterWait.NONE)
      return record.kind === RequestKind.LOCAL ? RequesterStep.LOCAL : RequesterStep.NUMBER;
    this.#work++;
    this.#parts.records.returnUnbegun(state);
    return RequesterStep.EXIT;
  }

  #findWait(state: RequesterState, record: SendRecord): RequesterWait {
    if (record.fence && state.readsOutstanding > 0) return RequesterWait.FENCE;
    if (record.isFetch && state.readsOutstanding >= state.qp.attributes.maxReadsInitiated) return RequesterWait.READS;
    // Without credit one message may begin when nothing is outstanding: a probe (IBTA 9.7.7.2.5).
    if (
      needsCredit(record.opcode) &&
      !state.creditsUnlimited &&
      state.outstanding &&
      psnDistance(state.limitSequence, state.sendSequence) > 0
    )
      return RequesterWait.CREDIT;
    const unacked = (state.nextPsn - state.unackedPsn) & PSN_MASK;
    const count = record.countPsns(state.qp.pathMtuBytes);
    return unacked >= WINDOW_PACKETS || unacked + count > PSNS_OUTSTANDING_MAX
      ? RequesterWait.WINDOW
      : RequesterWait.NONE;
  }

  /** Assigns PSNs to the message. A READ takes the PSNs of its responses (IBTA 9.7.2). */
  #number(): RequesterStep {
    const state = this.#state;
    state.step = RequesterStep.NUMBER;
    const record = this.#record;
    const count = record.countPsns(state.qp.pathMtuBytes);
    record.number(state.nextPsn, count);
    state.nextPsn = addPsn(state.nextPsn, count);
    state.sendSequence = (state.sendSequence + 1) & MSN_MASK;
    if (record.isFetch) state.readsOutstanding++;
    return RequesterStep.SEND;
  }

  /** Sends one packet. An inactive port drops it, as a link would. */
  #send(): RequesterStep {
    const state = this.#state;
    state.step = RequesterStep.SEND;
    if (this.#work >= QUANTUM || this.#bytes >= this.#allowance || this.#port.congested) {
      this.wake(state);
      return RequesterStep.EXIT;
    }
    const record = this.#record;
    const { kind, isFetch } = record;
    if (!this.#parts.resends.isHere(record)) {
      this.#parts.resends.await(state);
      return RequesterStep.EXIT;
    }
    if (kind === RequestKind.READ) this.#build.sendRead(state, record, this.#port);
    else if (kind === RequestKind.ATOMIC) this.#build.sendAtomic(state, record, this.#port);
    else if (kind === RequestKind.FLUSH) this.#build.sendFlush(state, record, this.#port);
    else if (!this.#build.sendPayload(state, record, this.#port))
      return this.pages.awaitPayload(state, record) ? RequesterStep.EXIT : this.#fail(FaultKind.DMA_READ);
    if (record.trace !== undefined) this.#build.tracePacket(state, record, record.trace);
    this.#work++;
    this.#bytes += PACKET_COST_BYTES + this.#build.payloadLengthBytes;
    this.packets++;
    const psn = addPsn(record.firstPsn, isFetch ? record.responsesReceived : record.packetsSent - 1);
    state.noteSent(psn, isFetch ? record.lastPsn : psn);
    if (state.qp.serviceType !== ServiceType.UC) this.#armTimer();
    const whole = isFetch || record.packetsSent > psnDistance(record.firstPsn, record.lastPsn);
    return whole ? this.#finish() : RequesterStep.SEND;
  }

  /** The message is sent. An unreliable one is done now (IBTA 9.8.2). */
  #finish(): RequesterStep {
    const state = this.#state;
    const record = this.#record;
    state.cursor = record.next;
    this.#parts.records.releaseExecution(record);
    if (state.qp.serviceType === ServiceType.UC) {
      record.done = true;
      state.unackedPsn = state.nextPsn;
      this.#parts.records.completeDone(state);
    }
    return RequesterStep.SELECT;
  }

  /**
   * Executes a local operation. It takes no PSN but counts as begun: its place among the records is
   * fixed.
   */
  #local(): RequesterStep {
    const state = this.#state;
    state.step = RequesterStep.LOCAL;
    const record = this.#record;
    this.#parts.answers.takeLoans();
    const fault = this.#parts.local.perform(state.qp, record);
    if (fault !== FaultKind.NONE) return this.#fail(fault);
    this.#work++;
    record.number(state.nextPsn, 0);
    record.done = true;
    state.cursor = record.next;
    this.#parts.records.completeDone(state);
    return state.qp.state === QpState.RTS ? RequesterStep.SELECT : RequesterStep.EXIT;
  }

  /**
   * The record cannot be sent, or not completely. It is reported when it is the oldest. The cursor
   * stays on it, so nothing behind it is sent, while records before it may be sent again; records
   * behind it return to the send queue and delay no other QP.
   */
  #fail(fault: FaultKind): RequesterStep {
    const state = this.#state;
    const record = this.#record;
    if (!record.numbered) record.number(state.nextPsn, 0);
    record.fault = fault;
    record.done = true;
    state.wait = RequesterWait.FAULT;
    this.#work++;
    this.#parts.records.completeDone(state);
    if (state.wait === RequesterWait.FAULT) this.#parts.records.returnUnbegun(state);
    return RequesterStep.EXIT;
  }

  /** The cursor is back at a failed record after earlier records were sent again. */
  #stayFailed(): RequesterStep {
    this.#state.wait = RequesterWait.FAULT;
    this.#parts.records.returnUnbegun(this.#state);
    return RequesterStep.EXIT;
  }

  #armTimer(): void {
    if (this.#parts.timers.isOff(this.#state)) this.#setTimer(this.#state);
  }

  #setTimer(state: RequesterState): void {
    this.#parts.timers.deadlineNs = this.#parts.clock.now() + ackTimeoutNs(state.qp.attributes.timeout);
    this.#parts.timers.set(state);
  }
}
