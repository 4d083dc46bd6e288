// SPDX-License-Identifier: Apache-2.0
/**
 * The requester of connected QPs (IBTA 9.7.2, 9.7.3): numbers messages, cuts them into packets of the path MTU and hands these to the port. One function per
 * state, each returning the next. What comes back is the completer's business.
 */
import { packetCount } from '../../protocol/infiniband/mtu.ts';
import { addPsn, MSN_MASK, PSN_MASK, psnDistance } from '../../protocol/infiniband/psn.ts';
import { ackTimeoutNs } from '../../protocol/infiniband/syndrome.ts';
import { FaultKind, QpState, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import type { Lane } from '../lane/lane.ts';
import { type OwnerTurns, PACKET_COST_BYTES } from '../lane/owner-turns.ts';
import { PacketTurns } from '../lane/packet-turns.ts';
import type { Port } from '../port/port.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { needsCredit, RequestKind } from './requester-opcodes.ts';
import { RequesterPackets } from './requester-packets.ts';
import { RequesterState, RequesterWait } from './requester-state.ts';
import type { ResponderAnswers } from './responder-answers.ts';
import type { RetryTimers } from './retry-timers.ts';
import type { SendRecord } from './send-record.ts';

/** States of the requester, as it goes over one QP's records. */
const State = { SELECT: 0, ADMIT: 1, NUMBER: 2, SEND: 3, LOCAL: 4, EXIT: 5 } as const;
type State = (typeof State)[keyof typeof State];

/** Packets of one QP before the next has its turn. */
const QUANTUM = 16;
/** A message is begun only while fewer packets of the QP are unacknowledged. */
const WINDOW_PACKETS = 1 << 16;
/** PSNs outstanding at most: half of all (IBTA 9.7.1). */
const PSNS_OUTSTANDING_MAX = 1 << 23;
/** Packet and message sequence numbers. A copy: imports are looked up at each use. */
const PSN_BITS = PSN_MASK;
const MSN_BITS = MSN_MASK;

/** What the requester needs of the units around it. */
export interface RequesterParts {
  readonly ports: readonly Port[];
  readonly lanes: readonly Lane[];
  readonly turns: OwnerTurns;
  readonly timers: RetryTimers;
  now(): number;
  /** The record's last packet is with the port. */
  releaseExecution(record: SendRecord): void;
  /** An operation without packets, in its turn. NONE, or why it failed. */
  performLocal(qp: QueuePair, record: SendRecord): FaultKind;
  /** The oldest records may be done. */
  completeDone(qp: QueuePair): void;
  /** The QP cannot go on now: records not begun go back to the send queue. */
  returnUnbegun(qp: QueuePair): void;
  /** Sends the data of QPs that called `awaitTurn`. */
  readonly answers: ResponderAnswers;
}

export class Requester {
  packets = 0;
  readonly #parts: RequesterParts;
  readonly #turns: PacketTurns<RequesterState | QueuePair>;
  readonly #build = new RequesterPackets();
  #state!: RequesterState;
  #record!: SendRecord;
  #port!: Port;
  #work = 0;
  /** Bytes sent in this turn, and how many its lane may. */
  #bytes = 0;
  #allowance = 0;

  constructor(parts: RequesterParts) {
    this.#parts = parts;
    this.#turns = new PacketTurns(parts.ports, parts.lanes, parts.turns);
  }

  /** QPs that wait for their turn, and whose port has room. */
  get waiting(): number {
    return this.#turns.waiting;
  }

  /** The QP may have something to send. */
  wake(state: RequesterState): void {
    if (state.ready) return;
    state.ready = true;
    const { qp } = state;
    this.#turns.push(qp.attributes.port - 1, Math.max(qp.lane, 0), state);
  }

  /** The QP has data to send that its peer reads; `lane`: that of its function and QoS level. */
  awaitTurn(qp: QueuePair, lane: number): void {
    this.#turns.push(qp.attributes.port - 1, lane, qp);
  }

  /** Gives the next QP its turn. Returns the packets sent and other things done; 0 when it could do nothing or no QP waits. */
  serve(): number {
    const state = this.#turns.shift();
    if (state === undefined) return 0;
    if (!(state instanceof RequesterState)) return this.#answer(state);
    state.ready = false;
    const { qp } = state;
    if (qp.destroyed || (qp.state !== QpState.RTS && qp.state !== QpState.SQD)) return 0;
    this.#state = state;
    this.#port = this.#parts.ports[qp.attributes.port - 1];
    this.#work = 0;
    this.#bytes = 0;
    this.#allowance = this.#turns.allowance;
    this.#run();
    this.#turns.charge(this.#bytes);
    return this.#work;
  }

  #answer(qp: QueuePair): number {
    const { answers } = this.#parts;
    const packets = answers.serveData(qp, this.#turns.allowance);
    this.#turns.charge(answers.turnCost);
    return packets;
  }

  #run(): void {
    let next: State = State.SELECT;
    while (next !== State.EXIT) {
      if (next === State.SELECT) next = this.#select();
      if (next === State.ADMIT) next = this.#admit();
      if (next === State.NUMBER) next = this.#number();
      if (next === State.SEND) next = this.#send();
      if (next === State.LOCAL) next = this.#local();
    }
  }

  /** The record to send from. Records that are done (READs answered before a rewind) have nothing to send; a failed one lets nothing pass. */
  #select(): State {
    const state = this.#state;
    if (state.wait === RequesterWait.RNR) return State.EXIT;
    while (state.cursor?.done && state.cursor.fault === FaultKind.NONE) state.cursor = state.cursor.next;
    if (state.cursor === undefined) return State.EXIT;
    this.#record = state.cursor;
    if (this.#record.done) return this.#stayFailed();
    return this.#record.numbered ? State.SEND : State.ADMIT;
  }

  /** May a message be begun now? */
  #admit(): State {
    const state = this.#state;
    const record = this.#record;
    if (record.fault !== FaultKind.NONE) return this.#fail(record.fault);
    // A QP without initiator depth does no READs and atomics at all (IBTA 11.2.5.2).
    if (record.isFetch && state.qp.attributes.maxReadsInitiated === 0) return this.#fail(FaultKind.COMMAND_OPCODE);
    state.wait = this.#findWait(state, record);
    if (state.wait === RequesterWait.NONE) return record.kind === RequestKind.LOCAL ? State.LOCAL : State.NUMBER;
    this.#work++;
    this.#parts.returnUnbegun(state.qp);
    return State.EXIT;
  }

  #findWait(state: RequesterState, record: SendRecord): RequesterWait {
    if (record.fence && state.readsOutstanding > 0) return RequesterWait.FENCE;
    if (record.isFetch && state.readsOutstanding >= state.qp.attributes.maxReadsInitiated) return RequesterWait.READS;
    // Without a credit a message may still be begun when nothing is outstanding: it probes (IBTA 9.7.7.2.5).
    if (
      needsCredit(record.opcode) &&
      !state.creditsUnlimited &&
      state.outstanding &&
      psnDistance(state.limitSequence, state.sendSequence) > 0
    )
      return RequesterWait.CREDIT;
    const unacked = (state.nextPsn - state.unackedPsn) & PSN_BITS;
    if (unacked === 0) return RequesterWait.NONE;
    const count = psnsOf(record, state.qp.pathMtuBytes);
    return unacked >= WINDOW_PACKETS || unacked + count > PSNS_OUTSTANDING_MAX
      ? RequesterWait.WINDOW
      : RequesterWait.NONE;
  }

  /** Gives the message its PSNs. A READ takes those of its responses (IBTA 9.7.2). */
  #number(): State {
    const state = this.#state;
    const record = this.#record;
    const count = psnsOf(record, state.qp.pathMtuBytes);
    record.number(state.nextPsn, count);
    state.nextPsn = addPsn(state.nextPsn, count);
    state.sendSequence = (state.sendSequence + 1) & MSN_BITS;
    if (record.isFetch) state.readsOutstanding++;
    return State.SEND;
  }

  /** One packet. A port that is not active loses it, as a link would. */
  #send(): State {
    if (this.#work >= QUANTUM || this.#bytes >= this.#allowance || this.#port.congested) {
      this.wake(this.#state);
      return State.EXIT;
    }
    const state = this.#state;
    const record = this.#record;
    const { kind, isFetch } = record;
    if (kind === RequestKind.READ) this.#build.sendRead(state, record, this.#port);
    else if (kind === RequestKind.ATOMIC) this.#build.sendAtomic(state, record, this.#port);
    else if (!this.#build.sendPayload(state, record, this.#port)) return this.#fail(FaultKind.DMA_READ);
    if (record.trace !== undefined) this.#build.tracePacket(state, record, record.trace);
    this.#work++;
    this.#bytes += PACKET_COST_BYTES + this.#build.payloadLengthBytes;
    this.packets++;
    state.noteSent(isFetch ? record.lastPsn : addPsn(record.firstPsn, record.packetsSent - 1));
    if (state.qp.serviceType === ServiceType.RC) this.#armTimer();
    const whole = isFetch || record.packetsSent > psnDistance(record.firstPsn, record.lastPsn);
    return whole ? this.#finish() : State.SEND;
  }

  /** The message is out. Unreliable ones are done with that (IBTA 9.8.2). */
  #finish(): State {
    const state = this.#state;
    const record = this.#record;
    state.cursor = record.next;
    this.#parts.releaseExecution(record);
    if (state.qp.serviceType === ServiceType.UC) {
      record.done = true;
      state.unackedPsn = state.nextPsn;
      this.#parts.completeDone(state.qp);
    }
    return State.SELECT;
  }

  /** It takes no PSN, but it has been begun: its place in the order of the records is fixed. */
  #local(): State {
    const state = this.#state;
    const record = this.#record;
    const fault = this.#parts.performLocal(state.qp, record);
    if (fault !== FaultKind.NONE) return this.#fail(fault);
    this.#work++;
    record.number(state.nextPsn, 0);
    record.done = true;
    state.cursor = record.next;
    this.#parts.completeDone(state.qp);
    return state.qp.state === QpState.RTS ? State.SELECT : State.EXIT;
  }

  /**
   * The record cannot be sent, or not further: it is reported when it is the oldest. It stays under the cursor, so that nothing behind it is sent, though
   * what is before it may be sent again; the records behind it hold up nobody.
   */
  #fail(fault: FaultKind): State {
    const state = this.#state;
    const record = this.#record;
    if (!record.numbered) record.number(state.nextPsn, 0);
    record.fault = fault;
    record.done = true;
    state.wait = RequesterWait.FAULT;
    this.#work++;
    this.#parts.completeDone(state.qp);
    if (state.wait === RequesterWait.FAULT) this.#parts.returnUnbegun(state.qp);
    return State.EXIT;
  }

  /** The cursor has come back to a failed record, after something before it was sent again. */
  #stayFailed(): State {
    this.#state.wait = RequesterWait.FAULT;
    this.#parts.returnUnbegun(this.#state.qp);
    return State.EXIT;
  }

  #armTimer(): void {
    const state = this.#state;
    if (!this.#parts.timers.isOff(state)) return;
    this.#parts.timers.set(state, this.#parts.now() + ackTimeoutNs(state.qp.attributes.timeout));
  }
}

function psnsOf(record: SendRecord, mtuBytes: number): number {
  return record.kind === RequestKind.ATOMIC ? 1 : packetCount(record.messageLength, mtuBytes);
}
