// SPDX-License-Identifier: Apache-2.0
/**
 * The requester of connected QPs (IBTA 9.7.2, 9.7.3): numbers messages, cuts them into packets of the path MTU and hands these to the port. One function per
 * state, each returning the next. What comes back is the completer's business.
 */

import { packetCount } from '../../protocol/infiniband/mtu.ts';
import { PacketCheck } from '../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { addPsn, psnDistance } from '../../protocol/infiniband/psn.ts';
import { ackTimeoutNs } from '../../protocol/infiniband/syndrome.ts';
import { FaultKind, QpState, SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../port/port.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { ReadyQueue } from './ready-queue.ts';
import { needsCredit, RequestKind, requestKind, requestOpcode } from './request-opcodes.ts';
import { type RequesterState, RequesterWait } from './requester-state.ts';
import type { RetryTimers } from './retry-timers.ts';
import type { SendRecord } from './send-record.ts';

/** States of the requester, as it goes over one QP's records. */
const State = { SELECT: 0, ADMIT: 1, NUMBER: 2, SEND: 3, LOCAL: 4, EXIT: 5 } as const;
type State = (typeof State)[keyof typeof State];

/** Packets of one QP before the next has its turn. */
const QUANTUM = 16;
/** Every so many packets of a long message ask for an acknowledgement, so that the window moves. */
const ACK_INTERVAL = 64;
/** Unacknowledged packets of one QP; half the PSN space is the limit of IBTA 9.7.1. */
const WINDOW_PACKETS = 1 << 16;
const SEQUENCE_MASK = 0xffffff;
const DWORD = 0x100000000;

/** What the requester needs of the units around it. */
export interface RequesterSurroundings {
  readonly ports: readonly Port[];
  readonly timers: RetryTimers;
  now(): number;
  /** The record's last packet is with the port. */
  releaseExecutionCredit(): void;
  /** An operation without packets, in its turn. NONE, or why it failed. */
  performLocal(qp: QueuePair, record: SendRecord): FaultKind;
  /** The oldest records may be done. */
  completeDone(qp: QueuePair): void;
  /** The QP cannot go on now: records not begun go back to the send queue. */
  returnUnbegun(qp: QueuePair): void;
}

export class Requester {
  packets = 0;
  readonly #around: RequesterSurroundings;
  readonly #ready = new ReadyQueue<RequesterState>();
  readonly #fields = newPacketFields();
  #state!: RequesterState;
  #record!: SendRecord;
  #port!: Port;
  #left = 0;

  constructor(around: RequesterSurroundings) {
    this.#around = around;
  }

  get idle(): boolean {
    return this.#ready.length === 0;
  }

  /** The QP may have something to send. */
  wake(state: RequesterState): void {
    if (state.ready) return;
    state.ready = true;
    this.#ready.push(state);
  }

  /** Gives the next QP its turn. Returns the packets sent; -1 when no QP is waiting. */
  serve(): number {
    const state = this.#ready.shift();
    if (state === undefined) return -1;
    state.ready = false;
    const { qp } = state;
    if (qp.destroyed || (qp.state !== QpState.RTS && qp.state !== QpState.SQD)) return 0;
    this.#state = state;
    this.#port = this.#around.ports[qp.attributes.port - 1];
    this.#left = QUANTUM;
    this.#run();
    return QUANTUM - this.#left;
  }

  #run(): void {
    let next: State = State.SELECT;
    while (next !== State.EXIT) {
      switch (next) {
        case State.SELECT:
          next = this.#select();
          break;
        case State.ADMIT:
          next = this.#admit();
          break;
        case State.NUMBER:
          next = this.#number();
          break;
        case State.SEND:
          next = this.#send();
          break;
        case State.LOCAL:
          next = this.#local();
          break;
      }
    }
  }

  /** The record to send from. Records that are done (READs answered before a rewind) have nothing to send. */
  #select(): State {
    const state = this.#state;
    if (state.wait === RequesterWait.RNR || state.wait === RequesterWait.FAULT) return State.EXIT;
    while (state.cursor?.done) state.cursor = state.cursor.next;
    if (state.cursor === undefined) return State.EXIT;
    this.#record = state.cursor;
    return this.#record.numbered ? State.SEND : State.ADMIT;
  }

  /** May a message be begun now? */
  #admit(): State {
    const state = this.#state;
    const record = this.#record;
    const kind = requestKind(state.qp.creation.serviceType, record.opcode);
    state.wait = this.#findWait(state, record, kind);
    if (state.wait === RequesterWait.NONE) return kind === RequestKind.LOCAL ? State.LOCAL : State.NUMBER;
    if (state.wait === RequesterWait.FAULT) {
      record.done = true;
      this.#around.completeDone(state.qp);
    } else this.#around.returnUnbegun(state.qp);
    return State.EXIT;
  }

  #findWait(state: RequesterState, record: SendRecord, kind: RequestKind): RequesterWait {
    if (record.fault !== FaultKind.NONE) return RequesterWait.FAULT;
    if (record.fence && state.readsOutstanding > 0) return RequesterWait.FENCE;
    const isRead = kind === RequestKind.READ || kind === RequestKind.ATOMIC;
    if (isRead && state.readsOutstanding >= state.qp.attributes.maxReadsInitiated) return RequesterWait.READS;
    // Without a credit a message may still be begun when nothing is outstanding: it probes (IBTA 9.7.7.2.5).
    if (
      needsCredit(record.opcode) &&
      !state.creditsUnlimited &&
      state.outstanding &&
      psnDistance(state.limitSequence, state.sendSequence) > 0
    )
      return RequesterWait.CREDIT;
    if (((state.nextPsn - state.unackedPsn) & SEQUENCE_MASK) >= WINDOW_PACKETS) return RequesterWait.WINDOW;
    return RequesterWait.NONE;
  }

  /** Gives the message its PSNs. A READ takes those of its responses (IBTA 9.7.2). */
  #number(): State {
    const state = this.#state;
    const record = this.#record;
    const kind = requestKind(state.qp.creation.serviceType, record.opcode);
    const count = kind === RequestKind.ATOMIC ? 1 : packetCount(record.messageLength, state.qp.pathMtuBytes);
    record.numbered = true;
    record.firstPsn = state.nextPsn;
    record.lastPsn = addPsn(state.nextPsn, count - 1);
    state.nextPsn = addPsn(state.nextPsn, count);
    state.sendSequence = (state.sendSequence + 1) & SEQUENCE_MASK;
    if (kind === RequestKind.READ || kind === RequestKind.ATOMIC) state.readsOutstanding++;
    return State.SEND;
  }

  #send(): State {
    if (this.#left === 0 || this.#port.congested || !this.#port.active) {
      this.wake(this.#state);
      return State.EXIT;
    }
    const state = this.#state;
    const record = this.#record;
    const kind = requestKind(state.qp.creation.serviceType, record.opcode);
    const isRead = kind === RequestKind.READ || kind === RequestKind.ATOMIC;
    const sent = isRead ? this.#sendRead(kind) : this.#sendPayload();
    if (!sent) return this.#fail(FaultKind.DMA_READ);
    this.#left--;
    this.packets++;
    const whole = isRead || record.packetsSent > psnDistance(record.firstPsn, record.lastPsn);
    if (state.qp.creation.serviceType === ServiceType.RC) this.#armTimer();
    return whole ? this.#finish() : State.SEND;
  }

  /** The message is out. Unreliable ones are done with that (IBTA 9.8.2). */
  #finish(): State {
    const state = this.#state;
    const record = this.#record;
    state.cursor = record.next;
    if (record.executing) {
      record.executing = false;
      this.#around.releaseExecutionCredit();
    }
    if (state.qp.creation.serviceType === ServiceType.UC) {
      record.done = true;
      state.unackedPsn = state.nextPsn;
      this.#around.completeDone(state.qp);
    }
    return State.SELECT;
  }

  #local(): State {
    const state = this.#state;
    const record = this.#record;
    record.fault = this.#around.performLocal(state.qp, record);
    // It takes no PSN, but it has been begun: its place in the order of the records is fixed.
    record.numbered = true;
    record.firstPsn = state.nextPsn;
    record.lastPsn = addPsn(state.nextPsn, -1);
    record.done = true;
    if (record.fault !== FaultKind.NONE) state.wait = RequesterWait.FAULT;
    state.cursor = record.next;
    this.#around.completeDone(state.qp);
    return state.qp.state === QpState.RTS ? State.SELECT : State.EXIT;
  }

  /** The record cannot be sent: it is reported when it is the oldest. */
  #fail(fault: FaultKind): State {
    const state = this.#state;
    this.#record.fault = fault;
    this.#record.done = true;
    state.wait = RequesterWait.FAULT;
    this.#around.completeDone(state.qp);
    return State.EXIT;
  }

  /** One packet of a SEND or WRITE. False when the bus refuses the payload. */
  #sendPayload(): boolean {
    const { qp } = this.#state;
    const mtuBytes = qp.pathMtuBytes;
    const record = this.#record;
    const fields = this.#fields;
    const done = record.packetsSent * mtuBytes;
    const length = Math.min(record.messageLength - done, mtuBytes);
    const last = done + length >= record.messageLength;
    this.#transport(record.packetsSent, last || (record.packetsSent + 1) % ACK_INTERVAL === 0);
    fields.opcode = requestOpcode(qp.creation.serviceType, record.opcode, record.packetsSent === 0, last);
    fields.solicited = last ? record.solicited : 0;
    fields.virtualAddressHigh = record.remoteAddressHigh;
    fields.virtualAddressLow = record.remoteAddressLow;
    fields.rKey = record.rkey;
    fields.dmaLength = record.messageLength;
    fields.immediate = record.immediate;
    fields.invalidateRKey = record.immediate;
    fields.payloadLengthBytes = length;
    const ring = this.#port.ringFor(fields.dlid, fields.serviceLevel);
    const offset = ring.writeOffset;
    const payload = offset + payloadStart(fields.opcode, fields.hasGrh);
    if (record.inline) copyInline(record, done, length, ring.bytes, payload);
    else if (!record.list.gatherPart(qp, done, length, ring.bytes, payload)) return false;
    this.#port.transmit(ring, buildPacket(ring.view, offset, fields, PacketCheck.ICRC));
    record.packetsSent++;
    return true;
  }

  /** The request packet of a READ, from the first response still missing on, or of an atomic. */
  #sendRead(kind: RequestKind): boolean {
    const mtuBytes = this.#state.qp.pathMtuBytes;
    const record = this.#record;
    const fields = this.#fields;
    const skipped = record.responsesReceived * mtuBytes;
    this.#transport(record.responsesReceived, true);
    fields.opcode = requestOpcode(ServiceType.RC, record.opcode, true, true);
    fields.solicited = 0;
    const low = record.remoteAddressLow + skipped;
    fields.virtualAddressLow = low % DWORD;
    fields.virtualAddressHigh = record.remoteAddressHigh + Math.floor(low / DWORD);
    fields.rKey = record.rkey;
    fields.dmaLength = record.messageLength - skipped;
    fields.payloadLengthBytes = 0;
    if (kind === RequestKind.ATOMIC) this.#atomicOperands();
    const ring = this.#port.ringFor(fields.dlid, fields.serviceLevel);
    this.#port.transmit(ring, buildPacket(ring.view, ring.writeOffset, fields, PacketCheck.ICRC));
    record.packetsSent = 1;
    return true;
  }

  /** FETCH_ADD carries its operand where COMPARE_SWAP carries the value to swap in (IBTA 9.2.8). */
  #atomicOperands(): void {
    const record = this.#record;
    const fields = this.#fields;
    const swaps = record.opcode === SendOpcode.COMPARE_SWAP;
    fields.swapOrAddHigh = record.swapOrAddHigh;
    fields.swapOrAddLow = record.swapOrAddLow;
    fields.compareHigh = swaps ? record.compareHigh : 0;
    fields.compareLow = swaps ? record.compareLow : 0;
  }

  #transport(packetIndex: number, ackRequest: boolean): void {
    const state = this.#state;
    const fields = this.#fields;
    state.path.apply(fields, this.#port);
    fields.pKey = this.#port.pkeys[state.qp.attributes.pkeyIndex];
    fields.destQpn = state.qp.attributes.remoteQpn;
    fields.ackRequest = ackRequest && state.qp.creation.serviceType === ServiceType.RC ? 1 : 0;
    fields.psn = addPsn(this.#record.firstPsn, packetIndex);
  }

  #armTimer(): void {
    const state = this.#state;
    if (state.timer.deadlineNs !== Number.POSITIVE_INFINITY) return;
    this.#around.timers.set(state, this.#around.now() + ackTimeoutNs(state.qp.attributes.timeout));
  }
}

function copyInline(record: SendRecord, from: number, length: number, target: Uint8Array, at: number): void {
  for (let index = 0; index < length; index++) target[at + index] = record.inlineBytes[from + index];
}
