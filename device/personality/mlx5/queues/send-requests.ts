// SPDX-License-Identifier: Apache-2.0
/**
 * Turns work requests of send queues into send commands (IBTA 11.4.1.1), which lanes and transport
 * execute: `SendQueues` calls it for each request. A request that is not consistent becomes a
 * command with a fault, which the transport reports in its turn.
 */
import { highDword, lowDword } from '../../../../protocol/layout/dwords.ts';
import {
  setSendCommandFence,
  setSendCommandImmediate,
  setSendCommandSignaled,
  setSendCommandSolicited,
  setSendCommandXrcSrqn,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  ADDRESS_VECTOR_SIZE,
  getAddressVectorQkey,
  getAddressVectorRemoteQpn,
} from '../../../../protocol/mlx5/gen/address-vector.gen.ts';
import {
  ATOMIC_SEG_SIZE,
  getAtomicSegCompareHigh,
  getAtomicSegCompareLow,
  getAtomicSegSwapOrAddHigh,
  getAtomicSegSwapOrAddLow,
} from '../../../../protocol/mlx5/gen/atomic-seg.gen.ts';
import {
  CTRL_SEG_SIZE,
  getCtrlSegCompletion,
  getCtrlSegFence,
  getCtrlSegImmediate,
  getCtrlSegOpcode,
  getCtrlSegSolicited,
} from '../../../../protocol/mlx5/gen/ctrl-seg.gen.ts';
import {
  DATA_SEG_SIZE,
  getDataSegAddressHigh,
  getDataSegAddressLow,
  getDataSegByteCount,
  getDataSegInline,
  getDataSegLkey,
} from '../../../../protocol/mlx5/gen/data-seg.gen.ts';
import {
  getRemoteAddressSegAddressHigh,
  getRemoteAddressSegAddressLow,
  getRemoteAddressSegRkey,
  REMOTE_ADDRESS_SEG_SIZE,
} from '../../../../protocol/mlx5/gen/remote-address-seg.gen.ts';
import { CompletionMode, FenceMode, SendOpcode as WorkOpcode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { getXrcSegXrcSrqn, XRC_SEG_SIZE } from '../../../../protocol/mlx5/gen/xrc-seg.gen.ts';
import { LIST_ELEMENTS_MAX, type PhysicalCollectBuffer } from '../../../hca/collect/physical-collect-buffer.ts';
import type { Dma } from '../../../hca/function/dma.ts';
import { CHANGE_KEY } from '../../../hca/function/request-opcodes.ts';
import type { AddressVectors } from '../../shared/address-vectors.ts';
import { RequestBlock } from '../../shared/request-block.ts';
import { hasTarget, isAtomic, roundUp, SendCommandBuilder } from '../../shared/send-command-builder.ts';
import type { RequestLoader } from '../../shared/send-queues.ts';
import { QUEUE_KEY, WHOLE_PIECE_BYTES } from '../memory/queue-memory.ts';
import { storeVector } from './datagram-vectors.ts';
import type { SendQueue } from './send-queue.ts';

const UNKNOWN = 0xff;
const SIGNED_QUEUE_KEY = QUEUE_KEY | 0;
/** Length of an inline piece, in front of its data. */
const INLINE_HEAD_BYTES = 4;
/** Pieces begin at multiples of it. */
const PIECE_UNIT_BYTES = 16;

const sendOpcodes = new Uint8Array(256).fill(UNKNOWN);
for (const [work, send] of [
  [WorkOpcode.NOP, SendOpcode.NOP],
  [WorkOpcode.SEND, SendOpcode.SEND],
  [WorkOpcode.SEND_IMMEDIATE, SendOpcode.SEND_IMMEDIATE],
  [WorkOpcode.SEND_INVALIDATE, SendOpcode.SEND_INVALIDATE],
  [WorkOpcode.WRITE, SendOpcode.RDMA_WRITE],
  [WorkOpcode.WRITE_IMMEDIATE, SendOpcode.RDMA_WRITE_IMMEDIATE],
  [WorkOpcode.READ, SendOpcode.RDMA_READ],
  [WorkOpcode.COMPARE_SWAP, SendOpcode.COMPARE_SWAP],
  [WorkOpcode.FETCH_ADD, SendOpcode.FETCH_ADD],
  [WorkOpcode.UMR, CHANGE_KEY],
])
  sendOpcodes[work] = send;

/** Fences that wait for READs and atomics; requests that change keys are executed in order. */
const fences = new Uint8Array(8);
for (const mode of [FenceMode.FENCE, FenceMode.STRONG, FenceMode.SMALL_AND_FENCE]) fences[mode] = 1;

export class SendRequests implements RequestLoader<SendQueue> {
  readonly #vectors: AddressVectors;
  readonly #dma: Dma;
  readonly #request = new RequestBlock();
  readonly #command = new SendCommandBuilder(LIST_ELEMENTS_MAX);

  /** `dma`: places addresses of inline data that a command has no room for. */
  constructor(vectors: AddressVectors, dma: Dma) {
    this.#vectors = vectors;
    this.#dma = dma;
  }

  load(queue: SendQueue, number: number, buffer: PhysicalCollectBuffer): void {
    this.#command.begin(buffer, queue.qp.number, number);
    buffer.fault = this.#load(queue, number, buffer);
  }

  #load(queue: SendQueue, number: number, buffer: PhysicalCollectBuffer): FaultKind {
    const request = this.#request;
    const sizeBytes = queue.take(number, request);
    if (sizeBytes === 0) return queue.fault;
    const { view } = buffer;
    const opcode = sendOpcodes[getCtrlSegOpcode(request.view, 0)];
    if (opcode === UNKNOWN) return FaultKind.COMMAND_OPCODE;
    this.#command.setOpcode(buffer, opcode);
    setSendCommandSignaled(view, 0, getCtrlSegCompletion(request.view, 0) >= CompletionMode.ALWAYS ? 1 : 0);
    setSendCommandSolicited(view, 0, getCtrlSegSolicited(request.view, 0));
    setSendCommandFence(view, 0, fences[getCtrlSegFence(request.view, 0)]);
    setSendCommandImmediate(view, 0, getCtrlSegImmediate(request.view, 0));
    // The keys read a request that changes one again, when its turn comes.
    if (opcode === SendOpcode.NOP || opcode === CHANGE_KEY) return FaultKind.NONE;
    const at = this.#loadTarget(queue, opcode, buffer);
    if (at > sizeBytes) return FaultKind.COMMAND_SGE;
    return this.#loadData(queue, number, at, sizeBytes, buffer, !receivesData(opcode))
      ? this.#close(opcode, at, buffer)
      : FaultKind.COMMAND_SGE;
  }

  /** Loads what stands between the head and the data. Returns the offset of the data. */
  #loadTarget({ qp }: SendQueue, opcode: number, buffer: PhysicalCollectBuffer): number {
    const request = this.#request.view;
    let at = CTRL_SEG_SIZE;
    if (!qp.connected) {
      storeVector(this.#vectors, qp, buffer, request, at);
      this.#command.setDatagram(buffer, getAddressVectorRemoteQpn(request, at), getAddressVectorQkey(request, at) | 0);
      return at + ADDRESS_VECTOR_SIZE;
    }
    if (qp.serviceType === ServiceType.XRC_INITIATOR) {
      setSendCommandXrcSrqn(buffer.view, 0, getXrcSegXrcSrqn(request, at));
      at += XRC_SEG_SIZE;
    }
    if (!hasTarget(opcode)) return at;
    this.#command.setTarget(
      buffer,
      getRemoteAddressSegAddressHigh(request, at) | 0,
      getRemoteAddressSegAddressLow(request, at) | 0,
      getRemoteAddressSegRkey(request, at) | 0,
    );
    return at + REMOTE_ADDRESS_SEG_SIZE + (isAtomic(opcode) ? ATOMIC_SEG_SIZE : 0);
  }

  /**
   * Loads the pieces of data from `at` on. Returns false when one is wrong, or inline when none may
   * be.
   */
  #loadData(
    queue: SendQueue,
    number: number,
    at: number,
    sizeBytes: number,
    buffer: PhysicalCollectBuffer,
    mayBeInline: boolean,
  ): boolean {
    const request = this.#request.view;
    for (let next = at; next < sizeBytes; ) {
      const byteCount = getDataSegByteCount(request, next);
      if (getDataSegInline(request, next) === 0) {
        if (!this.#loadElement(next, byteCount, buffer)) return false;
        next += DATA_SEG_SIZE;
        continue;
      }
      const data = next + INLINE_HEAD_BYTES;
      if (!mayBeInline || data + byteCount > sizeBytes) return false;
      const end = roundUp(data + byteCount, PIECE_UNIT_BYTES);
      if (end >= sizeBytes && this.#command.takesInline(byteCount))
        this.#command.setInline(buffer, this.#request.bytes, data, byteCount);
      else if (!this.#loadInline(queue, number, data, byteCount, buffer)) return false;
      next = end;
    }
    return true;
  }

  /** A piece that names memory by a key. */
  #loadElement(at: number, byteCount: number, buffer: PhysicalCollectBuffer): boolean {
    const request = this.#request.view;
    const lkey = getDataSegLkey(request, at) | 0;
    if (lkey === SIGNED_QUEUE_KEY) return false;
    return this.#command.addElement(
      buffer,
      getDataSegAddressHigh(request, at) | 0,
      getDataSegAddressLow(request, at) | 0,
      byteCount || WHOLE_PIECE_BYTES,
      lkey,
    );
  }

  /** Inline data stay in the queue: elements name the pieces of its pages in which they lie. */
  #loadInline(
    queue: SendQueue,
    number: number,
    data: number,
    byteCount: number,
    buffer: PhysicalCollectBuffer,
  ): boolean {
    const dma = this.#dma;
    for (let done = 0; done < byteCount; ) {
      const piece = queue.place.locate(dma, number, data + done, byteCount - done);
      const { address } = dma;
      if (!this.#command.addElement(buffer, highDword(address) | 0, lowDword(address) | 0, piece, SIGNED_QUEUE_KEY))
        return false;
      done += piece;
    }
    return true;
  }

  #close(opcode: number, at: number, buffer: PhysicalCollectBuffer): FaultKind {
    const fault = this.#command.close(buffer);
    if (fault !== FaultKind.NONE || !isAtomic(opcode)) return fault;
    const request = this.#request.view;
    const operands = at - ATOMIC_SEG_SIZE;
    return this.#command.closeAtomic(
      buffer,
      getAtomicSegSwapOrAddHigh(request, operands) | 0,
      getAtomicSegSwapOrAddLow(request, operands) | 0,
      getAtomicSegCompareHigh(request, operands) | 0,
      getAtomicSegCompareLow(request, operands) | 0,
    );
  }
}

/** True for requests whose pieces take data: they lie behind keys, never in the queue. */
function receivesData(opcode: number): boolean {
  return isAtomic(opcode) || opcode === SendOpcode.RDMA_READ;
}
