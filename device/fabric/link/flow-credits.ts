// SPDX-License-Identifier: Apache-2.0
/**
 * Link flow control of a socket link (IBTA 7.9.4): counts of 64-byte blocks modulo 4096 for each
 * data VL. The sender counts its blocks sent (FCTBS) and may send up to its credit limit (FCCL).
 * The receiver counts its blocks received (ABR) and grants limits for the room in its buffer.
 */
import type { VirtualLaneCredits } from '../port/transmit-queues.ts';
import type { ReceiveBuffer } from './receive-buffer.ts';

const MODULUS = 4096;
/** A limit is at most this far ahead; otherwise it would look like one that lies behind. */
const WINDOW = 2048;

/** Credits of the sender. */
export class TransmitCredits implements VirtualLaneCredits {
  /** FCTBS and FCCL by VL. */
  readonly sent: Uint16Array;
  readonly limits: Uint16Array;

  constructor(dataVls: number) {
    this.sent = new Uint16Array(dataVls);
    this.limits = new Uint16Array(dataVls);
  }

  allows(virtualLane: number, blocks: number): boolean {
    return distance(this.sent[virtualLane] + blocks, this.limits[virtualLane]) <= WINDOW;
  }

  count(virtualLane: number, blocks: number): void {
    this.sent[virtualLane] = (this.sent[virtualLane] + blocks) % MODULUS;
  }

  reset(): void {
    this.sent.fill(0);
    this.limits.fill(0);
  }
}

/** Credits of the receiver. */
export class ReceiveCredits {
  /** ABR by VL. */
  readonly received: Uint16Array;
  readonly #announced: Uint16Array;
  readonly #buffer: ReceiveBuffer;

  constructor(dataVls: number, buffer: ReceiveBuffer) {
    this.received = new Uint16Array(dataVls);
    this.#announced = new Uint16Array(dataVls);
    this.#buffer = buffer;
  }

  /** Counts a packet received. */
  count(virtualLane: number, blocks: number): void {
    this.received[virtualLane] = (this.received[virtualLane] + blocks) % MODULUS;
  }

  /**
   * Takes the sender's count of blocks: packets lost on the way then no longer count against it.
   */
  synchronize(virtualLane: number, totalBlocksSent: number): void {
    this.received[virtualLane] = totalBlocksSent;
  }

  /**
   * FCCL: the limit for all blocks sent. A packet has at least one block, so the number of free
   * slots bounds it as the number of free blocks does.
   */
  getLimit(virtualLane: number): number {
    return (this.received[virtualLane] + this.#getFree(virtualLane)) % MODULUS;
  }

  /** True when enough room has come free since the last announcement to be worth another one. */
  worthAnnouncing(virtualLane: number): boolean {
    const gained = distance(this.#announced[virtualLane], this.getLimit(virtualLane));
    return gained * 4 >= this.#getCapacity(virtualLane) && gained <= WINDOW;
  }

  /** Returns the limit and notes that it is announced. */
  announce(virtualLane: number): number {
    const limit = this.getLimit(virtualLane);
    this.#announced[virtualLane] = limit;
    return limit;
  }

  reset(): void {
    this.received.fill(0);
    this.#announced.fill(0);
  }

  #getFree(virtualLane: number): number {
    const buffer = this.#buffer;
    return Math.min(WINDOW, buffer.getFreeBlocks(virtualLane), buffer.getFreePackets(virtualLane));
  }

  #getCapacity(virtualLane: number): number {
    return Math.min(WINDOW, this.#buffer.blocksPerVirtualLane, this.#buffer.rings[virtualLane].capacity);
  }
}

/** Distance of `to` ahead of `from`, modulo 4096. */
function distance(from: number, to: number): number {
  return (to - from + 2 * MODULUS) % MODULUS;
}
