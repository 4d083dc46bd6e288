// SPDX-License-Identifier: Apache-2.0
/**
 * Sends what responders answer: acknowledgements, NAKs, READ responses and atomic results, in the
 * order of the requests and as the port has room (IBTA 9.7.5.1.2, 9.7.7.2). Waiting
 * acknowledgements coalesce; they are sent at once and cost no account, because peers wait for
 * them. READ data is charged to the function that is read from: it waits for turns with what
 * requesters send (docs/ARCHITECTURE.md, Shares of time). Called by the responder and its execution
 * and refusals; `ConnectedTransport` calls `serve`.
 */
import { ATOMIC_ACK_ETH_SIZE } from '../../../../protocol/infiniband/gen/atomic-ack-eth.gen.ts';
import { AethKind, BthOpcode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { PacketCheck } from '../../../../protocol/infiniband/packet.ts';
import { buildPacket, payloadStart } from '../../../../protocol/infiniband/packet-builder.ts';
import { newPacketFields } from '../../../../protocol/infiniband/packet-fields.ts';
import { addPsn, psnDistance } from '../../../../protocol/infiniband/psn.ts';
import { CREDITS_UNLIMITED, creditField, syndromeOf } from '../../../../protocol/infiniband/syndrome.ts';
import { CompletionStatus, FaultKind, QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import { LOAN_MIN_BYTES } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import { noteStep, Step } from '../../function/timeline.ts';
import { PACKET_COST_BYTES } from '../../lane/owner-turns.ts';
import { ReadyQueue } from '../../lane/ready-queue.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { ReceiveQueueReader } from '../receive-queue.ts';
import type { PendingAcknowledge, ResponderResource, ResponderState } from '../state/responder-state.ts';
import { AnswerPayloads } from './answer-payloads.ts';
import type { FailResponder } from './responder-request.ts';
import { type ResponseReads, readResponseOpcode } from './response-reads.ts';

/** Maximum of response packets per QP and turn. */
const QUANTUM = 16;

/** Units that the answers use, and functions that fail a QP or queue it. */
export interface ResponderAnswersParts {
  readonly ports: readonly Port[];
  readonly keys: KeyLookup;
  readonly reader: ReceiveQueueReader;
  readonly reads: ResponseReads;
  readonly fail: FailResponder;
  /** Ends all loans of payload. */
  takeLoans(): void;
  /** The QP has READ data: `serveData` is called in a turn of its lane. */
  awaitTurn(state: ResponderState): void;
}

export class ResponderAnswers {
  packets = 0;
  /** Cost of the last turn of data, in bytes. */
  turnCost = 0;
  readonly #parts: ResponderAnswersParts;
  readonly #ready = new ReadyQueue<ResponderState>();
  readonly #fields = newPacketFields();
  readonly #payloads: AnswerPayloads;

  constructor(parts: ResponderAnswersParts) {
    this.#parts = parts;
    this.#payloads = new AnswerPayloads(parts.keys, parts.fail, (state) => this.#wake(state));
  }

  /** Takes in the data of READs that has arrived. */
  land(): void {
    const { reads } = this.#parts;
    reads.land((state) => this.#wake(state));
  }

  /** A key may lose its memory now: data of READs that is on loan is copied before. */
  takeLoans(): void {
    this.#parts.takeLoans();
  }

  /** QPs with acknowledgements that wait for a turn. */
  get waiting(): number {
    return this.#ready.length;
  }

  /** Acknowledges up to `psn`, unless a waiting NAK for a later PSN implies that. */
  acknowledge(state: ResponderState, psn: number): void {
    const last = state.lastAcknowledge;
    if (last.pending && last.kind !== AethKind.ACK && psnDistance(last.psn, psn) < 0) return;
    last.set(AethKind.ACK, 0, psn, state.msn);
    this.#wake(state);
  }

  /** Queues an answer with a syndrome behind all queued answers. */
  queueSyndrome(state: ResponderState, kind: number, value: number, psn: number): void {
    state.lastAcknowledge.set(kind, value, psn, state.msn);
    this.#wake(state);
  }

  /** Queues the answer to a READ or an atomic. */
  enqueue(state: ResponderState, resource: ResponderResource): void {
    resource.active = true;
    resource.repeated = false;
    resource.restart = false;
    this.#parts.reads.begin(resource);
    state.ownQueue().push(resource);
    this.#wake(state);
  }

  /** A duplicate asks for an answer again, from packet `offset` on. Answers stay in PSN order. */
  repeat(state: ResponderState, resource: ResponderResource, offset: number): void {
    if (resource.active) {
      // Only backwards: packets not sent yet will be sent anyway.
      if (resource.packetsSent > offset) {
        this.#parts.reads.repeat(resource, (resource.packetsSent - offset) * state.qp.pathMtuBytes);
        resource.packetsSent = offset;
        resource.restart = true;
      }
      return;
    }
    resource.active = true;
    resource.repeated = true;
    resource.packetsSent = offset;
    resource.restart = true;
    this.#parts.reads.begin(resource);
    const queue = state.ownQueue();
    let place = queue.length;
    while (place > 0 && resource.firstCount < queue[place - 1].firstCount) place--;
    queue.splice(place, 0, resource);
    this.#wake(state);
  }

  /**
   * Gives the next QP with acknowledgements its turn. Returns the packets sent; 0 when it could
   * send none or no QP waits.
   */
  serve(): number {
    const state = this.#ready.shift();
    if (state === undefined) return 0;
    state.ready = false;
    return this.#send(state, false, Number.POSITIVE_INFINITY);
  }

  /** Sends data of a QP in its turn, about `allowance` bytes. Returns the packets sent. */
  serveData(state: ResponderState, allowance: number): number {
    state.inTurn = false;
    return this.#send(state, true, allowance);
  }

  /** Sends answers up to the first that is not of the wanted kind: data, or not data. */
  #send(state: ResponderState, data: boolean, allowance: number): number {
    const { qp } = state;
    this.turnCost = 0;
    if (qp.destroyed || !(qp.receives || (state.refused && qp.state === QpState.ERR))) {
      state.clearAnswers();
      return 0;
    }
    const port = this.#parts.ports[qp.portIndex];
    let packets = 0;
    while (packets < QUANTUM && this.turnCost < allowance && !port.congested && this.#parts.reads.isNext(state, data)) {
      this.#sendNext(state, port);
      packets++;
    }
    this.#wake(state);
    return packets;
  }

  /** Credit field of an AETH (IBTA 9.7.7.2). */
  #creditsOf({ qp }: ResponderState): number {
    const credits = this.#parts.reader.credits(qp);
    return credits < 0 ? CREDITS_UNLIMITED : creditField(credits);
  }

  #wake(state: ResponderState): void {
    if (!state.ready && state.hasNext(false)) {
      state.ready = true;
      this.#ready.push(state);
    } else if (!state.inTurn && state.hasNext(true)) {
      if (!this.#parts.reads.isNext(state, true)) return this.#parts.reads.await(state);
      state.inTurn = true;
      this.#parts.awaitTurn(state);
    }
  }

  /** Sends one packet; the caller has checked `isNext`. */
  #sendNext(state: ResponderState, port: Port): void {
    if (state.acknowledge.pending) return this.#sendAcknowledge(state, port, state.acknowledge);
    const resource = state.queue[0];
    const sent = resource.isAtomic ? this.#sendAtomic(state, port, resource) : this.#sendRead(state, port, resource);
    // Otherwise memory was unreadable: a NAK has replaced all answers.
    if (sent && resource.packetsSent > psnDistance(resource.firstPsn, resource.lastPsn)) this.#finish(state, resource);
  }

  /** The answer is sent; an acknowledgement that waited for it is next. */
  #finish(state: ResponderState, resource: ResponderResource): void {
    state.queue.shift();
    resource.active = false;
    resource.trace?.endAnswer(resource, CompletionStatus.SUCCESS, FaultKind.NONE);
    const { after } = resource;
    if (!after.pending) return;
    after.pending = false;
    state.acknowledge.set(after.kind, after.value, after.psn, after.msn);
  }

  #sendAcknowledge(state: ResponderState, port: Port, what: PendingAcknowledge): void {
    const fields = this.#fields;
    what.pending = false;
    this.#head(state, port, BthOpcode.RC_ACKNOWLEDGE, what.psn, what.msn);
    fields.syndromeKind = what.kind;
    // Read once for all messages that it acknowledges: WQEs are posted in guest memory.
    fields.syndromeValue = what.kind === AethKind.ACK ? this.#creditsOf(state) : what.value;
    fields.payloadLengthBytes = 0;
    this.#emit(port);
    noteStep(state.qp, Step.ANSWER_SENT, what.psn, syndromeOf(fields.syndromeKind, fields.syndromeValue));
  }

  #sendAtomic(state: ResponderState, port: Port, resource: ResponderResource): boolean {
    const fields = this.#fields;
    this.#head(state, port, BthOpcode.RC_ATOMIC_ACKNOWLEDGE, resource.firstPsn, resource.msn);
    fields.syndromeKind = AethKind.ACK;
    fields.syndromeValue = this.#creditsOf(state);
    fields.originalHigh = resource.originalHigh;
    fields.originalLow = resource.originalLow;
    fields.payloadLengthBytes = 0;
    const ring = port.ringFor(fields.dlid, fields.serviceLevel);
    const offset = ring.writeOffset;
    this.#emit(port);
    if (resource.trace !== undefined) {
      const original = offset + payloadStart(fields.opcode, fields.hasGrh) - ATOMIC_ACK_ETH_SIZE;
      resource.trace.keepAnswer(resource.traceBlock, 0, fields, ring, offset, original, ATOMIC_ACK_ETH_SIZE);
    }
    resource.packetsSent = 1;
    return true;
  }

  /** Sends one packet of a READ response. Its key is checked again: it may be invalid by now. */
  #sendRead(state: ResponderState, port: Port, resource: ResponderResource): boolean {
    const fields = this.#fields;
    const { pathMtuBytes: mtuBytes } = state.qp;
    const done = resource.packetsSent * mtuBytes;
    const length = Math.min(resource.lengthBytes - done, mtuBytes);
    const last = done + length >= resource.lengthBytes;
    // A repeated answer that starts in the middle begins with FIRST or ONLY (IBTA 9.7.5.1.9).
    const opcode = readResponseOpcode(resource.packetsSent === 0 || resource.restart, last);
    this.#head(state, port, opcode, addPsn(resource.firstPsn, resource.packetsSent), resource.msn);
    fields.syndromeKind = AethKind.ACK;
    fields.syndromeValue = this.#creditsOf(state);
    fields.payloadLengthBytes = length;
    const ring = port.ringFor(fields.dlid, fields.serviceLevel);
    const offset = ring.writeOffset;
    const payload = offset + payloadStart(opcode, fields.hasGrh);
    const isLent = length >= LOAN_MIN_BYTES && resource.trace === undefined && port.lendsTo(ring);
    ring.loanBytes = isLent ? length : 0;
    const isRead = length === 0 || this.#payloads.read(state, resource, done, length, ring, payload);
    ring.loanBytes = 0;
    if (!isRead) return false;
    this.#emit(port);
    this.turnCost += PACKET_COST_BYTES + length;
    resource.trace?.keepAnswer(resource.traceBlock, done, fields, ring, offset, payload, length);
    resource.restart = false;
    resource.packetsSent++;
    return true;
  }

  #head(state: ResponderState, port: Port, opcode: number, psn: number, msn: number): void {
    const fields = this.#fields;
    const { qp } = state;
    state.path.apply(fields, port);
    fields.opcode = qp.transport | opcode;
    fields.solicited = 0;
    fields.ackRequest = 0;
    fields.pKey = port.pkeys[qp.attributes.pkeyIndex];
    fields.destQpn = qp.attributes.remoteQpn;
    fields.psn = psn;
    fields.msn = msn;
  }

  #emit(port: Port): void {
    const ring = port.ringFor(this.#fields.dlid, this.#fields.serviceLevel);
    port.transmit(ring, buildPacket(ring.view, ring.writeOffset, this.#fields, PacketCheck.NONE));
    this.packets++;
  }
}
