// SPDX-License-Identifier: Apache-2.0
/**
 * The responder of connected QPs (IBTA 9.7.4, 9.8.2, 9.9.3): checks each request packet in the order the specification gives, executes it, and leaves what has to
 * be answered to `Responses`. One function per check or action, each returning the next state.
 */

import { getIethRKey } from '../../protocol/infiniband/gen/ieth.gen.ts';
import { getImmDtImmediate } from '../../protocol/infiniband/gen/imm-dt.gen.ts';
import {
  getRethDmaLength,
  getRethRKey,
  getRethVirtualAddressHigh,
  getRethVirtualAddressLow,
} from '../../protocol/infiniband/gen/reth.gen.ts';
import { AethKind, NakCode } from '../../protocol/infiniband/gen/values.gen.ts';
import { packetCount } from '../../protocol/infiniband/mtu.ts';
import { OpcodeFlag } from '../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../protocol/infiniband/packet.ts';
import { addPsn, psnDistance } from '../../protocol/infiniband/psn.ts';
import { MESSAGE_MAX_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import {
  AccessFlag,
  CompletionOpcode,
  CompletionStatus,
  EventType,
  FaultKind,
  QpState,
  ServiceType,
} from '../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';
import type { KeyCheck } from '../queues/key-check.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { AtomicUnit } from './atomic-unit.ts';
import { postReceiveCompletion } from './completions.ts';
import type { ReceiveQueueReader } from './receive-queue.ts';
import { MessageKind, type ResponderResource, type ResponderState } from './responder-state.ts';
import type { Responses } from './responses.ts';

/** States of the responder, over one packet. */
const State = {
  CHECK_PSN: 0,
  CHECK_OPCODE_SEQUENCE: 1,
  CHECK_RESOURCES: 2,
  CHECK_LENGTH: 3,
  CHECK_RKEY: 4,
  EXECUTE: 5,
  READ: 6,
  ATOMIC: 7,
  COMPLETE: 8,
  ACKNOWLEDGE: 9,
  DUPLICATE: 10,
  DROP: 11,
  EXIT: 12,
} as const;
type State = (typeof State)[keyof typeof State];

const DWORD = 0x100000000;
const MSN_MASK = 0xffffff;
const { FIRST, MIDDLE, LAST, ONLY, SEND, WRITE, READ_REQUEST, ATOMIC, IMMEDIATE, INVALIDATE } = OpcodeFlag;

export interface ResponderSurroundings {
  readonly keys: KeyCheck;
  readonly reader: ReceiveQueueReader;
  readonly responses: Responses;
  readonly atomics: AtomicUnit;
  /** The QP fails: flush, and the event that says why. */
  fail(qp: QueuePair, event: EventType, fault: FaultKind): void;
  /** First packet of a connection in RTR. */
  established(qp: QueuePair): void;
}

export class Responder {
  duplicates = 0;
  sequenceErrors = 0;
  receiverNotReady = 0;
  dropped = 0;
  readonly #around: ResponderSurroundings;
  #qp!: QueuePair;
  #state!: ResponderState;
  #ring!: PacketRing;
  #packet!: Readonly<ParsedPacket>;
  #port!: Port;

  constructor(around: ResponderSurroundings) {
    this.#around = around;
  }

  /** A request packet for `qp`, well formed and of its service. False when it was dropped. */
  receive(qp: QueuePair, state: ResponderState, port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    if (!qp.receives) return false;
    this.#qp = qp;
    this.#state = state;
    this.#port = port;
    this.#ring = ring;
    this.#packet = packet;
    if (!state.established) {
      state.established = true;
      if (qp.state === QpState.RTR) this.#around.established(qp);
    }
    let next: State = State.CHECK_PSN;
    while (next < State.DROP) next = this.#step(next);
    if (next === State.DROP) this.dropped++;
    return next !== State.DROP;
  }

  #step(state: State): State {
    switch (state) {
      case State.CHECK_PSN:
        return this.#reliable ? this.#checkPsn() : this.#checkPsnUnreliable();
      case State.CHECK_OPCODE_SEQUENCE:
        return this.#checkOpcodeSequence();
      case State.CHECK_RESOURCES:
        return this.#checkResources();
      case State.CHECK_LENGTH:
        return this.#checkLength();
      case State.CHECK_RKEY:
        return this.#checkRkey();
      case State.EXECUTE:
        return this.#execute();
      case State.READ:
        return this.#read();
      case State.ATOMIC:
        return this.#atomic();
      case State.COMPLETE:
        return this.#complete();
      case State.ACKNOWLEDGE:
        return this.#acknowledge();
      default:
        return this.#duplicate();
    }
  }

  get #reliable(): boolean {
    return this.#qp.creation.serviceType !== ServiceType.UC;
  }

  /** IBTA 9.7.4.1.1: expected, duplicate, or a sequence error that is NAKed once. */
  #checkPsn(): State {
    const state = this.#state;
    const ahead = psnDistance(state.expectedPsn, this.#packet.psn);
    if (ahead === 0) {
      state.nakSent = false;
      return State.CHECK_OPCODE_SEQUENCE;
    }
    if (ahead < 0) return State.DUPLICATE;
    this.sequenceErrors++;
    if (state.nakSent) return State.DROP;
    state.nakSent = true;
    this.#answer(AethKind.NAK, NakCode.PSN_SEQUENCE_ERROR, state.expectedPsn);
    return State.EXIT;
  }

  /** IBTA 9.8.2.2: what is lost is lost; the next message begins with whatever PSN it has. */
  #checkPsnUnreliable(): State {
    const state = this.#state;
    const { psn, flags } = this.#packet;
    if (psn !== state.expectedPsn) {
      this.sequenceErrors++;
      state.message = MessageKind.NONE;
      state.expectedPsn = psn;
      if ((flags & (FIRST | ONLY)) === 0) {
        state.expectedPsn = addPsn(psn, 1);
        return State.DROP;
      }
    }
    return State.CHECK_OPCODE_SEQUENCE;
  }

  /** IBTA 9.7.4.1.2: a message begins with FIRST or ONLY and goes on with MIDDLE or LAST of the same kind. */
  #checkOpcodeSequence(): State {
    const { flags } = this.#packet;
    const kind = flags & SEND ? MessageKind.SEND : flags & WRITE ? MessageKind.WRITE : MessageKind.NONE;
    const inProgress = this.#state.message;
    const continues = (flags & (MIDDLE | LAST)) !== 0;
    if (continues ? inProgress === kind : inProgress === MessageKind.NONE) return State.CHECK_RESOURCES;
    if (this.#reliable)
      return this.#refuse(NakCode.INVALID_REQUEST, EventType.QP_REQUEST_ERROR, FaultKind.COMMAND_OPCODE);
    // An unreliable sender that gave up: a new message may begin, the rest of an unknown one is dropped (IBTA 9.8.2.2.2).
    this.#state.message = MessageKind.NONE;
    return continues ? this.#skip() : State.CHECK_RESOURCES;
  }

  /** Is there what the request needs: a receive entry, responder resources (IBTA 9.7.4.1.3)? */
  #checkResources(): State {
    const state = this.#state;
    const { flags } = this.#packet;
    if (flags & (READ_REQUEST | ATOMIC)) {
      if (state.resources.length > 0 && state.queue.length < state.resources.length) return State.CHECK_LENGTH;
      return this.#refuse(NakCode.INVALID_REQUEST, EventType.QP_REQUEST_ERROR, FaultKind.COMMAND_OPCODE);
    }
    const needsEntry =
      (flags & SEND) !== 0 ? (flags & (FIRST | ONLY)) !== 0 : (flags & WRITE) !== 0 && (flags & IMMEDIATE) !== 0;
    if (!needsEntry || state.entryTaken) return State.CHECK_LENGTH;
    return this.#takeEntry();
  }

  #takeEntry(): State {
    const state = this.#state;
    const qp = this.#qp;
    const { reader, keys } = this.#around;
    if (!reader.available(qp)) {
      this.receiverNotReady++;
      if (!this.#reliable) return this.#skip();
      if (!state.nakSent) this.#answer(AethKind.RNR_NAK, qp.attributes.minRnrTimer, state.expectedPsn);
      state.nakSent = true;
      return State.EXIT;
    }
    let fault = reader.take(qp, state.list);
    state.entryTaken = true;
    state.entryNumber = reader.number;
    if (fault === FaultKind.NONE) fault = state.list.check(qp, keys, AccessFlag.LOCAL_WRITE);
    return fault === FaultKind.NONE ? State.CHECK_LENGTH : this.#failEntry(fault);
  }

  /** IBTA 9.7.4.1.6: first and middle packets are full, last ones not empty, and all of it fits. */
  #checkLength(): State {
    const { flags, payloadLengthBytes: length } = this.#packet;
    const state = this.#state;
    const { pathMtuBytes: mtuBytes } = this.#qp;
    if (flags & (SEND | WRITE)) {
      const wrong =
        (flags & (FIRST | MIDDLE)) !== 0
          ? length !== mtuBytes
          : length > mtuBytes || ((flags & LAST) !== 0 && length === 0);
      if (wrong) return this.#refuseLength();
    }
    if (flags & SEND) {
      const before = flags & (FIRST | ONLY) ? 0 : state.messageBytes;
      if (before + length > state.list.totalBytes) return this.#failEntry(FaultKind.RECEIVE_TOO_SHORT);
      return State.CHECK_RKEY;
    }
    return State.CHECK_RKEY;
  }

  /** Keys, bounds and rights of RDMA (IBTA 9.7.4.1.7); checked for each packet, as the key may go meanwhile. */
  #checkRkey(): State {
    const { flags, payloadLengthBytes: length } = this.#packet;
    const state = this.#state;
    if (flags & SEND) return State.EXECUTE;
    if (flags & ATOMIC) return State.ATOMIC;
    if (flags & READ_REQUEST) return State.READ;
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
    return this.#remoteAllowed(AccessFlag.REMOTE_WRITE, state.writeRkey, state.writeAddress, state.writeLength)
      ? State.EXECUTE
      : this.#refuseAccess();
  }

  #loadWrite(): void {
    const { view } = this.#ring;
    const { rethOffset } = this.#packet;
    const state = this.#state;
    state.writeAddress =
      getRethVirtualAddressHigh(view, rethOffset) * DWORD + getRethVirtualAddressLow(view, rethOffset);
    state.writeRkey = getRethRKey(view, rethOffset);
    state.writeLength = getRethDmaLength(view, rethOffset);
  }

  /** The QP and the key allow it. Nothing is checked for zero bytes (IBTA 9.7.4.1.7). */
  #remoteAllowed(right: number, rkey: number, address: number, lengthBytes: number): boolean {
    const qp = this.#qp;
    if ((qp.attributes.access & right) === 0) return false;
    if (lengthBytes === 0) return true;
    const { keys } = this.#around;
    if (keys.checkRemote(qp, rkey, address, lengthBytes, right) !== undefined) return true;
    qp.owner.faults.report(keys.fault, qp.number, address);
    return false;
  }

  /** Places the payload. */
  #execute(): State {
    const { flags, payloadOffset, payloadLengthBytes: length } = this.#packet;
    const state = this.#state;
    const qp = this.#qp;
    if (flags & (FIRST | ONLY)) {
      state.messageBytes = 0;
      state.message = flags & SEND ? MessageKind.SEND : MessageKind.WRITE;
    }
    if (flags & SEND) {
      if (!state.list.scatter(qp, state.messageBytes, this.#ring.bytes, payloadOffset, length))
        return this.#failEntry(FaultKind.DMA_WRITE);
    } else if (length > 0) {
      const address = state.writeAddress + state.messageBytes;
      const region = this.#around.keys.checkRemote(qp, state.writeRkey, address, length, AccessFlag.REMOTE_WRITE);
      if (region === undefined) return this.#refuseAccess();
      if (!region.write(region.owner.dma, qp.number, address, length, this.#ring.bytes, payloadOffset))
        return this.#refuse(NakCode.REMOTE_OPERATIONAL_ERROR, EventType.QP_FATAL, FaultKind.DMA_WRITE);
    }
    state.messageBytes += length;
    return flags & (LAST | ONLY) ? State.COMPLETE : State.ACKNOWLEDGE;
  }

  /** The message is whole. */
  #complete(): State {
    const { flags } = this.#packet;
    const state = this.#state;
    if (flags & INVALIDATE) {
      const rkey = getIethRKey(this.#ring.view, this.#packet.iethOffset);
      if (!this.#around.keys.invalidate(this.#qp, rkey)) return this.#refuseAccess();
    }
    state.message = MessageKind.NONE;
    state.msn = (state.msn + 1) & MSN_MASK;
    if (flags & SEND || flags & IMMEDIATE) {
      this.#report();
      postReceiveCompletion(this.#qp, state.entryNumber, state.report);
      state.entryTaken = false;
    }
    return State.ACKNOWLEDGE;
  }

  #report(): void {
    const { flags, immDtOffset, iethOffset, slid, solicited } = this.#packet;
    const { report, messageBytes } = this.#state;
    const { view } = this.#ring;
    report.status = CompletionStatus.SUCCESS;
    report.fault = FaultKind.NONE;
    report.opcode = flags & SEND ? CompletionOpcode.RECEIVE : CompletionOpcode.RECEIVE_RDMA_IMMEDIATE;
    report.byteLength = messageBytes;
    report.solicited = solicited;
    report.globalRoute = 0;
    report.hasImmediate = immDtOffset < 0 ? 0 : 1;
    report.hasInvalidate = iethOffset < 0 ? 0 : 1;
    report.immediate = immDtOffset >= 0 ? getImmDtImmediate(view, immDtOffset) : 0;
    if (iethOffset >= 0) report.immediate = getIethRKey(view, iethOffset);
    report.sourceQpn = this.#qp.attributes.remoteQpn;
    report.sourceLid = slid;
    report.port = this.#port.number;
  }

  /** RDMA READ: the answer is made while it is sent (IBTA 9.7.4.1.5, 9.7.5.1.9). */
  #read(): State {
    const { view } = this.#ring;
    const { rethOffset, psn } = this.#packet;
    const state = this.#state;
    const address = getRethVirtualAddressHigh(view, rethOffset) * DWORD + getRethVirtualAddressLow(view, rethOffset);
    const length = getRethDmaLength(view, rethOffset);
    const rkey = getRethRKey(view, rethOffset);
    if (length > MESSAGE_MAX_BYTES) return this.#refuseLength();
    if (!this.#remoteAllowed(AccessFlag.REMOTE_READ, rkey, address, length)) return this.#refuseAccess();
    const count = packetCount(length, this.#qp.pathMtuBytes);
    const resource = this.#newResource(psn, addPsn(psn, count - 1));
    resource.isAtomic = false;
    resource.address = address;
    resource.rkey = rkey;
    resource.lengthBytes = length;
    state.expectedPsn = addPsn(psn, count);
    this.#around.responses.enqueue(this.#qp, state, resource);
    return State.EXIT;
  }

  /** Atomics execute at once; their answer is kept for duplicates (IBTA 9.4.5). */
  #atomic(): State {
    const { atomics } = this.#around;
    const state = this.#state;
    const { psn } = this.#packet;
    const outcome = atomics.perform(this.#qp, this.#ring.view, this.#packet);
    if (outcome !== FaultKind.NONE) {
      if (outcome === FaultKind.COMMAND_LENGTH) return this.#refuseLength();
      if (outcome === FaultKind.DMA_WRITE || outcome === FaultKind.DMA_READ)
        return this.#refuse(NakCode.REMOTE_OPERATIONAL_ERROR, EventType.QP_FATAL, outcome);
      return this.#refuseAccess();
    }
    const resource = this.#newResource(psn, psn);
    resource.isAtomic = true;
    resource.originalHigh = atomics.originalHigh;
    resource.originalLow = atomics.originalLow;
    state.expectedPsn = addPsn(psn, 1);
    this.#around.responses.enqueue(this.#qp, state, resource);
    return State.EXIT;
  }

  #newResource(firstPsn: number, lastPsn: number): ResponderResource {
    const state = this.#state;
    const resource = state.resources[state.resourceNext];
    state.resourceNext = (state.resourceNext + 1) % state.resources.length;
    state.msn = (state.msn + 1) & MSN_MASK;
    resource.firstPsn = firstPsn;
    resource.lastPsn = lastPsn;
    resource.msn = state.msn;
    resource.packetsSent = 0;
    resource.after.pending = false;
    return resource;
  }

  #acknowledge(): State {
    const state = this.#state;
    const { psn } = this.#packet;
    state.expectedPsn = addPsn(psn, 1);
    if (this.#reliable && this.#packet.ackRequest) this.#around.responses.acknowledge(this.#qp, state, psn);
    return State.EXIT;
  }

  /** IBTA 9.7.5.1.4: acknowledge again, read again, or repeat the result of an atomic. */
  #duplicate(): State {
    this.duplicates++;
    const { flags, psn } = this.#packet;
    const state = this.#state;
    const { responses } = this.#around;
    if (flags & (SEND | WRITE)) {
      responses.acknowledge(this.#qp, state, addPsn(state.expectedPsn, -1));
      return State.EXIT;
    }
    for (const resource of state.resources) {
      const offset = psnDistance(resource.firstPsn, psn);
      if (offset < 0 || psnDistance(psn, resource.lastPsn) < 0) continue;
      if (((flags & ATOMIC) !== 0) !== resource.isAtomic) continue;
      responses.repeat(this.#qp, state, resource, offset);
      return State.EXIT;
    }
    return State.DROP;
  }

  /** Unreliable: the packet is lost, and with it the rest of its message. */
  #skip(): State {
    this.#state.expectedPsn = addPsn(this.#packet.psn, 1);
    this.#state.message = MessageKind.NONE;
    return State.DROP;
  }

  #refuseLength(): State {
    return this.#refuse(NakCode.INVALID_REQUEST, EventType.QP_REQUEST_ERROR, FaultKind.COMMAND_LENGTH);
  }

  #refuseAccess(): State {
    return this.#refuse(NakCode.REMOTE_ACCESS_ERROR, EventType.QP_ACCESS_ERROR, FaultKind.KEY_ACCESS);
  }

  /** NAK and error state (IBTA 9.9.3, class C); unreliable QPs drop the message silently (class D). */
  #refuse(code: number, event: EventType, fault: FaultKind): State {
    if (!this.#reliable) return this.#skip();
    this.#answer(AethKind.NAK, code, this.#packet.psn);
    this.#completeTaken(CompletionStatus.REMOTE_INVALID_REQUEST_ERROR, fault);
    this.#around.fail(this.#qp, event, fault);
    return State.EXIT;
  }

  /** The receive entry cannot take the message: its completion says so, the sender gets a NAK (IBTA 9.9.3, classes A and B). */
  #failEntry(fault: FaultKind): State {
    const tooShort = fault === FaultKind.RECEIVE_TOO_SHORT;
    if (this.#reliable)
      this.#answer(
        AethKind.NAK,
        tooShort ? NakCode.INVALID_REQUEST : NakCode.REMOTE_OPERATIONAL_ERROR,
        this.#packet.psn,
      );
    const status = tooShort
      ? CompletionStatus.LOCAL_LENGTH_ERROR
      : fault === FaultKind.RECEIVE_ENTRY || fault === FaultKind.DMA_READ
        ? CompletionStatus.LOCAL_QP_OPERATION_ERROR
        : CompletionStatus.LOCAL_PROTECTION_ERROR;
    this.#completeTaken(status, fault);
    this.#around.fail(this.#qp, EventType.QP_FATAL, fault);
    return State.EXIT;
  }

  /** The entry of the message in progress is used up by the error. */
  #completeTaken(status: CompletionStatus, fault: FaultKind): void {
    const state = this.#state;
    if (!state.entryTaken) return;
    state.entryTaken = false;
    state.report.status = status;
    state.report.fault = fault;
    state.report.solicited = 0;
    postReceiveCompletion(this.#qp, state.entryNumber, state.report);
  }

  #answer(kind: number, value: number, psn: number): void {
    this.#around.responses.answer(this.#qp, this.#state, kind, value, psn);
  }
}
