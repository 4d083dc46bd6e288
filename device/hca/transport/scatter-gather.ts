// SPDX-License-Identifier: Apache-2.0
/**
 * A scatter/gather list (IBTA 10.2.6): decoded from a command or a receive WQE, all keys checked
 * before any byte moves, then copied from or to guest memory. Keys are checked again for every
 * piece: software may invalidate one between two packets of a message (IBTA 10.6.7). Used by
 * both requesters and both responders.
 */
import { joinDwords } from '../../../protocol/layout/dwords.ts';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  getSendCommandMessageLength,
  getSendCommandSgeAddressHigh,
  getSendCommandSgeAddressLow,
  getSendCommandSgeCount,
  getSendCommandSgeLength,
  getSendCommandSgeLkey,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  getSgeAddressHigh,
  getSgeAddressLow,
  getSgeLength,
  getSgeLkey,
  SGE_SIZE,
} from '../../../protocol/layout/gen/sge.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { WordBlock } from '../../host.ts';
import { bytesBehindHeader, LIST_ELEMENTS_MAX } from '../collect/physical-collect-buffer.ts';
import type { KeyLookup, RegionPort } from '../protection/key-lookup.ts';
import { foldHigh } from '../protection/virtual-address.ts';
import type { QueuePair } from '../queues/queue-pair.ts';

/** Elements for which a list has room from the start; V8 keeps such short arrays with the list. */
const SHORT_LIST = 4;

export class ScatterGatherList {
  /** Sum of the lengths. */
  totalBytes = 0;
  #count = 0;
  #addresses = new Float64Array(SHORT_LIST);
  #lengths = new Float64Array(SHORT_LIST);
  /** As signed dwords: an unsigned one can be a heap number. */
  #keys = new Int32Array(SHORT_LIST);
  #keyCheck!: KeyLookup;
  #access = 0;

  clear(): void {
    this.#count = 0;
    this.totalBytes = 0;
  }

  /** Appends `count` elements, at most `LIST_ELEMENTS_MAX` in all, that are adjacent at `base`. */
  addFrom(view: DataView, base: number, count: number): void {
    if (this.#count + count > this.#keys.length) this.#grow();
    for (let index = 0; index < count; index++) {
      const at = base + index * SGE_SIZE;
      // Written in place: from 2^31 on, a result of `getSgeAddress` would be a heap number.
      this.#addresses[this.#count] = joinDwords(getSgeAddressLow(view, at), foldHigh(getSgeAddressHigh(view, at)));
      this.#close(getSgeLength(view, at), getSgeLkey(view, at) | 0);
    }
  }

  /**
   * Replaces the list by that of a send command: one element is in the header, several follow it
   * (IBTA 11.4.1.1). Returns false when there are too many, when they do not fit the command, or
   * when their sum is not the message length.
   */
  loadCommand(view: DataView): boolean {
    this.clear();
    const count = getSendCommandSgeCount(view, 0);
    if (count > 1 && count * SGE_SIZE > bytesBehindHeader(view)) return false;
    if (count === 1) {
      this.#addresses[0] = joinDwords(
        getSendCommandSgeAddressLow(view, 0),
        foldHigh(getSendCommandSgeAddressHigh(view, 0)),
      );
      this.#close(getSendCommandSgeLength(view, 0), getSendCommandSgeLkey(view, 0) | 0);
    } else this.addFrom(view, COMMAND_HEADER_BYTES, count);
    return this.totalBytes === getSendCommandMessageLength(view, 0);
  }

  /** Makes room for the longest list, once. */
  #grow(): void {
    const [addresses, lengths, keys] = [this.#addresses, this.#lengths, this.#keys];
    this.#addresses = new Float64Array(LIST_ELEMENTS_MAX);
    this.#lengths = new Float64Array(LIST_ELEMENTS_MAX);
    this.#keys = new Int32Array(LIST_ELEMENTS_MAX);
    this.#addresses.set(addresses);
    this.#lengths.set(lengths);
    this.#keys.set(keys);
  }

  /** Appends the element whose address is written. */
  #close(lengthBytes: number, key: number): void {
    this.#lengths[this.#count] = lengthBytes;
    this.#keys[this.#count] = key;
    this.#count++;
    this.totalBytes += lengthBytes;
  }

  /**
   * Read requests of at most `requestBytes` for `lengthBytes` from `listOffset` on; each element
   * needs its own.
   */
  countRequests(listOffset: number, lengthBytes: number, requestBytes: number): number {
    let skip = listOffset;
    let left = lengthBytes;
    let requests = 0;
    for (let index = 0; index < this.#count && left > 0; index++) {
      const piece = Math.min(Math.max(0, this.#lengths[index] - skip), left);
      requests += Math.ceil(piece / requestBytes);
      left -= piece;
      skip = Math.max(0, skip - this.#lengths[index]);
    }
    return requests;
  }

  /** Checks every non-empty element for the rights of `access`. Returns NONE or the fault. */
  check(qp: QueuePair, keys: KeyLookup, access: number): FaultKind {
    this.#keyCheck = keys;
    this.#access = access;
    for (let index = 0; index < this.#count; index++) {
      // Keys of empty elements are not checked (IBTA 10.2.6).
      if (this.#lengths[index] === 0) continue;
      if (this.#find(qp, index, 0, this.#lengths[index]) === undefined) return keys.fault;
    }
    return FaultKind.NONE;
  }

  /**
   * Copies `lengthBytes` of the checked list from `listOffset` to `target`. Returns false when
   * memory cannot be read or a key is invalid by now.
   */
  gatherPart(qp: QueuePair, listOffset: number, lengthBytes: number, target: WordBlock, targetOffset: number): boolean {
    return this.#copy(qp, listOffset, lengthBytes, target, targetOffset, false);
  }

  /**
   * Copies `lengthBytes` to the checked list, `listOffset` bytes into it. Returns false as above.
   */
  scatter(qp: QueuePair, listOffset: number, source: WordBlock, sourceOffset: number, lengthBytes: number): boolean {
    return this.#copy(qp, listOffset, lengthBytes, source, sourceOffset, true);
  }

  /** Copies between the list, element by element, and `block`: to the list if it `scatters`. */
  #copy(
    qp: QueuePair,
    listOffset: number,
    lengthBytes: number,
    block: WordBlock,
    blockOffset: number,
    scatters: boolean,
  ): boolean {
    const { dma } = qp.owner;
    let skip = listOffset;
    let done = 0;
    for (let index = 0; index < this.#count && done < lengthBytes; index++) {
      const length = this.#lengths[index];
      if (skip >= length) {
        skip -= length;
        continue;
      }
      const piece = Math.min(length - skip, lengthBytes - done);
      const region = this.#find(qp, index, skip, piece);
      const isCopied = scatters
        ? region?.write(dma, qp, piece, block, blockOffset + done)
        : region?.read(dma, qp, piece, block, blockOffset + done);
      if (!isCopied) {
        this.#widen(index);
        return false;
      }
      done += piece;
      skip = 0;
    }
    return true;
  }

  /** If the access has missed a page: the message will access the rest of the element, too. */
  #widen(index: number): void {
    this.#keyCheck.pageFaults.widen(this.#addresses[index], this.#lengths[index]);
  }

  /**
   * The region of a piece of element `index`, with the function's DMA set to the address of the
   * piece; undefined, with a fault, when its key forbids it.
   */
  #find(qp: QueuePair, index: number, skip: number, lengthBytes: number): RegionPort | undefined {
    const keys = this.#keyCheck;
    const address = this.#addresses[index] + skip;
    const region = keys.at(address).check(qp.owner, qp.pd, this.#keys[index], lengthBytes, this.#access);
    if (region === undefined) qp.owner.faults.report(keys.fault, qp, address);
    else qp.owner.dma.at(address);
    return region;
  }
}
