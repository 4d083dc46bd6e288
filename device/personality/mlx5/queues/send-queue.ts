// SPDX-License-Identifier: Apache-2.0
/**
 * The send queue of a QP (IBTA 10.2.4): a ring of blocks of 64 bytes, of which a request takes 1 to
 * 16. A doorbell names the QP alone; the record says how many blocks are posted. The transport
 * counts requests, so the queue remembers at which block each of them begins.
 */
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { SEND_BLOCK_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { CTRL_SEG_SIZE, getCtrlSegDs } from '../../../../protocol/mlx5/gen/ctrl-seg.gen.ts';
import type { Dma } from '../../../hca/function/dma.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { COUNTER_MASK } from '../../shared/receive-queue.ts';
import type { PostedCounter, RequestBlock } from '../../shared/request-block.ts';
import type { PostedSends } from '../../shared/send-queues.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';
import { compareAnnounced } from './send-doorbells.ts';

/** Unit of the length of a request. */
const LENGTH_UNIT_BYTES = 16;
/** Blocks of the longest request. */
const BLOCKS_MAX = 16;
/** Blocks of the longest request that is read at once: the host moves them by words. */
const EXPECTED_MAX = 2;

/** Place of the requests of a queue. */
export class SendPlace {
  readonly memory: QueueMemory;
  readonly blocks: number;
  readonly #offset: number;
  /** First block of each request, by the lower bits of its number; one more than fit the ring. */
  readonly #firstBlock: Uint16Array;

  /** `offset`: of the first block in `memory`; `blocks`: a power of two. */
  constructor(memory: QueueMemory, offset: number, blocks: number) {
    this.memory = memory;
    this.#offset = offset;
    this.blocks = blocks;
    this.#firstBlock = new Uint16Array(2 * blocks);
  }

  /** The counter of the first block of a request, as completions name it. */
  counterOf(number: number): number {
    return this.#firstBlock[number % this.#firstBlock.length];
  }

  setCounter(number: number, block: number): void {
    this.#firstBlock[number % this.#firstBlock.length] = block;
  }

  /** Offset of a block in the memory of the queues. */
  offsetOf(block: number): number {
    return this.#offset + (block % this.blocks) * SEND_BLOCK_BYTES;
  }

  /**
   * Sets `dma` to a byte of request `number`. Returns how many of `lengthBytes` from there on lie
   * in one page.
   */
  locate(dma: Dma, number: number, offset: number, lengthBytes: number): number {
    const block = this.counterOf(number) + Math.floor(offset / SEND_BLOCK_BYTES);
    const inBlock = offset % SEND_BLOCK_BYTES;
    const piece = Math.min(lengthBytes, this.bytesToEnd(block) - inBlock);
    return this.memory.locate(dma, this.offsetOf(block) + inBlock, piece);
  }

  /** Bytes from a block to the end of the ring. */
  bytesToEnd(block: number): number {
    return (this.blocks - (block % this.blocks)) * SEND_BLOCK_BYTES;
  }
}

export class SendQueue implements PostedSends {
  readonly qp: QueuePair;
  readonly place: SendPlace;
  ready = false;
  /** Blocks that software has posted, modulo 2^16. */
  posted = 0;
  /** Why the request that was read last is no request. */
  fault: FaultKind = FaultKind.NONE;
  readonly #counter: PostedCounter;
  /** Blocks that the next request probably has: as many as the last one. */
  #expected = 1;

  constructor(qp: QueuePair, place: SendPlace, counter: PostedCounter) {
    this.qp = qp;
    this.place = place;
    this.#counter = counter;
  }

  /** The block of the next request. */
  get nextBlock(): number {
    return this.place.counterOf(this.qp.nextSequence & COUNTER_MASK);
  }

  counterOf(number: number): number {
    return this.place.counterOf(number);
  }

  /** Blocks that doorbells have named and that are not read. */
  get waitingBlocks(): number {
    return (this.posted - this.nextBlock) & COUNTER_MASK;
  }

  get isWaiting(): boolean {
    return this.posted !== this.nextBlock;
  }

  /**
   * A doorbell: reads the record. A counter that is further than the ring has blocks is ignored.
   * Returns false when nothing new is posted.
   */
  ring(): boolean {
    const posted = this.#counter.read(this.qp);
    if (posted === undefined || posted === this.posted) return false;
    if (((posted - this.nextBlock) & COUNTER_MASK) > this.place.blocks) return false;
    this.posted = posted;
    return true;
  }

  /** Empties the queue of a QP that was reset. */
  reset(): void {
    this.posted = 0;
    this.place.setCounter(0, 0);
  }

  /**
   * Reads request `number` for the first time, and finds where the next one begins. Returns its
   * length in bytes, or 0 with its fault in `fault`.
   */
  take(number: number, target: RequestBlock): number {
    const first = this.place.counterOf(number);
    const posted = (this.posted - first) & COUNTER_MASK;
    const lengthBytes = this.#read(first, posted, target);
    // Behind a request without a length nothing can be found: it takes all that is posted.
    const blocks = lengthBytes === 0 ? posted : Math.ceil(lengthBytes / SEND_BLOCK_BYTES);
    this.place.setCounter((number + 1) & COUNTER_MASK, (first + blocks) & COUNTER_MASK);
    const { announced } = this.qp.owner;
    if (lengthBytes > 0 && announced !== undefined) compareAnnounced(this.qp, announced, first, lengthBytes, target);
    return this.fault === FaultKind.NONE ? lengthBytes : 0;
  }

  /**
   * Reads a request again that was taken. Software may have altered it since: it cannot become
   * longer. Returns as `take` does.
   */
  read(number: number, target: RequestBlock): number {
    const first = this.place.counterOf(number);
    const taken = (this.place.counterOf((number + 1) & COUNTER_MASK) - first) & COUNTER_MASK;
    const lengthBytes = this.#read(first, taken, target);
    return this.fault === FaultKind.NONE ? lengthBytes : 0;
  }

  /**
   * Reads a request that may take `most` blocks, and sets `fault`. Returns the length that it says
   * it has; 0 when that cannot be.
   */
  #read(first: number, most: number, target: RequestBlock): number {
    const { place, qp } = this;
    const known = this.#lengthToRead(first, most);
    this.fault = place.memory.read(qp, place.offsetOf(first), known, target);
    if (this.fault !== FaultKind.NONE) return 0;
    const lengthBytes = getCtrlSegDs(target.view, 0) * LENGTH_UNIT_BYTES;
    if (lengthBytes < CTRL_SEG_SIZE || lengthBytes > Math.min(most, BLOCKS_MAX) * SEND_BLOCK_BYTES) {
      this.fault = FaultKind.COMMAND_LENGTH;
      return 0;
    }
    this.#expected = Math.min(Math.ceil(lengthBytes / SEND_BLOCK_BYTES), EXPECTED_MAX);
    if (lengthBytes > known) this.#readRest(first, known, lengthBytes, target);
    return lengthBytes;
  }

  /**
   * Bytes to read before the length of a request is known: one block, and the next one where it
   * probably is of the request, is posted and lies behind the first one in the same page.
   */
  #lengthToRead(first: number, most: number): number {
    const { place } = this;
    const lengthBytes = this.#expected * SEND_BLOCK_BYTES;
    const isAtOnce =
      this.#expected <= most &&
      lengthBytes <= place.bytesToEnd(first) &&
      place.memory.isInPage(place.offsetOf(first), lengthBytes);
    return isAtOnce ? lengthBytes : SEND_BLOCK_BYTES;
  }

  /** Reads what lies behind the first `known` bytes; it may go on at the start of the ring. */
  #readRest(first: number, known: number, lengthBytes: number, target: RequestBlock): void {
    const { place, qp } = this;
    let done = known;
    while (done < lengthBytes && this.fault === FaultKind.NONE) {
      const block = first + done / SEND_BLOCK_BYTES;
      const piece = Math.min(lengthBytes - done, place.bytesToEnd(block));
      this.fault = place.memory.readTo(qp, place.offsetOf(block), piece, target, done);
      done += piece;
    }
  }
}
