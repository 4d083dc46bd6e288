// SPDX-License-Identifier: Apache-2.0
/**
 * Turns work requests of send queues into send commands (IBTA 11.4.1.1), which lanes and transport
 * execute: `SendQueues` calls it for each request. A request that is not consistent becomes a
 * command with a fault, which the transport reports in its turn.
 */

import { highDword, lowDword } from '../../../../protocol/layout/dwords.ts';
import {
  setAtomicOperandsCompareHigh,
  setAtomicOperandsCompareLow,
  setAtomicOperandsSwapOrAddHigh,
  setAtomicOperandsSwapOrAddLow,
} from '../../../../protocol/layout/gen/atomic-operands.gen.ts';
import {
  COMMAND_HEADER_BYTES,
  INLINE_MAX_BYTES,
  MESSAGE_MAX_BYTES,
  SGE_MAX,
} from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  setRdmaTargetRemoteAddressHigh,
  setRdmaTargetRemoteAddressLow,
  setRdmaTargetRkey,
} from '../../../../protocol/layout/gen/rdma-target.gen.ts';
import {
  SEND_COMMAND_SGE_ADDRESS_OFFSET,
  SEND_COMMAND_TARGET_OFFSET,
  setSendCommandCollectLength,
  setSendCommandFence,
  setSendCommandImmediate,
  setSendCommandInline,
  setSendCommandMessageLength,
  setSendCommandOpcode,
  setSendCommandQpn,
  setSendCommandSequence,
  setSendCommandSgeCount,
  setSendCommandSignaled,
  setSendCommandSolicited,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import {
  SGE_SIZE,
  setSgeAddressHigh,
  setSgeAddressLow,
  setSgeLength,
  setSgeLkey,
} from '../../../../protocol/layout/gen/sge.gen.ts';
import { setUdTargetQkey, setUdTargetRemoteQpn } from '../../../../protocol/layout/gen/ud-target.gen.ts';
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
  getDataSegmentByteCount,
  getDataSegmentIsInline,
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
import type { RequestLoader } from '../../shared/send-queues.ts';
import { REQUEST_UNIT_BYTES } from '../memory/queue-buffer.ts';
import { storeVector } from './datagram-vectors.ts';
import { copySegment } from './receive-segments.ts';
import type { SendQueue } from './send-queue.ts';

const UNKNOWN = 0xff;
/** Length of an inline segment, in front of its data. */
const INLINE_HEAD_BYTES = 4;
const COLLECT_UNIT = 8;
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
  /** Elements and bytes of the command that is being built. */
  #count = 0;
  #bytes = 0;

  constructor(vectors: AddressVectors) {
    this.#vectors = vectors;
  }

  load(queue: SendQueue, number: number, buffer: PhysicalCollectBuffer): void {
    const { view, words } = buffer;
    words.fill(0, 0, COMMAND_HEADER_BYTES / words.BYTES_PER_ELEMENT);
    setSendCommandQpn(view, 0, queue.qp.number);
    setSendCommandSequence(view, 0, number);
    setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES);
    this.#count = 0;
    this.#bytes = 0;
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
    setSendCommandOpcode(view, 0, opcode);
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
      setUdTargetRemoteQpn(buffer.view, SEND_COMMAND_TARGET_OFFSET, getDatagramSegmentQpn(request, at));
      setUdTargetQkey(buffer.view, SEND_COMMAND_TARGET_OFFSET, getDatagramSegmentQkey(request, at));
      return at + DATAGRAM_SEGMENT_SIZE;
    }
    if (!hasTarget(opcode)) return at;
    setRdmaTargetRemoteAddressHigh(buffer.view, SEND_COMMAND_TARGET_OFFSET, getRemoteSegmentAddressHigh(request, at));
    setRdmaTargetRemoteAddressLow(buffer.view, SEND_COMMAND_TARGET_OFFSET, getRemoteSegmentAddressLow(request, at));
    setRdmaTargetRkey(buffer.view, SEND_COMMAND_TARGET_OFFSET, getRemoteSegmentKey(request, at));
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
      const lengthBytes = isInline ? roundUp(byteCount + INLINE_HEAD_BYTES, REQUEST_UNIT_BYTES) : DATA_SEGMENT_SIZE;
      const data = next + INLINE_HEAD_BYTES;
      if (isInline && data + byteCount > sizeBytes) return false;
      const isOnly = next === at && next + lengthBytes >= sizeBytes;
      if (isInline && isOnly && byteCount <= INLINE_MAX_BYTES) {
        this.#copyInline(data, byteCount, buffer);
        return true;
      }
      if (this.#count === SGE_MAX) return false;
      const element = COMMAND_HEADER_BYTES + this.#count * SGE_SIZE;
      if (isInline) setElement(buffer.view, element, address + data, byteCount, key);
      else copySegment(request, next, buffer.view, element);
      this.#count++;
      this.#bytes += byteCount;
      next += lengthBytes;
    }
    return true;
  }

  #copyInline(from: number, byteCount: number, buffer: PhysicalCollectBuffer): void {
    const { bytes } = this.#request;
    for (let index = 0; index < byteCount; index++) buffer.bytes[COMMAND_HEADER_BYTES + index] = bytes[from + index];
    setSendCommandInline(buffer.view, 0, 1);
    setSendCommandCollectLength(buffer.view, 0, COMMAND_HEADER_BYTES + roundUp(byteCount, COLLECT_UNIT));
    this.#bytes = byteCount;
  }

  /** Sets counts and lengths. A single element stands in the head of the command. */
  #close(opcode: number, at: number, buffer: PhysicalCollectBuffer): FaultKind {
    const { view, bytes } = buffer;
    if (this.#bytes > MESSAGE_MAX_BYTES) return FaultKind.COMMAND_LENGTH;
    setSendCommandMessageLength(view, 0, this.#bytes);
    setSendCommandSgeCount(view, 0, this.#count);
    if (this.#count === 1)
      bytes.copyWithin(SEND_COMMAND_SGE_ADDRESS_OFFSET, COMMAND_HEADER_BYTES, COMMAND_HEADER_BYTES + SGE_SIZE);
    else if (this.#count > 1) setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES + this.#count * SGE_SIZE);
    if (!isAtomic(opcode)) return FaultKind.NONE;
    if (this.#count !== 1) return FaultKind.COMMAND_SGE;
    this.#loadOperands(at - ATOMIC_SEGMENT_SIZE, view);
    return FaultKind.NONE;
  }

  #loadOperands(at: number, view: DataView): void {
    const request = this.#request.view;
    setAtomicOperandsSwapOrAddHigh(view, COMMAND_HEADER_BYTES, getAtomicSegmentSwapOrAddHigh(request, at));
    setAtomicOperandsSwapOrAddLow(view, COMMAND_HEADER_BYTES, getAtomicSegmentSwapOrAddLow(request, at));
    setAtomicOperandsCompareHigh(view, COMMAND_HEADER_BYTES, getAtomicSegmentCompareHigh(request, at));
    setAtomicOperandsCompareLow(view, COMMAND_HEADER_BYTES, getAtomicSegmentCompareLow(request, at));
    setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES + ATOMIC_SEGMENT_SIZE);
  }
}

function isAtomic(opcode: number): boolean {
  return opcode === SendOpcode.COMPARE_SWAP || opcode === SendOpcode.FETCH_ADD;
}

function hasTarget(opcode: number): boolean {
  return (
    isAtomic(opcode) ||
    opcode === SendOpcode.RDMA_WRITE ||
    opcode === SendOpcode.RDMA_WRITE_IMMEDIATE ||
    opcode === SendOpcode.RDMA_READ
  );
}

function setElement(view: DataView, base: number, address: number, lengthBytes: number, key: number): void {
  setSgeAddressHigh(view, base, highDword(address));
  setSgeAddressLow(view, base, lowDword(address));
  setSgeLength(view, base, lengthBytes);
  setSgeLkey(view, base, key);
}

function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}
