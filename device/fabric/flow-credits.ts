// SPDX-License-Identifier: Apache-2.0
/**
 * Flow control as packets carry it (IBTA 7.9.4): counts of 64-byte blocks modulo 4096, per data lane. The sender counts what it has sent (FCTBS) and may
 * send up to the limit it was given (FCCL); the receiver counts what has come (ABR) and gives out what its buffer has room for.
 */
import type { VirtualLaneCredits } from '../port/transmit-queues.ts';
import type { ReceiveBuffer } from './receive-buffer.ts';

const MODULUS = 4096;
/** A limit is never further ahead: else it would look like one that lies behind. */
const WINDOW = 2048;

/** The sender's half. */
export class TransmitCredits implements VirtualLaneCredits {
  /** FCTBS and FCCL by lane. */
  readonly sent: Uint16Array;
  readonly limits: Uint16Array;

  constructor(dataLanes: number) {
    this.sent = new Uint16Array(dataLanes);
    this.limits = new Uint16Array(dataLanes);
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

/** The receiver's half. */
export class ReceiveCredits {
  /** ABR by lane. */
  readonly received: Uint16Array;
  readonly #announced: Uint16Array;
  readonly #buffer: ReceiveBuffer;

  constructor(dataLanes: number, buffer: ReceiveBuffer) {
    this.received = new Uint16Array(dataLanes);
    this.#announced = new Uint16Array(dataLanes);
    this.#buffer = buffer;
  }

  /** A packet has come. */
  count(virtualLane: number, blocks: number): void {
    this.received[virtualLane] = (this.received[virtualLane] + blocks) % MODULUS;
  }

  /** The sender says what it has sent: packets lost on the way no longer count against it. */
  synchronize(virtualLane: number, totalBlocksSent: number): void {
    this.received[virtualLane] = totalBlocksSent;
  }

  /** FCCL: what may be sent in all. A packet takes a block at least, so free slots bound it as free blocks do. */
  getLimit(virtualLane: number): number {
    return (this.received[virtualLane] + this.#getFree(virtualLane)) % MODULUS;
  }

  /** So much room has come free since the last announcement that another is worth its bytes. */
  worthAnnouncing(virtualLane: number): boolean {
    const gained = distance(this.#announced[virtualLane], this.getLimit(virtualLane));
    return gained * 4 >= this.#getCapacity(virtualLane) && gained <= WINDOW;
  }

  /** The limit is announced; returns it. */
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

/** How far `to` is ahead of `from`. */
function distance(from: number, to: number): number {
  return (to - from + 2 * MODULUS) % MODULUS;
}
