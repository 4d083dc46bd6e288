// SPDX-License-Identifier: Apache-2.0
/**
 * Send blocks of one context, used as a FIFO (US 2015/0378953 claim 1, implementing and receiving).
 * A scoreboard with one bit for each byte shows when a packet is complete, in whatever order its
 * blocks were filled. The order of packets gives the block at which each must start. Blocks are
 * numbered by their place in the context, which is the only user.
 */
import { SEND_BLOCK_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { getSendControlLengthDwords, SEND_CONTROL_SIZE } from '../../../protocol/layout/gen/send-control.gen.ts';
import { SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import { PACKET_SLOT_BYTES } from '../../fabric/port/packet-ring.ts';
import { storeBytes } from '../memory/byte-scoreboard.ts';

/** Alias of the first write to a block: none yet, the start-of-packet alias, or the other one. */
const Alias = { NONE: 0, START: 1, CONTINUATION: 2 } as const;

const DWORD_BYTES = 4;
const ALL_BYTES = -1;
/** LRH, BTH and DETH: the bytes of the shortest packet without CRCs. */
const SHORTEST_PACKET_BYTES = 28;

/** The life of a block. Of those that have left, `SendContext` knows. */
export const SendBlockState = { FREE: 0, FILLING: 1, COMPLETE: 2, LEFT: 3 } as const;
export type SendBlockState = (typeof SendBlockState)[keyof typeof SendBlockState];

/** The blocks of one context and their bytes. */
export class SendBlocks {
  readonly count: number;
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly #alias: Uint8Array;
  /** Two words for each block: a bit for every byte that has arrived. */
  readonly #arrived: Int32Array;
  /** 1 when the block belongs to a complete packet that has not been freed in order. */
  readonly #taken: Uint8Array;
  /**
   * Number of blocks from the oldest one in use on that belong to packets of known length, in a
   * row.
   */
  #known = 0;
  #oldest = 0;

  constructor(count: number) {
    this.count = count;
    this.bytes = new Uint8Array(count * SEND_BLOCK_BYTES);
    this.view = new DataView(this.bytes.buffer);
    this.#alias = new Uint8Array(count);
    this.#arrived = new Int32Array(count * 2);
    this.#taken = new Uint8Array(count);
  }

  /** Frees all blocks. */
  clear(): void {
    this.#alias.fill(Alias.NONE);
    this.#arrived.fill(0);
    this.#taken.fill(0);
    this.#known = 0;
    this.#oldest = 0;
  }

  /**
   * Stores aligned data at a byte offset of the context. Returns NONE, or the cause for which the
   * context must halt; the write is then dropped.
   */
  store(offset: number, sizeBytes: number, low: number, high: number, start: boolean): SendHaltCause {
    const block = Math.floor(offset / SEND_BLOCK_BYTES);
    if (this.#taken[block] === 1) return SendHaltCause.OVERFLOW;
    const alias = start ? Alias.START : Alias.CONTINUATION;
    if (this.#alias[block] === Alias.NONE) {
      if (start && this.#isInside(block)) return SendHaltCause.INCONSISTENT_SOP;
      this.#alias[block] = alias;
    } else if (this.#alias[block] !== alias) return SendHaltCause.INCONSISTENT_SOP;
    storeBytes(this.view, this.#arrived, offset, sizeBytes, low, high);
    if (start && offset % SEND_BLOCK_BYTES < SEND_CONTROL_SIZE && this.#isControlKnown(block) && !this.#fits(block))
      return SendHaltCause.BAD_LENGTH;
    return this.#follow();
  }

  /**
   * Returns the first block of the packet that the block at this byte offset has completed, or -1.
   * The blocks of that packet are in use from now on.
   */
  takeWhole(offset: number): number {
    let block = Math.floor(offset / SEND_BLOCK_BYTES);
    if (!this.#isFull(block)) return -1;
    // It ends: the first block behind packets of known length is no continuation (`#follow`).
    while (this.#alias[block] === Alias.CONTINUATION) block = this.#before(block);
    if (!this.#isFull(block)) return -1;
    const length = this.lengthOf(block);
    for (let index = 0, at = block; index < length; index++, at = this.#after(at)) {
      const alias = index === 0 ? Alias.START : Alias.CONTINUATION;
      if (this.#taken[at] === 1 || this.#alias[at] !== alias || !this.#isFull(at)) return -1;
    }
    for (let index = 0, at = block; index < length; index++, at = this.#after(at)) this.#taken[at] = 1;
    return block;
  }

  /** The state of a block whose packet has not left. */
  stateOf(block: number): SendBlockState {
    if (this.#taken[block] === 1) return SendBlockState.COMPLETE;
    return this.#alias[block] === Alias.NONE ? SendBlockState.FREE : SendBlockState.FILLING;
  }

  /** Number of blocks of the packet that starts here; its control word must be known. */
  lengthOf(block: number): number {
    return Math.ceil(this.packetBytes(block) / SEND_BLOCK_BYTES);
  }

  /** Bytes of the packet that starts here, with its control word. */
  packetBytes(block: number): number {
    return getSendControlLengthDwords(this.view, block * SEND_BLOCK_BYTES) * DWORD_BYTES;
  }

  /** Copies the packet that starts here, without its control word. Returns its length in bytes. */
  copyPacket(block: number, target: Uint8Array): number {
    const length = this.packetBytes(block) - SEND_CONTROL_SIZE;
    const size = this.bytes.length;
    let at = block * SEND_BLOCK_BYTES + SEND_CONTROL_SIZE;
    for (let index = 0; index < length; index++, at++) {
      if (at === size) at = 0;
      target[index] = this.bytes[at];
    }
    return length;
  }

  /** Frees the oldest `count` blocks. */
  release(count: number): void {
    for (let index = 0; index < count; index++) {
      const block = this.#oldest;
      this.#alias[block] = Alias.NONE;
      this.#arrived[block * 2] = 0;
      this.#arrived[block * 2 + 1] = 0;
      this.#taken[block] = 0;
      this.#oldest = this.#after(block);
    }
    this.#known -= count;
  }

  /**
   * Steps from packet to packet as far as their lengths are known, and checks that each starts
   * where the one before ends.
   */
  #follow(): SendHaltCause {
    while (this.#known < this.count) {
      const block = (this.#oldest + this.#known) % this.count;
      if (this.#alias[block] === Alias.NONE) break;
      if (this.#alias[block] === Alias.CONTINUATION) return SendHaltCause.INCONSISTENT_SOP;
      if (!this.#isControlKnown(block)) break;
      const length = this.lengthOf(block);
      // No block behind the oldest one is free: a longer packet would run into it.
      if (this.#known + length > this.count) return SendHaltCause.OVERFLOW;
      for (let index = 1, at = this.#after(block); index < length; index++, at = this.#after(at))
        if (this.#alias[at] === Alias.START) return SendHaltCause.INCONSISTENT_SOP;
      this.#known += length;
    }
    return SendHaltCause.NONE;
  }

  #isControlKnown(block: number): boolean {
    return (this.#arrived[block * 2] & CONTROL_BYTES) === CONTROL_BYTES;
  }

  /**
   * True when the length in the control word is possible. It is checked as soon as the word is
   * there, whatever the place of the packet in the order.
   */
  #fits(block: number): boolean {
    const bytes = this.packetBytes(block);
    if (bytes < SEND_CONTROL_SIZE + SHORTEST_PACKET_BYTES || bytes > PACKET_SLOT_BYTES) return false;
    return this.lengthOf(block) <= this.count;
  }

  /** True when the block belongs to a packet of known length. */
  #isInside(block: number): boolean {
    return (block - this.#oldest + this.count) % this.count < this.#known;
  }

  #isFull(block: number): boolean {
    return this.#arrived[block * 2] === ALL_BYTES && this.#arrived[block * 2 + 1] === ALL_BYTES;
  }

  #after(block: number): number {
    return block + 1 === this.count ? 0 : block + 1;
  }

  #before(block: number): number {
    return block === 0 ? this.count - 1 : block - 1;
  }
}

/** Scoreboard bits of the control word. */
const CONTROL_BYTES = (1 << SEND_CONTROL_SIZE) - 1;
