// SPDX-License-Identifier: Apache-2.0
/**
 * Builds the send command (`protocol/layout/gen/send-command.gen.ts`) that a work request stands
 * for (IBTA 11.4.1.1). The loader of requests of a personality calls it piece by piece, in the
 * order of the methods. Dwords of addresses, keys and operands may be signed, and callers give
 * signed ones: V8 allocates for larger numbers.
 */
import {
  ATOMIC_OPERANDS_SIZE,
  setAtomicOperandsCompareHigh,
  setAtomicOperandsCompareLow,
  setAtomicOperandsSwapOrAddHigh,
  setAtomicOperandsSwapOrAddLow,
} from '../../../protocol/layout/gen/atomic-operands.gen.ts';
import {
  COMMAND_HEADER_BYTES,
  INLINE_MAX_BYTES,
  MESSAGE_MAX_BYTES,
  SGE_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import {
  setRdmaTargetRemoteAddressHigh,
  setRdmaTargetRemoteAddressLow,
  setRdmaTargetRkey,
} from '../../../protocol/layout/gen/rdma-target.gen.ts';
import {
  SEND_COMMAND_SGE_ADDRESS_OFFSET,
  SEND_COMMAND_TARGET_OFFSET,
  setSendCommandCollectLength,
  setSendCommandInline,
  setSendCommandMessageLength,
  setSendCommandOpcode,
  setSendCommandQpn,
  setSendCommandSequence,
  setSendCommandSgeCount,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { SGE_SIZE } from '../../../protocol/layout/gen/sge.gen.ts';
import { setUdTargetQkey, setUdTargetRemoteQpn } from '../../../protocol/layout/gen/ud-target.gen.ts';
import { FaultKind, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../../hca/collect/physical-collect-buffer.ts';
import { storeElement } from './list-element.ts';

/** Lengths of commands are multiples of it. */
const COLLECT_UNIT = 8;

export class SendCommandBuilder {
  /** Elements of the longest gather list; at most `LIST_ELEMENTS_MAX`. */
  readonly #elementsMax: number;
  /** Elements and bytes of the command that is being built. */
  #count = 0;
  #bytes = 0;

  constructor(elementsMax: number) {
    this.#elementsMax = elementsMax;
  }

  /** Begins the command of request `number`. The caller then sets flags and immediate data. */
  begin({ view, words }: PhysicalCollectBuffer, qpn: number, number: number): void {
    words.fill(0, 0, COMMAND_HEADER_BYTES / words.BYTES_PER_ELEMENT);
    setSendCommandQpn(view, 0, qpn);
    setSendCommandSequence(view, 0, number);
    setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES);
    this.#count = 0;
    this.#bytes = 0;
  }

  setOpcode({ view }: PhysicalCollectBuffer, opcode: number): void {
    setSendCommandOpcode(view, 0, opcode);
  }

  /** The other end of a datagram. */
  setDatagram({ view }: PhysicalCollectBuffer, remoteQpn: number, qkey: number): void {
    setUdTargetRemoteQpn(view, SEND_COMMAND_TARGET_OFFSET, remoteQpn);
    setUdTargetQkey(view, SEND_COMMAND_TARGET_OFFSET, qkey);
  }

  /** Memory of the other end. */
  setTarget({ view }: PhysicalCollectBuffer, addressHigh: number, addressLow: number, rkey: number): void {
    setRdmaTargetRemoteAddressHigh(view, SEND_COMMAND_TARGET_OFFSET, addressHigh);
    setRdmaTargetRemoteAddressLow(view, SEND_COMMAND_TARGET_OFFSET, addressLow);
    setRdmaTargetRkey(view, SEND_COMMAND_TARGET_OFFSET, rkey);
  }

  /** True when the command itself has room for inline data: they are all its data. */
  takesInline(byteCount: number): boolean {
    return this.#count === 0 && this.#bytes === 0 && byteCount <= INLINE_MAX_BYTES;
  }

  /** Inline data: `byteCount` bytes at `from`, after `takesInline` returned true. */
  setInline({ view, bytes }: PhysicalCollectBuffer, source: Uint8Array, from: number, byteCount: number): void {
    for (let index = 0; index < byteCount; index++) bytes[COMMAND_HEADER_BYTES + index] = source[from + index];
    setSendCommandInline(view, 0, 1);
    setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES + roundUp(byteCount, COLLECT_UNIT));
    this.#bytes = byteCount;
  }

  /** Appends an element of the gather list. Returns false when the list is full. */
  addElement(
    { view }: PhysicalCollectBuffer,
    addressHigh: number,
    addressLow: number,
    lengthBytes: number,
    lkey: number,
  ): boolean {
    if (this.#count === this.#elementsMax) return false;
    const base = COMMAND_HEADER_BYTES + this.#count * SGE_SIZE;
    storeElement(view, base, addressHigh, addressLow, lengthBytes, lkey);
    this.#count++;
    this.#bytes += lengthBytes;
    return true;
  }

  /**
   * Sets counts and lengths. A single element stands in the head of the command. The length of a
   * command with more than `SGE_MAX` elements is 0 (`bytesBehindHeader`).
   */
  close({ view, bytes }: PhysicalCollectBuffer): FaultKind {
    if (this.#bytes > MESSAGE_MAX_BYTES) return FaultKind.COMMAND_LENGTH;
    setSendCommandMessageLength(view, 0, this.#bytes);
    setSendCommandSgeCount(view, 0, this.#count);
    if (this.#count === 1)
      bytes.copyWithin(SEND_COMMAND_SGE_ADDRESS_OFFSET, COMMAND_HEADER_BYTES, COMMAND_HEADER_BYTES + SGE_SIZE);
    else if (this.#count > SGE_MAX) setSendCommandCollectLength(view, 0, 0);
    else if (this.#count > 1) setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES + this.#count * SGE_SIZE);
    return FaultKind.NONE;
  }

  /** The operands of an atomic, whose only element is in the head; after `close`. */
  closeAtomic(
    { view }: PhysicalCollectBuffer,
    swapOrAddHigh: number,
    swapOrAddLow: number,
    compareHigh: number,
    compareLow: number,
  ): FaultKind {
    if (this.#count !== 1) return FaultKind.COMMAND_SGE;
    setAtomicOperandsSwapOrAddHigh(view, COMMAND_HEADER_BYTES, swapOrAddHigh);
    setAtomicOperandsSwapOrAddLow(view, COMMAND_HEADER_BYTES, swapOrAddLow);
    setAtomicOperandsCompareHigh(view, COMMAND_HEADER_BYTES, compareHigh);
    setAtomicOperandsCompareLow(view, COMMAND_HEADER_BYTES, compareLow);
    setSendCommandCollectLength(view, 0, COMMAND_HEADER_BYTES + ATOMIC_OPERANDS_SIZE);
    return FaultKind.NONE;
  }
}

export function isAtomic(opcode: number): boolean {
  return opcode === SendOpcode.COMPARE_SWAP || opcode === SendOpcode.FETCH_ADD;
}

/** True for operations on memory of the other end. */
export function hasTarget(opcode: number): boolean {
  return (
    isAtomic(opcode) ||
    opcode === SendOpcode.RDMA_WRITE ||
    opcode === SendOpcode.RDMA_WRITE_IMMEDIATE ||
    opcode === SendOpcode.RDMA_READ
  );
}

/** The least multiple of `unit` that is not below `value`. */
export function roundUp(value: number, unit: number): number {
  return Math.ceil(value / unit) * unit;
}
