// SPDX-License-Identifier: Apache-2.0
/**
 * Ring of packets from a port to the other end of its link. Senders build packets in its slots, and
 * the receiver parses them in place, so a packet is never copied on the way. Ports have one for
 * each virtual lane (`transmit-queues.ts`), and links for packets that have arrived. A long payload
 * may stay in guest memory, on loan, until the packet is placed or somebody needs its bytes.
 */
import { isMulticastLid } from '../../../protocol/infiniband/addresses.ts';
import { getLrhDlid } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { LARGEST_MTU_BYTES } from '../../../protocol/infiniband/mtu.ts';
import type { MemoryLender } from '../../host.ts';
import type { LoanBook, LoanHolder } from '../../loan-book.ts';

/** Bytes of a slot: largest MTU, all headers and CRCs, rounded up. */
export const PACKET_SLOT_BYTES = LARGEST_MTU_BYTES + 256;

/** Unit of flow control (IBTA 7.9.4). */
const BLOCK_BYTES = 64;
const BLOCK_SHIFT = 6;

/** Number of blocks of a packet of this length. */
export function packetBlocks(lengthBytes: number): number {
  return (lengthBytes + BLOCK_BYTES - 1) >>> BLOCK_SHIFT;
}

/** Longest packet in bytes that is copied by 8 bytes at a time; a longer one as a whole slot. */
const SHORT_PACKET_BYTES = 256;
const DOUBLE_WORD_SHIFT = 3;

/** Pad bytes, which are zero, fill up a payload to a multiple of this (IBTA 9.2.4). */
const PAD_UNIT_BYTES = 4;

/** Shortest payload that is worth a loan; longer than any packet that is copied in parts. */
export const LOAN_MIN_BYTES = 512;

/**
 * Copies the oldest packet of `source` to the write offset of `target`, which is not full.
 * `passesLoan`: a payload on loan stays where it is, and `target` refers to it.
 */
export function copyPacket(source: PacketRing, target: PacketRing, passesLoan = false): void {
  if (passesLoan && source.passLoan(target)) return;
  const { readLength } = source;
  if (readLength > SHORT_PACKET_BYTES) {
    target.bytes.set(source.readSlot, target.writeOffset);
    return;
  }
  copyStart(source, target, readLength);
}

/** Copies the first bytes of the oldest packet of `source`, and up to 7 more. */
function copyStart(source: PacketRing, target: PacketRing, lengthBytes: number): void {
  const from = source.doubleWords;
  const to = target.doubleWords;
  const first = source.readOffset >>> DOUBLE_WORD_SHIFT;
  const end = first + ((lengthBytes + 7) >>> DOUBLE_WORD_SHIFT);
  const shift = (target.writeOffset >>> DOUBLE_WORD_SHIFT) - first;
  for (let at = first; at < end; at++) to[at + shift] = from[at];
}

/** A ring of `capacity` slots of `PACKET_SLOT_BYTES`. */
export class PacketRing implements LoanHolder {
  readonly bytes: Uint8Array;
  /** The slots as words. */
  readonly words: Int32Array;
  /** The slots by 8 bytes: the fastest way to copy a short packet. */
  readonly doubleWords: BigInt64Array;
  readonly view: DataView;
  readonly capacity: number;
  /** Virtual lane of its packets. */
  readonly virtualLane: number;
  /** Number of blocks of all packets in the ring. */
  blocks = 0;
  /** Packets that have left the ring, and their bytes. */
  leftPackets = 0;
  leftBytes = 0;
  /** Those of them that had the LID of a multicast group. */
  leftMulticast = 0;
  readonly #lengths: Uint16Array;
  /** 1 when the packet may be damaged although nothing on its way can change it. */
  readonly #suspect: Uint8Array;
  /**
   * Views of whole slots and of packets, made on first use: copying a packet makes no view each
   * time.
   */
  readonly #slots: (Uint8Array | undefined)[];
  readonly #packets: (Uint8Array | undefined)[];
  /** Tags of packets whose sender is told when they leave, and their number. 0: no tag. */
  readonly #tags: Int32Array;
  readonly #serials: Int32Array;
  #tagged = 0;
  /** Of packets whose payload is on loan: its owner, address, place in the ring and length. */
  readonly #lenders: (MemoryLender | undefined)[];
  readonly #loanAddresses: Float64Array;
  readonly #loanOffsets: Int32Array;
  readonly #loanLengths: Uint16Array;
  #loans = 0;
  /** Length of the payload that the next read of guest memory may borrow; 0 for none. */
  loanBytes = 0;
  /** Told the tag of each tagged packet that leaves the ring. */
  onLeft: ((tag: number, serial: number) => void) | undefined = undefined;
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
    this.#tags = new Int32Array(capacity);
    this.#serials = new Int32Array(capacity);
    this.#lenders = new Array<MemoryLender | undefined>(capacity).fill(undefined);
    this.#loanAddresses = new Float64Array(capacity);
    this.#loanOffsets = new Int32Array(capacity);
    this.#loanLengths = new Uint16Array(capacity);
    this.#slots = new Array<Uint8Array | undefined>(capacity).fill(undefined);
    this.#packets = new Array<Uint8Array | undefined>(capacity).fill(undefined);
  }

  get count(): number {
    return this.#count;
  }

  get full(): boolean {
    return this.#count === this.capacity;
  }

  /** Byte offset of the slot in which the next packet is built; only while not full. */
  get writeOffset(): number {
    return this.#tail * PACKET_SLOT_BYTES;
  }

  /**
   * Appends the packet at `writeOffset`, which is complete. `suspect`: the receiver must check its
   * CRCs whatever the link.
   */
  push(lengthBytes: number, suspect = false): void {
    const slot = this.#tail;
    this.#lengths[slot] = lengthBytes;
    this.#suspect[slot] = suspect ? 1 : 0;
    this.#tail = this.#after(slot);
    this.#count++;
    this.blocks += packetBlocks(lengthBytes);
  }

  /** Has `onLeft` called with `tag` (not 0) and `serial` when the packet pushed last leaves. */
  tagLast(tag: number, serial: number): void {
    const slot = (this.#tail === 0 ? this.capacity : this.#tail) - 1;
    this.#tags[slot] = tag;
    this.#serials[slot] = serial;
    this.#tagged++;
  }

  /**
   * The payload of the next packet, at `offset` of the ring, stays at `address` of its owner until
   * the packet leaves the ring, or the book of the owner ends its loans.
   */
  borrow(lender: MemoryLender, address: number, offset: number, lengthBytes: number): void {
    const slot = this.#tail;
    this.#lenders[slot] = lender;
    this.#loanAddresses[slot] = address;
    this.#loanOffsets[slot] = offset;
    this.#loanLengths[slot] = lengthBytes;
    this.#loans++;
    lender.loans.enter(this);
  }

  /** Number of packets whose payload is on loan. */
  get loans(): number {
    return this.#loans;
  }

  takeLoans(book: LoanBook): void {
    if (this.#loans === 0) return;
    for (let slot = 0; slot < this.capacity; slot++) if (this.#lenders[slot]?.loans === book) this.#takeLoan(slot);
  }

  /** Copies the payload of the next packet into the ring if it is on loan. */
  takeNextLoan(): void {
    if (this.#loans > 0) this.#takeLoan(this.#tail);
  }

  /** Copies the payload of the oldest packet into the ring if it is on loan. */
  takeOldestLoan(): void {
    if (this.#loans > 0) this.#takeLoan(this.#head);
  }

  /** The payload of the oldest packet in place, at its owner; undefined when it is in the ring. */
  viewOldestLoan(): Uint8Array | undefined {
    if (this.#loans === 0) return undefined;
    const slot = this.#head;
    const view = this.#lenders[slot]?.viewLoan(this.#loanAddresses[slot], this.#loanLengths[slot]);
    if (view === undefined) this.#takeLoan(slot);
    return view;
  }

  /**
   * Copies the oldest packet to the write offset of `target` except for its payload, which is on
   * loan: `target` refers to it from now on. Returns false when the payload is in the ring.
   */
  passLoan(target: PacketRing): boolean {
    if (this.#loans === 0) return false;
    const slot = this.#head;
    const lender = this.#lenders[slot];
    if (lender === undefined) return false;
    const length = this.#loanLengths[slot];
    const headers = this.#loanOffsets[slot] - this.readOffset;
    const payload = target.writeOffset + headers;
    copyStart(this, target, headers);
    // The CRCs are computed where the packet is sealed.
    for (let at = length; at % PAD_UNIT_BYTES !== 0; at++) target.bytes[payload + at] = 0;
    target.borrow(lender, this.#loanAddresses[slot], payload, length);
    this.#endLoan(slot);
    return true;
  }

  /** Byte offset of the oldest packet; only while not empty. */
  get readOffset(): number {
    return this.#head * PACKET_SLOT_BYTES;
  }

  /** Length of the oldest packet in bytes; only while not empty. */
  get readLength(): number {
    return this.#lengths[this.#head];
  }

  /** True when the receiver must check the CRCs of the oldest packet. */
  get readSuspect(): boolean {
    return this.#suspect[this.#head] === 1;
  }

  /** The whole slot of the oldest packet: the packet, then old bytes. */
  get readSlot(): Uint8Array {
    this.takeOldestLoan();
    const known = this.#slots[this.#head];
    if (known !== undefined) return known;
    const made = this.bytes.subarray(this.readOffset, this.readOffset + PACKET_SLOT_BYTES);
    this.#slots[this.#head] = made;
    return made;
  }

  /**
   * Returns the bytes of the packet at `offset`. While packets in a slot have equal lengths, no new
   * view is made.
   */
  viewPacket(offset: number, lengthBytes: number): Uint8Array {
    const slot = offset / PACKET_SLOT_BYTES;
    const known = this.#packets[slot];
    if (known !== undefined && known.length === lengthBytes) return known;
    const made = this.bytes.subarray(offset, offset + lengthBytes);
    this.#packets[slot] = made;
    return made;
  }

  /** True when the oldest packet goes to a multicast group; only while not empty. */
  get isMulticast(): boolean {
    return isMulticastLid(getLrhDlid(this.view, this.readOffset));
  }

  /** The oldest packet does not leave: it is lost, or discarded. */
  discard(): void {
    const { leftPackets, leftBytes, leftMulticast } = this;
    this.shift();
    this.leftPackets = leftPackets;
    this.leftBytes = leftBytes;
    this.leftMulticast = leftMulticast;
  }

  /** Drops the oldest packet. */
  shift(): void {
    const slot = this.#head;
    const length = this.#lengths[slot];
    this.blocks -= packetBlocks(length);
    this.leftPackets++;
    this.leftBytes += length;
    if (this.isMulticast) this.leftMulticast++;
    this.#head = this.#after(slot);
    this.#count--;
    if (this.#loans > 0 && this.#lenders[slot] !== undefined) this.#endLoan(slot);
    if (this.#count === 0) {
      // An empty ring starts again at slot 0: a processor still has the slots used last in its
      // cache.
      this.#head = 0;
      this.#tail = 0;
    }
    if (this.#tagged > 0) this.#tell(slot);
  }

  #takeLoan(slot: number): void {
    const lender = this.#lenders[slot];
    if (lender === undefined) return;
    lender.copyLoan(this.#loanAddresses[slot], this.#loanLengths[slot], this.bytes, this.#loanOffsets[slot]);
    this.#endLoan(slot);
  }

  #endLoan(slot: number): void {
    this.#lenders[slot]?.loans.strike();
    this.#lenders[slot] = undefined;
    this.#loans--;
  }

  #tell(slot: number): void {
    const tag = this.#tags[slot];
    if (tag === 0) return;
    this.#tags[slot] = 0;
    this.#tagged--;
    this.onLeft?.(tag, this.#serials[slot]);
  }

  #after(slot: number): number {
    return slot + 1 === this.capacity ? 0 : slot + 1;
  }
}
