// SPDX-License-Identifier: Apache-2.0
/**
 * Packets on their way from one port to the other end of its link: a ring of slots that senders build packets in and the receiver parses in
 * place, so that a packet is never copied on the way.
 */
import { LARGEST_MTU_BYTES } from '../../protocol/infiniband/mtu.ts';

/** Longest packet: largest MTU, all headers, CRCs; rounded up. */
export const PACKET_SLOT_BYTES = LARGEST_MTU_BYTES + 256;

export class PacketRing {
  readonly bytes: Uint8Array;
  readonly view: DataView;
  readonly capacity: number;
  readonly #lengths: Uint16Array;
  #head = 0;
  #count = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
    this.bytes = new Uint8Array(capacity * PACKET_SLOT_BYTES);
    this.view = new DataView(this.bytes.buffer);
    this.#lengths = new Uint16Array(capacity);
  }

  get count(): number {
    return this.#count;
  }

  get full(): boolean {
    return this.#count === this.capacity;
  }

  /** Offset of the slot the next packet is built in; only while not full. */
  get writeOffset(): number {
    return ((this.#head + this.#count) % this.capacity) * PACKET_SLOT_BYTES;
  }

  /** The packet at `writeOffset` is complete. */
  push(lengthBytes: number): void {
    this.#lengths[(this.#head + this.#count) % this.capacity] = lengthBytes;
    this.#count++;
  }

  /** Offset and length of the oldest packet; only while not empty. */
  get readOffset(): number {
    return this.#head * PACKET_SLOT_BYTES;
  }

  get readLength(): number {
    return this.#lengths[this.#head];
  }

  /** Drops the oldest packet. */
  shift(): void {
    this.#head = (this.#head + 1) % this.capacity;
    this.#count--;
  }
}
