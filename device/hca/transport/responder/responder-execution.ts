// SPDX-License-Identifier: Apache-2.0
/**
 * Executes requests that passed all checks of the responder (IBTA 9.7.5): places payload, completes
 * messages, queues answers to READs and atomics. Each function returns the responder's next state.
 */
import { getIethRKey } from '../../../../protocol/infiniband/gen/ieth.gen.ts';
import { getImmDtImmediate } from '../../../../protocol/infiniband/gen/imm-dt.gen.ts';
import { packetCount } from '../../../../protocol/infiniband/mtu.ts';
import { OpcodeFlag } from '../../../../protocol/infiniband/opcodes.ts';
import { addPsn, MSN_MASK } from '../../../../protocol/infiniband/psn.ts';
import {
  AccessFlag,
  CompletionOpcode,
  CompletionStatus,
  FaultKind,
  QpState,
} from '../../../../protocol/layout/gen/values.gen.ts';
import { ArrivedPayload } from '../../../fabric/port/arrived-payload.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import { postReceiveCompletion } from '../completions.ts';
import { MessageKind, type ResponderResource, ResponderStep } from '../state/responder-state.ts';
import type { AtomicUnit } from './atomic-unit.ts';
import type { ResponderAnswers } from './responder-answers.ts';
import { ResponderPages } from './responder-pages.ts';
import type { ResponderRefusals } from './responder-refusals.ts';
import type { ResponderRequest } from './responder-request.ts';

const { FIRST, LAST, ONLY, SEND, IMMEDIATE, INVALIDATE } = OpcodeFlag;

export class ResponderExecution {
  readonly #request: ResponderRequest;
  readonly #refusals: ResponderRefusals;
  readonly #answers: ResponderAnswers;
  readonly #keys: KeyLookup;
  readonly #atomics: AtomicUnit;
  readonly pages: ResponderPages;
  readonly #payload = new ArrivedPayload();

  constructor(
    request: ResponderRequest,
    refusals: ResponderRefusals,
    answers: ResponderAnswers,
    keys: KeyLookup,
    atomics: AtomicUnit,
  ) {
    this.#request = request;
    this.#refusals = refusals;
    this.#answers = answers;
    this.#keys = keys;
    this.#atomics = atomics;
    this.pages = new ResponderPages(request, refusals, answers, keys.pageFaults);
  }

  /** Places the payload of a SEND or WRITE packet. */
  place(): ResponderStep {
    const { qp, state, ring, packet } = this.#request;
    state.step = ResponderStep.EXECUTE;
    const { flags, payloadOffset, payloadLengthBytes: length } = packet;
    if (flags & (FIRST | ONLY)) {
      state.messageBytes = 0;
      state.message = flags & SEND ? MessageKind.SEND : MessageKind.WRITE;
    }
    const { block, offset } = this.#payload.locate(ring, payloadOffset);
    if (flags & SEND) {
      if (!state.list.scatter(qp, state.messageBytes, block, offset, length))
        return this.pages.await() ?? this.#refusals.failReceiveWqe(FaultKind.DMA_WRITE);
    } else if (length > 0) {
      const address = state.writeAddress + state.messageBytes;
      // The key of an ONLY packet was checked for all its bytes.
      const region =
        flags & ONLY
          ? this.#request.region
          : this.#keys.at(address).checkRemote(qp, state.writeRkey, length, AccessFlag.REMOTE_WRITE);
      if (region === undefined) return this.#refusals.refuseAccess(this.#keys.fault, address);
      if (!region.write(region.owner.dma.at(address), qp, length, block, offset)) {
        this.#keys.pageFaults.widen(state.writeAddress, state.writeLength);
        return this.pages.await() ?? this.#refusals.refuseOperation(FaultKind.DMA_WRITE);
      }
    }
    qp.trace?.placePacket(this.#request);
    state.messageBytes += length;
    return flags & (LAST | ONLY) ? ResponderStep.COMPLETE : ResponderStep.ACKNOWLEDGE;
  }

  /** Completes a message with its last packet. */
  complete(): ResponderStep {
    const { qp, state, ring, packet } = this.#request;
    state.step = ResponderStep.COMPLETE;
    const { flags } = packet;
    if (flags & INVALIDATE) {
      const rkey = getIethRKey(ring.view, packet.iethOffset);
      this.#answers.takeLoans();
      if (!this.#keys.invalidate(qp, rkey)) return this.#refusals.refuseAccess(FaultKind.KEY_STATE, rkey);
    }
    state.message = MessageKind.NONE;
    qp.trace?.endMessage(CompletionStatus.SUCCESS, FaultKind.NONE);
    if (flags & (SEND | IMMEDIATE)) {
      this.#report();
      state.wqeTaken = false;
      postReceiveCompletion(qp, state.wqeNumber, state.report);
      if (qp.state === QpState.ERR) return this.#refusals.failCompletion();
    }
    state.msn = (state.msn + 1) & MSN_MASK;
    return ResponderStep.ACKNOWLEDGE;
  }

  /** Advances the expected PSN and acknowledges when the requester asks for it. */
  acknowledge(): ResponderStep {
    const { state, packet, reliable } = this.#request;
    state.step = ResponderStep.ACKNOWLEDGE;
    state.expect(addPsn(packet.psn, 1));
    if (reliable && packet.ackRequest) this.#answers.acknowledge(state, packet.psn);
    return ResponderStep.EXIT;
  }

  /**
   * Queues the answer to a READ of the range that was checked last; its payload is read when it is
   * sent (IBTA 9.7.4.1.5, 9.7.5.1.9).
   */
  read(rkey: number, lengthBytes: number): ResponderStep {
    const { qp, region } = this.#request;
    const { address } = this.#keys;
    if (lengthBytes > 0 && region?.isPresent(address, Math.min(lengthBytes, qp.pathMtuBytes)) === false) {
      this.#keys.pageFaults.widen(address, lengthBytes);
      return this.pages.await() ?? this.#refusals.refuseOperation(FaultKind.DMA_READ);
    }
    const resource = this.#takeResource(packetCount(lengthBytes, qp.pathMtuBytes));
    resource.isAtomic = false;
    resource.address = address;
    resource.rkey = rkey;
    resource.pd = qp.pd;
    resource.lengthBytes = lengthBytes;
    return this.#answer(resource);
  }

  /** Executes an atomic at once and keeps its answer for duplicates (IBTA 9.4.5). */
  atomic(): ResponderStep {
    const { qp, ring, packet } = this.#request;
    const outcome = this.#atomics.perform(qp, ring.view, packet);
    if (outcome === FaultKind.COMMAND_LENGTH) return this.#refusals.refuseRequest(outcome);
    if (outcome === FaultKind.DMA_WRITE || outcome === FaultKind.DMA_READ)
      return this.pages.await() ?? this.#refusals.refuseOperation(outcome);
    if (outcome !== FaultKind.NONE) return this.#refusals.refuseAccess(outcome, this.#atomics.address);
    const resource = this.#takeResource(1);
    resource.isAtomic = true;
    resource.originalHigh = this.#atomics.originalHigh;
    resource.originalLow = this.#atomics.originalLow;
    return this.#answer(resource);
  }

  /** Queues the answer to a FLUSH that was executed. */
  answerFlush(): ResponderStep {
    const resource = this.#takeEmptyResource();
    resource.isFlush = true;
    return this.#answer(resource);
  }

  /** Queues the answer to an ATOMIC WRITE that was executed. */
  answerAtomicWrite(): ResponderStep {
    return this.#answer(this.#takeEmptyResource());
  }

  /** A resource for an answer of one packet without data. */
  #takeEmptyResource(): ResponderResource {
    const resource = this.#takeResource(1);
    resource.isAtomic = false;
    resource.lengthBytes = 0;
    return resource;
  }

  #answer(resource: ResponderResource): ResponderStep {
    const { qp, state } = this.#request;
    qp.trace?.beginAnswer(this.#request, resource);
    state.expect(addPsn(resource.lastPsn, 1));
    this.#answers.enqueue(state, resource);
    return ResponderStep.EXIT;
  }

  /**
   * Takes the oldest resource for an answer of `count` PSNs. The requester has the answer it held:
   * otherwise it could not have sent a new request.
   */
  #takeResource(count: number): ResponderResource {
    const { state, packet } = this.#request;
    const resource = state.resources[state.resourceNext];
    state.withdraw(resource);
    state.resourceNext = (state.resourceNext + 1) % state.resources.length;
    state.msn = (state.msn + 1) & MSN_MASK;
    resource.used = true;
    resource.isFlush = false;
    resource.opcode = packet.opcode;
    resource.firstPsn = packet.psn;
    resource.firstCount = state.countOf(packet.psn);
    resource.lastPsn = addPsn(packet.psn, count - 1);
    resource.msn = state.msn;
    resource.packetsSent = 0;
    resource.after.pending = false;
    return resource;
  }

  #report(): void {
    const { qp, state, port, ring, packet } = this.#request;
    const { flags, immDtOffset, iethOffset } = packet;
    const { report } = state;
    report.status = CompletionStatus.SUCCESS;
    report.fault = FaultKind.NONE;
    report.opcode = flags & SEND ? CompletionOpcode.RECEIVE : CompletionOpcode.RECEIVE_RDMA_IMMEDIATE;
    report.byteLength = state.messageBytes;
    report.solicited = packet.solicited;
    report.globalRoute = packet.grhOffset < 0 ? 0 : 1;
    report.hasImmediate = immDtOffset < 0 ? 0 : 1;
    report.hasInvalidate = iethOffset < 0 ? 0 : 1;
    report.immediate = immDtOffset >= 0 ? getImmDtImmediate(ring.view, immDtOffset) : 0;
    if (iethOffset >= 0) report.immediate = getIethRKey(ring.view, iethOffset);
    report.sourceQpn = qp.attributes.remoteQpn;
    report.sourceLid = packet.slid;
    report.serviceLevel = packet.serviceLevel;
    report.port = port.number;
    report.pkeyIndex = qp.attributes.pkeyIndex;
  }
}
