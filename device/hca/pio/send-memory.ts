// SPDX-License-Identifier: Apache-2.0
/**
 * The PIO send memory: blocks that are partitioned among functions, and by each of them into send
 * contexts (US 2015/0378953 claim 1; docs/DOCUMENTS.md decision 32). A function takes blocks and
 * contexts of its share only, so no function can use up those of another. The share manager sets
 * the shares, `SendContexts` takes and gives back.
 */
import { SEND_CONTEXT_MAX } from '../../../protocol/layout/gen/constants.gen.ts';

/** The sizes of the adapter, and what each function has of them. */
export class SendMemory {
  /** Blocks of the adapter. */
  readonly blockCount: number;
  /** By function: shares, and what is used of them. A share may have become less than its use. */
  readonly contexts: Int32Array;
  readonly contextsUsed: Int32Array;
  readonly blocks: Int32Array;
  readonly blocksUsed: Int32Array;
  #freeContexts = SEND_CONTEXT_MAX;
  #freeBlocks: number;

  constructor(functionCount: number, blockCount: number) {
    this.blockCount = blockCount;
    this.#freeBlocks = blockCount;
    this.contexts = new Int32Array(functionCount);
    this.contextsUsed = new Int32Array(functionCount);
    this.blocks = new Int32Array(functionCount);
    this.blocksUsed = new Int32Array(functionCount);
  }

  setShare(functionNumber: number, contexts: number, blocks: number): void {
    this.contexts[functionNumber] = contexts;
    this.blocks[functionNumber] = blocks;
  }

  /** Number of contexts that the function may still have. */
  contextsLeft(functionNumber: number): number {
    return Math.max(0, this.contexts[functionNumber] - this.contextsUsed[functionNumber]);
  }

  /** Number of blocks that are left of the share of the function. */
  blocksLeft(functionNumber: number): number {
    return Math.max(0, this.blocks[functionNumber] - this.blocksUsed[functionNumber]);
  }

  /**
   * True when a context of so many blocks has room. Within the share of its function it has, unless
   * another function still uses what was taken from its share.
   */
  hasRoom(blocks: number): boolean {
    return this.#freeContexts > 0 && blocks <= this.#freeBlocks;
  }

  /** A context of the function takes its blocks. */
  take(functionNumber: number, blocks: number): void {
    this.#move(functionNumber, 1, blocks);
  }

  /** A context of the function gives its blocks back. */
  giveBack(functionNumber: number, blocks: number): void {
    this.#move(functionNumber, -1, -blocks);
  }

  #move(functionNumber: number, contexts: number, blocks: number): void {
    this.contextsUsed[functionNumber] += contexts;
    this.blocksUsed[functionNumber] += blocks;
    this.#freeContexts -= contexts;
    this.#freeBlocks -= blocks;
  }
}
