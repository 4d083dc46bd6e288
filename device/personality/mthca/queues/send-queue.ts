// SPDX-License-Identifier: Apache-2.0
/**
 * The send queue of a QP (IBTA 10.2.4): its place in guest memory, and the requests that doorbells
 * have named. A doorbell tells opcode and size of its first request; each request tells those of
 * the next one. They are kept for each slot, because the transport may ask for a request again.
 */
import {
  getNextSegmentNextFence,
  getNextSegmentNextOpcode,
  getNextSegmentNextSize,
} from '../../../../protocol/mthca/gen/next-segment.gen.ts';
import type { SendDoorbell } from '../../../../protocol/mthca/gen/send-doorbell.gen.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { COUNTER_MASK } from '../../shared/receive-queue.ts';
import type { PostedSends } from '../../shared/send-queues.ts';
import { type QueueBuffer, REQUEST_UNIT_BYTES } from '../memory/queue-buffer.ts';

/** The request in a slot: opcode, size, fence, and whether a doorbell named it. */
const OPCODE_MASK = 0x1f;
const SIZE_SHIFT = 5;
const SIZE_MASK = 0x3f;
const FENCE = 1 << 11;
const BY_DOORBELL = 1 << 12;

/** Place of the requests of a queue. */
export class SendPlace {
  readonly buffer: QueueBuffer;
  readonly entries: number;
  readonly strideBytes: number;
  readonly #offset: number;

  /** `offset`: of the first request in `buffer`. */
  constructor(buffer: QueueBuffer, offset: number, entries: number, strideBytes: number) {
    this.buffer = buffer;
    this.#offset = offset;
    this.entries = entries;
    this.strideBytes = strideBytes;
  }

  /** Offset of a request from the start of the work queues, as completions name it. */
  offsetOf(number: number): number {
    return this.#offset + (number % this.entries) * this.strideBytes;
  }
}

export class SendQueue implements PostedSends {
  readonly qp: QueuePair;
  readonly place: SendPlace;
  /** Requests that doorbells have named, modulo 2^16. */
  posted = 0;
  ready = false;
  readonly #slots: Uint16Array;

  constructor(qp: QueuePair, place: SendPlace) {
    this.qp = qp;
    this.place = place;
    this.#slots = new Uint16Array(place.entries);
  }

  /** Doorbells name requests by their numbers. */
  counterOf(number: number): number {
    return number;
  }

  /** Requests that are not admitted to a lane. */
  get waiting(): number {
    return (this.posted - this.qp.nextSequence) & COUNTER_MASK;
  }

  get isWaiting(): boolean {
    return this.waiting !== 0;
  }

  /** Takes a doorbell. Returns false when it names no new requests of the queue. */
  ring({ count, head, opcode, size, fence }: Readonly<SendDoorbell>): boolean {
    const { entries } = this.place;
    if (count === 0 || head !== this.posted || this.waiting + count > entries) return false;
    for (let index = 1; index < count; index++) this.#slots[(head + index) % entries] = 0;
    this.#slots[head % entries] = BY_DOORBELL | opcode | (size << SIZE_SHIFT) | (fence === 1 ? FENCE : 0);
    this.posted = (head + count) & COUNTER_MASK;
    return true;
  }

  opcodeOf(number: number): number {
    return this.#slots[number % this.place.entries] & OPCODE_MASK;
  }

  sizeBytesOf(number: number): number {
    return ((this.#slots[number % this.place.entries] >> SIZE_SHIFT) & SIZE_MASK) * REQUEST_UNIT_BYTES;
  }

  isFenced(number: number): boolean {
    return (this.#slots[number % this.place.entries] & FENCE) !== 0;
  }

  /**
   * Request `number` was read: it describes the next one, unless that has a doorbell of its own.
   */
  noteNext(number: number, view: DataView): void {
    const slot = (number + 1) % this.place.entries;
    if ((this.#slots[slot] & BY_DOORBELL) !== 0) return;
    const size = getNextSegmentNextSize(view, 0);
    const fence = getNextSegmentNextFence(view, 0) === 1 ? FENCE : 0;
    this.#slots[slot] = getNextSegmentNextOpcode(view, 0) | (size << SIZE_SHIFT) | fence;
  }
}
