// SPDX-License-Identifier: Apache-2.0
/**
 * Turns work requests of send queues into send commands (IBTA 11.4.1.1), which lanes and transport
 * execute: `SendQueues` calls it for each request. A request that is not consistent becomes a
 * command with a fault, which the transport reports in its turn.
 */
import { highDword, lowDword } from '../../../../protocol/layout/dwords.ts';
import { SGE_MAX } from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  setSendCommandFence,
  setSendCommandImmediate,
  setSendCommandSignaled,
  setSendCommandSolicited,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, SendOpcode, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  ATOMIC_SEGMENT_SIZE,
  getAtomicSegmentCompareHigh,
  getAtomicSegmentCompareLow,
  getAtomicSegmentSwapOrAddHigh,
  getAtomicSegmentSwapOrAddLow,
} from '../../../../protocol/mthca/gen/atomic-segment.gen.ts';
import {
  DATA_SEGMENT_SIZE,
  getDataSegmentAddressHigh,
  getDataSegmentAddressLow,
  getDataSegmentByteCount,
  getDataSegmentIsInline,
  getDataSegmentKey,
} from '../../../../protocol/mthca/gen/data-segment.gen.ts';
import {
  DATAGRAM_SEGMENT_SIZE,
  getDatagramSegmentQkey,
  getDatagramSegmentQpn,
} from '../../../../protocol/mthca/gen/datagram-segment.gen.ts';
import {
  getNextSegmentImmediate,
  getNextSegmentSignaled,
  getNextSegmentSolicited,
  NEXT_SEGMENT_SIZE,
} from '../../../../protocol/mthca/gen/next-segment.gen.ts';
import {
  getRemoteSegmentAddressHigh,
  getRemoteSegmentAddressLow,
  getRemoteSegmentKey,
  REMOTE_SEGMENT_SIZE,
} from '../../../../protocol/mthca/gen/remote-segment.gen.ts';
import { WorkOpcode } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../../../hca/collect/physical-collect-buffer.ts';
import type { AddressVectors } from '../../shared/address-vectors.ts';
import { RequestBlock } from '../../shared/request-block.ts';
import { hasTarget, isAtomic, roundUp, SendCommandBuilder } from '../../shared/send-command-builder.ts';
import type { RequestLoader } from '../../shared/send-queues.ts';
import { REQUEST_UNIT_BYTES } from '../memory/queue-buffer.ts';
import { storeVector } from './datagram-vectors.ts';
import type { SendQueue } from './send-queue.ts';

const UNKNOWN = 0xff;
/** Length of an inline segment, in front of its data. */
export const INLINE_HEAD_BYTES = 4;
/** The head of a request, which software writes when it posts the next one. */
const LINK_BYTES = 8;

const sendOpcodes = new Uint8Array(32).fill(UNKNOWN);
for (const [work, send] of [
  [WorkOpcode.NOP, SendOpcode.NOP],
  [WorkOpcode.SEND, SendOpcode.SEND],
  [WorkOpcode.SEND_IMMEDIATE, SendOpcode.SEND_IMMEDIATE],
  [WorkOpcode.RDMA_WRITE, SendOpcode.RDMA_WRITE],
  [WorkOpcode.RDMA_WRITE_IMMEDIATE, SendOpcode.RDMA_WRITE_IMMEDIATE],
  [WorkOpcode.RDMA_READ, SendOpcode.RDMA_READ],
  [WorkOpcode.COMPARE_AND_SWAP, SendOpcode.COMPARE_SWAP],
  [WorkOpcode.FETCH_AND_ADD, SendOpcode.FETCH_ADD],
])
  sendOpcodes[work] = send;

export class SendRequests implements RequestLoader<SendQueue> {
  readonly #vectors: AddressVectors;
  readonly #request = new RequestBlock();
  readonly #command = new SendCommandBuilder(SGE_MAX);

  constructor(vectors: AddressVectors) {
    this.#vectors = vectors;
  }

  load(queue: SendQueue, number: number, buffer: PhysicalCollectBuffer): void {
    this.#command.begin(buffer, queue.qp.number, number);
    buffer.fault = this.#load(queue, number, buffer);
  }

  #load(queue: SendQueue, number: number, buffer: PhysicalCollectBuffer): FaultKind {
    const request = this.#request;
    const sizeBytes = queue.sizeBytesOf(number);
    const { strideBytes, buffer: memory } = queue.place;
    if (sizeBytes < NEXT_SEGMENT_SIZE || sizeBytes > strideBytes) return FaultKind.COMMAND_SGE;
    const fault = memory.read(queue.qp, queue.place.offsetOf(number), sizeBytes, request);
    if (fault !== FaultKind.NONE) return fault;
    queue.qp.owner.announced?.take('work request', queue.qp, number, request.bytes, sizeBytes, LINK_BYTES);
    queue.noteNext(number, request.view);
    const opcode = sendOpcodes[queue.opcodeOf(number)];
    if (opcode === UNKNOWN) return FaultKind.COMMAND_OPCODE;
    const { view } = buffer;
    this.#command.setOpcode(buffer, opcode);
    setSendCommandSignaled(view, 0, getNextSegmentSignaled(request.view, 0));
    setSendCommandSolicited(view, 0, getNextSegmentSolicited(request.view, 0));
    setSendCommandFence(view, 0, queue.isFenced(number) ? 1 : 0);
    setSendCommandImmediate(view, 0, getNextSegmentImmediate(request.view, 0));
    const at = this.#loadTarget(queue, opcode, buffer);
    if (at > sizeBytes) return FaultKind.COMMAND_SGE;
    return this.#loadData(memory.addressOf(queue.place.offsetOf(number)), memory.key, at, sizeBytes, buffer)
      ? this.#close(opcode, at, buffer)
      : FaultKind.COMMAND_SGE;
  }

  /** Loads what stands between the head and the data. Returns the offset of the data. */
  #loadTarget(queue: SendQueue, opcode: number, buffer: PhysicalCollectBuffer): number {
    const request = this.#request.view;
    const at = NEXT_SEGMENT_SIZE;
    if (queue.qp.serviceType === ServiceType.UD) {
      storeVector(this.#vectors, buffer, request, at);
      this.#command.setDatagram(buffer, getDatagramSegmentQpn(request, at), getDatagramSegmentQkey(request, at));
      return at + DATAGRAM_SEGMENT_SIZE;
    }
    if (!hasTarget(opcode)) return at;
    this.#command.setTarget(
      buffer,
      getRemoteSegmentAddressHigh(request, at) | 0,
      getRemoteSegmentAddressLow(request, at) | 0,
      getRemoteSegmentKey(request, at) | 0,
    );
    return at + REMOTE_SEGMENT_SIZE + (isAtomic(opcode) ? ATOMIC_SEGMENT_SIZE : 0);
  }

  /**
   * Loads the data segments from `at` on. `address`, `key`: of the request in guest memory, where
   * inline data are read that the command has no room for. Returns false when a segment is wrong.
   */
  #loadData(address: number, key: number, at: number, sizeBytes: number, buffer: PhysicalCollectBuffer): boolean {
    const request = this.#request.view;
    let next = at;
    while (next < sizeBytes) {
      const byteCount = getDataSegmentByteCount(request, next);
      const isInline = getDataSegmentIsInline(request, next) === 1;
      const lengthBytes = isInline ? inlineBytes(byteCount) : DATA_SEGMENT_SIZE;
      const data = next + INLINE_HEAD_BYTES;
      if (isInline && data + byteCount > sizeBytes) return false;
      const isOnly = next === at && next + lengthBytes >= sizeBytes;
      if (isInline && isOnly && this.#command.takesInline(byteCount)) {
        this.#command.setInline(buffer, this.#request.bytes, data, byteCount);
        return true;
      }
      const isAdded = isInline
        ? this.#command.addElement(
            buffer,
            highDword(address + data) | 0,
            lowDword(address + data) | 0,
            byteCount,
            key | 0,
          )
        : this.#command.addElement(
            buffer,
            getDataSegmentAddressHigh(request, next) | 0,
            getDataSegmentAddressLow(request, next) | 0,
            byteCount,
            getDataSegmentKey(request, next) | 0,
          );
      if (!isAdded) return false;
      next += lengthBytes;
    }
    return true;
  }

  #close(opcode: number, at: number, buffer: PhysicalCollectBuffer): FaultKind {
    const fault = this.#command.close(buffer);
    if (fault !== FaultKind.NONE || !isAtomic(opcode)) return fault;
    const request = this.#request.view;
    const operands = at - ATOMIC_SEGMENT_SIZE;
    return this.#command.closeAtomic(
      buffer,
      getAtomicSegmentSwapOrAddHigh(request, operands) | 0,
      getAtomicSegmentSwapOrAddLow(request, operands) | 0,
      getAtomicSegmentCompareHigh(request, operands) | 0,
      getAtomicSegmentCompareLow(request, operands) | 0,
    );
  }
}

/** Bytes of an inline segment in its request. */
export function inlineBytes(byteCount: number): number {
  return roundUp(byteCount + INLINE_HEAD_BYTES, REQUEST_UNIT_BYTES);
}
