// SPDX-License-Identifier: Apache-2.0
/**
 * Executes atomic operations on 8 aligned bytes of guest memory, atomic with respect to each other
 * within the adapter (IBTA 9.4.5, 10.7.2.4). Called by the execution of requests.
 */

import {
  getAtomicEthCompareHigh,
  getAtomicEthCompareLow,
  getAtomicEthRKey,
  getAtomicEthSwapOrAddHigh,
  getAtomicEthSwapOrAddLow,
  getAtomicEthVirtualAddressHigh,
  getAtomicEthVirtualAddressLow,
} from '../../../../protocol/infiniband/gen/atomic-eth.gen.ts';
import { BthOpcode } from '../../../../protocol/infiniband/gen/values.gen.ts';
import { OPERATION_MASK } from '../../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../../protocol/infiniband/packet.ts';
import { highDword, joinDwords } from '../../../../protocol/layout/dwords.ts';
import { AccessFlag, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import { foldHigh } from '../../protection/virtual-address.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';

const OPERAND_BYTES = 8;

export class AtomicUnit {
  /** Address of the last operation. */
  address = 0;
  /** Value that the last operation found. */
  originalHigh = 0;
  originalLow = 0;
  readonly #keys: KeyLookup;
  readonly #words = new Int32Array(OPERAND_BYTES / 4);
  readonly #value = { bytes: new Uint8Array(this.#words.buffer), words: this.#words };
  readonly #view = new DataView(this.#words.buffer);

  constructor(keys: KeyLookup) {
    this.#keys = keys;
  }

  /**
   * Executes the atomic request of a packet. Returns NONE or the fault; COMMAND_LENGTH stands for a
   * misaligned address.
   */
  perform(qp: QueuePair, view: DataView, packet: Readonly<ParsedPacket>): FaultKind {
    const at = packet.atomicEthOffset;
    const address = joinDwords(
      getAtomicEthVirtualAddressLow(view, at),
      foldHigh(getAtomicEthVirtualAddressHigh(view, at)),
    );
    this.address = address;
    if (address % OPERAND_BYTES !== 0) return FaultKind.COMMAND_LENGTH;
    if ((qp.attributes.access & AccessFlag.REMOTE_ATOMIC) === 0) return FaultKind.KEY_ACCESS;
    const keys = this.#keys;
    const rkey = getAtomicEthRKey(view, at);
    const region = keys.at(address).checkRemote(qp, rkey, OPERAND_BYTES, AccessFlag.REMOTE_ATOMIC);
    if (region === undefined) return keys.fault;
    const { dma } = region.owner;
    if (!region.read(dma.at(address), qp, OPERAND_BYTES, this.#value, 0)) return FaultKind.DMA_READ;
    this.originalLow = this.#view.getUint32(0, true);
    this.originalHigh = this.#view.getUint32(4, true);
    const swaps = (packet.opcode & OPERATION_MASK) === (BthOpcode.RC_COMPARE_SWAP & OPERATION_MASK);
    if (!(swaps ? this.#compareSwap(view, at) : this.#add(view, at))) return FaultKind.NONE;
    return region.store(dma.at(address), qp, this.#value) ? FaultKind.NONE : FaultKind.DMA_WRITE;
  }

  /** Leaves the new value in the buffer. Returns false when nothing is to be written. */
  #compareSwap(view: DataView, at: number): boolean {
    if (this.originalLow !== getAtomicEthCompareLow(view, at)) return false;
    if (this.originalHigh !== getAtomicEthCompareHigh(view, at)) return false;
    this.#view.setUint32(0, getAtomicEthSwapOrAddLow(view, at), true);
    this.#view.setUint32(4, getAtomicEthSwapOrAddHigh(view, at), true);
    return true;
  }

  #add(view: DataView, at: number): boolean {
    const low = this.originalLow + getAtomicEthSwapOrAddLow(view, at);
    this.#view.setUint32(0, low, true);
    this.#view.setUint32(4, this.originalHigh + getAtomicEthSwapOrAddHigh(view, at) + highDword(low), true);
    return true;
  }
}
