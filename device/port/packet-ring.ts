// SPDX-License-Identifier: Apache-2.0
/**
 * Packets on their way from one port to the other end of its link: a ring of slots that senders build packets in and the receiver parses in
 * place, so that a packet is never copied on the way.
 */
import { LARGEST_MTU_BYTES } from '../../protocol/infiniband/mtu.ts';

/** Longest packet: largest MTU, all headers, CRCs; rounded up. */
export const PACKET_SLOT_BYTES = LARGEST_MTU_BYTES + 256;

/** Unit of flow control (IBTA 7.9.4). */
export const BLOCK_BYTES = 64;
const BLOCK_SHIFT = 6;

/** Blocks a packet of this length takes. */
export function packetBlocks(lengthBytes: number): number {
  return (lengthBytes + BLOCK_BYTES - 1) >>> BLOCK_SHIFT;
}

export class PacketRing {
  readonly bytes: Uint8Array;
  /** The same as words. */
  readonly words: Int32Array;
  /** The same by 8 bytes: the quickest way to copy a short packet. */
  readonly doubleWords: BigInt64Array;
  readonly view: DataView;
  readonly capacity: number;
  /** Lane its packets travel on. */
  readonly virtualLane: number;
  /** Blocks of all packets in the ring. */
  blocks = 0;
  readonly #lengths: Uint16Array;
  /** The packet may be damaged even where nothing can have changed it on the way. */
  readonly #suspect: Uint8Array;
  /** Views of whole slots, made on first use: packets are copied out without making one for each. */
  readonly #slots: (Uint8Array | undefined)[];
  readonly #packets: (Uint8Array | undefined)[];
  /** Slots of the oldest packet and of the next one. */
  #head = 0;
  #tail = 0;
  #count = 0;

  constructor(capacity: number, virtualLane = 0) {
    this.capacity = capacity;
    this.virtualLane = virtualLane;
    this.bytes = new Uint8Array(capacity * PACKET_SLOT_BYTES);
    this.words = new Int32Array(this.bytes.buffer);
    this.doubleWords = new BigInt64Array(this.bytes.buffer);
    this.view = new DataView(this.bytes.buffer);
    this.#lengths = new Uint16Array(capacity);
    this.#suspect = new Uint8Array(capacity);
    this.#slots = new Array<Uint8Array | undefined>(capacity).fill(undefined);
    this.#packets = new Array<Uint8Array | undefined>(capacity).fill(undefined);
  }

  get count(): number {
    return this.#count;
  }

  get full(): boolean {
    return this.#count === this.capacity;
  }

  /** Offset of the slot the next packet is built in; only while not full. */
  get writeOffset(): number {
    return this.#tail * PACKET_SLOT_BYTES;
  }

  /** The packet at `writeOffset` is complete. `suspect`: its CRCs must be checked however it travels. */
  push(lengthBytes: number, suspect = false): void {
    const slot = this.#tail;
    this.#lengths[slot] = lengthBytes;
    this.#suspect[slot] = suspect ? 1 : 0;
    this.#tail = this.#after(slot);
    this.#count++;
    this.blocks += packetBlocks(lengthBytes);
  }

  /** Offset and length of the oldest packet; only while not empty. */
  get readOffset(): number {
    return this.#head * PACKET_SLOT_BYTES;
  }

  get readLength(): number {
    return this.#lengths[this.#head];
  }

  /** The oldest packet's CRCs must be checked. */
  get readSuspect(): boolean {
    return this.#suspect[this.#head] === 1;
  }

  /** The slot of the oldest packet as a whole: the packet, then whatever was there. */
  get readSlot(): Uint8Array {
    const known = this.#slots[this.#head];
    if (known !== undefined) return known;
    const made = this.bytes.subarray(this.readOffset, this.readOffset + PACKET_SLOT_BYTES);
    this.#slots[this.#head] = made;
    return made;
  }

  /** The bytes of the packet at `offset`; as long as packets there are equally long, no view is made for each. */
  viewPacket(offset: number, lengthBytes: number): Uint8Array {
    const slot = offset / PACKET_SLOT_BYTES;
    const known = this.#packets[slot];
    if (known !== undefined && known.length === lengthBytes) return known;
    const made = this.bytes.subarray(offset, offset + lengthBytes);
    this.#packets[slot] = made;
    return made;
  }

  /** Drops the oldest packet. */
  shift(): void {
    this.blocks -= packetBlocks(this.#lengths[this.#head]);
    this.#head = this.#after(this.#head);
    this.#count--;
    if (this.#count > 0) return;
    // An empty ring begins anew: the slots used last are those a processor still has in its cache.
    this.#head = 0;
    this.#tail = 0;
  }

  #after(slot: number): number {
    return slot + 1 === this.capacity ? 0 : slot + 1;
  }
}
