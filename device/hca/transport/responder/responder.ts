// SPDX-License-Identifier: Apache-2.0
/**
 * The responder of connected QPs (IBTA 9.7.4, 9.8.2): checks each request packet in the order of
 * the specification, then has it executed or refused. One function per check returns the next
 * state. `PacketReceiver` calls `receive`; answers are queued in `ResponderAnswers`.
 */

import { getRethDmaLength, getRethRKey } from '../../../../protocol/infiniband/gen/reth.gen.ts';
import { AethKind, NakCode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { OpcodeFlag } from '../../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../../protocol/infiniband/packet.ts';
import { addPsn, psnDistance } from '../../../../protocol/infiniband/psn.ts';
import { MESSAGE_MAX_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { AccessFlag, CompletionStatus, FaultKind, QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import { noteStep, Step } from '../../function/timeline.ts';
import { PacketDrop } from '../../function/timeline-values.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { noteDrop } from '../packet-drops.ts';
import type { ReceiveQueueReader } from '../receive-queue.ts';
import { MessageKind, type ResponderState, ResponderStep } from '../state/responder-state.ts';
import type { AtomicUnit } from './atomic-unit.ts';
import type { ResponderAnswers } from './responder-answers.ts';
import { ResponderExecution } from './responder-execution.ts';
import { ResponderPlacement } from './responder-placement.ts';
import { completeReceiveWqe, ResponderRefusals } from './responder-refusals.ts';
import { type FailResponder, ResponderRequest } from './responder-request.ts';
import { selectQueue } from './xrc-queue.ts';

const { FIRST, MIDDLE, LAST, ONLY, SEND, WRITE, READ_REQUEST, ATOMIC, IMMEDIATE, FLUSH, ATOMIC_WRITE } = OpcodeFlag;
/** Requests whose answer takes a responder resource. */
const FETCHES = READ_REQUEST | ATOMIC | FLUSH | ATOMIC_WRITE;

/** Units that the responder uses, and functions that change the QP's state. */
export interface ResponderParts {
  readonly keys: KeyLookup;
  readonly reader: ReceiveQueueReader;
  readonly answers: ResponderAnswers;
  readonly atomics: AtomicUnit;
  readonly fail: FailResponder;
  /** The first packet of a connection arrived in RTR. */
  established(qp: QueuePair): void;
}

/** One per adapter: its counters are totals of all QPs. */
export class Responder {
  duplicates = 0;
  sequenceErrors = 0;
  receiverNotReady = 0;
  dropped = 0;
  readonly #parts: ResponderParts;
  readonly #request = new ResponderRequest();
  readonly #refusals: ResponderRefusals;
  readonly #execution: ResponderExecution;
  readonly #placement: ResponderPlacement;

  constructor(parts: ResponderParts) {
    this.#parts = parts;
    const { answers, keys, atomics, fail } = parts;
    this.#refusals = new ResponderRefusals(this.#request, answers, fail);
    this.#execution = new ResponderExecution(this.#request, this.#refusals, answers, keys, atomics);
    this.#placement = new ResponderPlacement(this.#request, this.#refusals, this.#execution, keys);
  }

  /** Takes a well-formed request packet of the QP's service. Returns false when it was dropped. */
  receive(state: ResponderState, port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    const { qp } = state;
    if (!qp.receives) return noteDrop(qp, packet, PacketDrop.SERVICE);
    const request = this.#request;
    request.qp = qp;
    request.state = state;
    request.port = port;
    request.ring = ring;
    request.packet = packet;
    if (!state.established) {
      state.established = true;
      if (qp.state === QpState.RTR) this.#parts.established(qp);
    }
    const isTaken = this.#take() !== ResponderStep.DROP;
    if (!isTaken) this.dropped++;
    return isTaken;
  }

  /**
   * The QP enters the error state: flushes the WQE of the message in progress and drops queued
   * answers, except a fatal NAK and those before it.
   */
  abandon(state: ResponderState): void {
    completeReceiveWqe(state, CompletionStatus.FLUSHED, FaultKind.NONE);
    state.message = MessageKind.NONE;
    if (!state.refused) state.clearAnswers();
  }

  /** Passes the packet through the states; none leads back to an earlier one. */
  #take(): ResponderStep {
    let next = this.#request.reliable ? this.#checkPsn() : this.#checkPsnUnreliable();
    if (next === ResponderStep.CHECK_OPCODE_SEQUENCE) next = this.#checkOpcodeSequence();
    if (next === ResponderStep.CHECK_RESOURCES) next = selectQueue(this.#request, this.#refusals);
    if (next === ResponderStep.CHECK_RESOURCES) next = this.#checkResources();
    if (next === ResponderStep.CHECK_LENGTH) next = this.#checkLength();
    if (next === ResponderStep.CHECK_RKEY) next = this.#checkRkey();
    if (next === ResponderStep.EXECUTE) next = this.#execution.place();
    if (next === ResponderStep.COMPLETE) next = this.#execution.complete();
    if (next === ResponderStep.ACKNOWLEDGE) return this.#execution.acknowledge();
    if (next === ResponderStep.READ) return this.#checkRead();
    if (next === ResponderStep.ATOMIC) return this.#checkAtomic();
    if (next === ResponderStep.PLACEMENT) return this.#placement.serve();
    return next === ResponderStep.DUPLICATE ? this.#duplicate() : next;
  }

  /** IBTA 9.7.4.1.1: expected, duplicate, or a sequence error, which is NAKed once. */
  #checkPsn(): ResponderStep {
    const { state, packet } = this.#request;
    state.step = ResponderStep.CHECK_PSN;
    const ahead = psnDistance(state.expectedPsn, packet.psn);
    if (ahead === 0) {
      state.nakSent = false;
      return ResponderStep.CHECK_OPCODE_SEQUENCE;
    }
    if (ahead < 0) return ResponderStep.DUPLICATE;
    this.sequenceErrors++;
    if (state.nakSent) return this.#refusals.drop(PacketDrop.SEQUENCE);
    state.nakSent = true;
    this.#parts.answers.queueSyndrome(state, AethKind.NAK, NakCode.PSN_SEQUENCE_ERROR, state.expectedPsn);
    return ResponderStep.EXIT;
  }

  /** IBTA 9.8.2.2: nothing is asked for again; the next message may begin with any PSN. */
  #checkPsnUnreliable(): ResponderStep {
    const { state, packet } = this.#request;
    state.step = ResponderStep.CHECK_PSN;
    if (packet.psn === state.expectedPsn) return ResponderStep.CHECK_OPCODE_SEQUENCE;
    this.sequenceErrors++;
    state.message = MessageKind.NONE;
    if ((packet.flags & (FIRST | ONLY)) === 0) return this.#refusals.skip(PacketDrop.PART);
    state.expect(packet.psn);
    return ResponderStep.CHECK_OPCODE_SEQUENCE;
  }

  /** IBTA 9.7.4.1.2: FIRST or ONLY begins a message; MIDDLE or LAST of its kind continues it. */
  #checkOpcodeSequence(): ResponderStep {
    const { state, packet, reliable } = this.#request;
    state.step = ResponderStep.CHECK_OPCODE_SEQUENCE;
    const { flags } = packet;
    const kind = flags & SEND ? MessageKind.SEND : flags & WRITE ? MessageKind.WRITE : MessageKind.NONE;
    const continues = (flags & (MIDDLE | LAST)) !== 0;
    if (continues ? state.message === kind : state.message === MessageKind.NONE) return ResponderStep.CHECK_RESOURCES;
    if (reliable) return this.#refusals.refuseRequest(FaultKind.COMMAND_OPCODE);
    // An unreliable sender gave up: the rest of an unknown message is dropped (IBTA 9.8.2.2.2).
    state.message = MessageKind.NONE;
    return continues ? this.#refusals.skip(PacketDrop.PART) : ResponderStep.CHECK_RESOURCES;
  }

  /** IBTA 9.7.4.1.3: the request needs a receive WQE or a responder resource. */
  #checkResources(): ResponderStep {
    const { state, packet } = this.#request;
    state.step = ResponderStep.CHECK_RESOURCES;
    const { flags } = packet;
    if (flags & FETCHES) {
      const oldest = state.resources[state.resourceNext];
      const isFree = oldest !== undefined && (!oldest.active || oldest.repeated);
      return isFree ? ResponderStep.CHECK_LENGTH : this.#refusals.refuseRequest(FaultKind.COMMAND_OPCODE);
    }
    const needsWqe =
      (flags & SEND) !== 0 ? (flags & (FIRST | ONLY)) !== 0 : (flags & WRITE) !== 0 && (flags & IMMEDIATE) !== 0;
    if (!needsWqe || state.wqeTaken) return ResponderStep.CHECK_LENGTH;
    return this.#takeReceiveWqe();
  }

  #takeReceiveWqe(): ResponderStep {
    const { qp, state, reliable } = this.#request;
    const { reader, keys, answers } = this.#parts;
    if (!reader.available(qp)) {
      this.receiverNotReady++;
      if (!reliable) return this.#refusals.skip(PacketDrop.NO_RECEIVE_ENTRY);
      noteStep(qp, Step.NO_RECEIVE_ENTRY, state.expectedPsn);
      answers.queueSyndrome(state, AethKind.RNR_NAK, qp.attributes.minRnrTimer, state.expectedPsn);
      // Later packets are dropped silently until this one is repeated (IBTA 9.7.5.2.8).
      state.nakSent = true;
      return ResponderStep.EXIT;
    }
    let fault = reader.take(qp, state.list);
    state.wqeTaken = true;
    state.wqeNumber = reader.number;
    if (fault === FaultKind.NONE) fault = state.list.check(qp, keys, AccessFlag.LOCAL_WRITE);
    return fault === FaultKind.NONE ? ResponderStep.CHECK_LENGTH : this.#refusals.failReceiveWqe(fault);
  }

  /** IBTA 9.7.4.1.6: FIRST and MIDDLE are full, LAST is not empty, and the message fits. */
  #checkLength(): ResponderStep {
    const { qp, state, packet } = this.#request;
    state.step = ResponderStep.CHECK_LENGTH;
    const { flags, payloadLengthBytes: length } = packet;
    const mtuBytes = qp.pathMtuBytes;
    if (flags & (SEND | WRITE)) {
      const wrong =
        (flags & (FIRST | MIDDLE)) !== 0
          ? length !== mtuBytes
          : length > mtuBytes || ((flags & LAST) !== 0 && length === 0);
      if (wrong) return this.#refuseLength();
    }
    if ((flags & SEND) === 0) return ResponderStep.CHECK_RKEY;
    const before = flags & (FIRST | ONLY) ? 0 : state.messageBytes;
    if (before + length > state.list.totalBytes) return this.#refusals.failReceiveWqe(FaultKind.RECEIVE_TOO_SHORT);
    return ResponderStep.EXECUTE;
  }

  /** IBTA 9.7.4.1.7: key, bounds and rights; for each packet, because keys may become invalid. */
  #checkRkey(): ResponderStep {
    const { state, packet } = this.#request;
    state.step = ResponderStep.CHECK_RKEY;
    const { flags, payloadLengthBytes: length } = packet;
    if (flags & ATOMIC) return ResponderStep.ATOMIC;
    if (flags & READ_REQUEST) return ResponderStep.READ;
    if (flags & (FLUSH | ATOMIC_WRITE)) return ResponderStep.PLACEMENT;
    if (flags & (FIRST | ONLY)) {
      this.#loadWrite();
      if (state.writeLength > MESSAGE_MAX_BYTES) return this.#refuseLength();
      const whole = flags & ONLY ? state.writeLength === length : state.writeLength > length;
      if (!whole) return this.#refuseLength();
    } else {
      const done = state.messageBytes + length;
      const fits = flags & LAST ? done === state.writeLength : done < state.writeLength;
      if (!fits) return this.#refuseLength();
    }
    this.#parts.keys.at(state.writeAddress);
    return this.#checkRemote(AccessFlag.REMOTE_WRITE, state.writeRkey, state.writeLength, ResponderStep.EXECUTE);
  }

  #loadWrite(): void {
    const { state, ring, packet } = this.#request;
    state.writeAddress = this.#request.takeAddress(this.#parts.keys).address;
    state.writeRkey = getRethRKey(ring.view, packet.rethOffset);
    state.writeLength = getRethDmaLength(ring.view, packet.rethOffset);
  }

  /**
   * Checks QP and key for `right` from the address of the key check on. For zero bytes the key is
   * ignored (IBTA 9.7.4.1.7).
   */
  #checkRemote(right: number, rkey: number, lengthBytes: number, next: ResponderStep): ResponderStep {
    const { qp } = this.#request;
    if ((qp.attributes.access & right) === 0) return this.#refusals.refuseRequest(FaultKind.KEY_ACCESS);
    if (lengthBytes === 0) return next;
    const { keys } = this.#parts;
    const region = keys.checkRemote(qp, rkey, lengthBytes, right);
    this.#request.region = region;
    if (region !== undefined) return next;
    return this.#refusals.refuseAccess(keys.fault, keys.address);
  }

  #checkRead(): ResponderStep {
    const { state, ring, packet } = this.#request;
    state.step = ResponderStep.READ;
    const length = getRethDmaLength(ring.view, packet.rethOffset);
    const rkey = getRethRKey(ring.view, packet.rethOffset);
    if (length > MESSAGE_MAX_BYTES) return this.#refuseLength();
    this.#request.takeAddress(this.#parts.keys);
    const next = this.#checkRemote(AccessFlag.REMOTE_READ, rkey, length, ResponderStep.READ);
    return next === ResponderStep.READ ? this.#execution.read(rkey, length) : next;
  }

  #checkAtomic(): ResponderStep {
    const { qp, state } = this.#request;
    state.step = ResponderStep.ATOMIC;
    if (qp.attributes.access & AccessFlag.REMOTE_ATOMIC) return this.#execution.atomic();
    return this.#refusals.refuseRequest(FaultKind.KEY_ACCESS);
  }

  /** IBTA 9.7.5.1.4: acknowledges again, reads again, or repeats the answer to another request. */
  #duplicate(): ResponderStep {
    this.duplicates++;
    const { state, packet } = this.#request;
    state.step = ResponderStep.DUPLICATE;
    const { flags, psn, opcode } = packet;
    const { answers } = this.#parts;
    if (flags & (SEND | WRITE)) {
      answers.acknowledge(state, this.#newestAcknowledged(psn));
      return ResponderStep.EXIT;
    }
    const resource = state.findAnswer(psn, opcode);
    if (resource === undefined) return this.#refusals.drop(PacketDrop.DUPLICATE);
    answers.repeat(state, resource, psnDistance(resource.firstPsn, psn));
    return ResponderStep.EXIT;
  }

  /** PSN to acknowledge to a duplicate: before the next READ or atomic; its answer may be lost. */
  #newestAcknowledged(psn: number): number {
    const { state } = this.#request;
    let next = state.countOf(state.expectedPsn);
    for (const { used, firstCount } of state.resources) {
      if (used && firstCount > state.countOf(psn) && firstCount < next) next = firstCount;
    }
    return addPsn(next, -1);
  }

  #refuseLength(): ResponderStep {
    return this.#refusals.refuseRequest(FaultKind.COMMAND_LENGTH);
  }
}
