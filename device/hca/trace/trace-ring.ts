// SPDX-License-Identifier: Apache-2.0
/**
 * The ring of command blocks of one traced QP (IPCOM000010133D par. 4; docs/DOCUMENTS.md decision
 * 10): fixed memory, a head that only grows; a full ring wraps and overwrites its oldest block. One
 * slot of one array holds a message: its numbers, its times, its packets as they were on the wire.
 * `QueuePairTrace` writes; `BlockEncoder` makes `trace-block` records of it.
 */
import {
  setTracePacketHeaderLength,
  setTracePacketPayloadLength,
  setTracePacketTime,
  TRACE_PACKET_SIZE,
} from '../../../protocol/layout/gen/trace-packet.gen.ts';

/** Word offsets within a slot, from `slotOf` its block. */
export const Field = {
  OPCODE: 0,
  RECEIVE: 1,
  SEQUENCE: 2,
  FIRST_PSN: 3,
  LAST_PSN: 4,
  REMOTE_QPN: 5,
  REMOTE_LID: 6,
  LENGTH: 7,
  MSN: 8,
  /** `open` clears everything from here on. */
  COMPLETE: 10,
  STATUS: 11,
  FAULT: 12,
  RETRIES: 13,
  /** Packets of the message that were seen. */
  PACKETS: 14,
  /** Payload bytes kept, the number of packets that hold them, and the bytes of these packets. */
  KEPT: 15,
  PACKETS_KEPT: 16,
  PACKET_BYTES: 17,
  /** Packets of the answer that were seen. */
  ANSWERS: 22,
} as const;
const { COMPLETE, STATUS, FAULT, RETRIES, PACKETS, KEPT, PACKETS_KEPT, PACKET_BYTES, ANSWERS } = Field;

/**
 * Double-word offsets within a slot: the part that `open` clears, the times of begin and end. From
 * byte PACKETS_AT on follow `trace-packet` records, each with its packet, as software reads them.
 */
const CLEARED = COMPLETE / 2;
const BEGIN = 9;
const END = 10;
const PACKETS_AT = 96;
const RECORD_BYTES = TRACE_PACKET_SIZE;
/**
 * Upper bounds of the headers of a first packet, and of another one: LRH, GRH, BTH, AETH or ImmDt
 * or IETH.
 */
const FIRST_HEADERS_BYTES = 96;
const HEADERS_BYTES = 72;
/**
 * Packets shorter than the path MTU besides the first: the first one of an answer, and the last.
 */
const SHORT_PACKETS = 2;
const MTU_MIN_BYTES = 256;
/** Alignment of everything in a slot. */
const ALIGNMENT = 8;
const WORD_SHIFT = 2;
const DWORD_SHIFT = 3;
const TIME_MAX_NS = 0xffffffff;
/** Up to LOOP_BYTES a loop copies faster, COPY_BYTES at a time. */
const LOOP_BYTES = 256;
const COPY_BYTES = 32;

/** Adapter time in ns. */
export interface TraceClock {
  now(): number;
}

/** A source of packets; each packet begins at a multiple of 8. */
export interface PacketBytes {
  readonly doubleWords: BigInt64Array;
  viewPacket(offset: number, lengthBytes: number): Uint8Array;
}

export class TraceRing {
  readonly blocks: number;
  readonly snapLength: number;
  /** Blocks begun so far. */
  head = 0;
  /** Blocks overwritten before they were read. */
  lost = 0;
  #read = 0;
  /** End of the messages since `beginEnd`: a reading of the clock costs a tenth of a message. */
  #endNs = Number.NaN;
  readonly #clock: TraceClock;
  readonly #mask: number;
  readonly #slotWords: number;
  readonly #packetBytesMax: number;
  /** All slots, one behind the other. */
  readonly words: Int32Array;
  readonly #times: Float64Array;
  readonly #doubleWords: BigInt64Array;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;

  constructor(blocksLog2: number, snapLength: number, clock: TraceClock) {
    const slotBytes = countSlotBytes(snapLength);
    this.blocks = 2 ** blocksLog2;
    this.snapLength = snapLength;
    this.#clock = clock;
    this.#mask = this.blocks - 1;
    this.#slotWords = slotBytes >>> WORD_SHIFT;
    this.#packetBytesMax = slotBytes - PACKETS_AT - COPY_BYTES;
    this.#bytes = new Uint8Array(this.blocks * slotBytes);
    const { buffer } = this.#bytes;
    this.words = new Int32Array(buffer);
    this.#times = new Float64Array(buffer);
    this.#doubleWords = new BigInt64Array(buffer);
    this.#view = new DataView(buffer);
  }

  /** Memory of a ring in bytes. */
  static sizeBytes(blocksLog2: number, snapLength: number): number {
    return 2 ** blocksLog2 * countSlotBytes(snapLength);
  }

  get sizeBytes(): number {
    return this.#bytes.length;
  }

  /** Oldest block that is not overwritten. */
  get tail(): number {
    return Math.max(0, this.head - this.blocks);
  }

  /** Blocks before `position` have been read: overwriting them loses nothing. */
  noteRead(position: number): void {
    if (position > this.#read) this.#read = position;
  }

  /**
   * Begins a block without packets. A full ring wraps: the block takes the slot of the oldest one,
   * which is lost unless it has been read. Returns the running number of the block. The caller
   * fills in the numbers of the message.
   */
  open(beginNs: number): number {
    const index = this.head++;
    if (index - this.blocks >= this.#read) this.lost++;
    const time = this.slotOf(index) >>> 1;
    const doubleWords = this.#doubleWords;
    for (let cleared = CLEARED; cleared < BEGIN; cleared++) doubleWords[time + cleared] = 0n;
    this.words[time * 2 + ANSWERS] = 0;
    this.#times[time + BEGIN] = beginNs;
    return index;
  }

  /**
   * As `open`, with the first packet: headers at `offset` of `source`, then `payload` bytes.
   * `packets` is 0 when the packet is refused.
   */
  openWithPacket(
    beginNs: number,
    nowNs: number,
    packets: number,
    source: PacketBytes,
    offset: number,
    headers: number,
    payload: number,
  ): number {
    const index = this.head++;
    if (index - this.blocks >= this.#read) this.lost++;
    const at = this.slotOf(index);
    const length = Math.min(payload, this.snapLength);
    const { words } = this;
    words[at + COMPLETE] = 0;
    words[at + STATUS] = 0;
    words[at + FAULT] = 0;
    words[at + RETRIES] = 0;
    words[at + ANSWERS] = 0;
    words[at + PACKETS] = packets;
    words[at + KEPT] = length;
    words[at + PACKETS_KEPT] = 1;
    words[at + PACKET_BYTES] = (RECORD_BYTES + headers + length + ALIGNMENT - 1) & -ALIGNMENT;
    const times = this.#times;
    const time = at >>> 1;
    times[time + BEGIN] = beginNs;
    times[time + END] = nowNs;
    this.#copy((at << WORD_SHIFT) + PACKETS_AT, nowNs - beginNs, source, offset, headers, length);
    return index;
  }

  /** True when the block has begun and is not overwritten. */
  has(index: number): boolean {
    return index >= 0 && index >= this.head - this.blocks;
  }

  /** Index of a block's first word in `words`. */
  slotOf(index: number): number {
    return (index & this.#mask) * this.#slotWords;
  }

  isComplete(index: number): boolean {
    return this.words[this.slotOf(index) + COMPLETE] === 1;
  }

  /**
   * Keeps another packet of the message whose block is at `at`, within the snap length: headers at
   * `offset` of `source`, then `payload` bytes, which begin `done` bytes into the message. A packet
   * that was kept before and is sent again is not kept twice.
   */
  keep(at: number, done: number, source: PacketBytes, offset: number, headers: number, payload: number): void {
    const { words } = this;
    const kept = words[at + KEPT];
    const room = this.snapLength - kept;
    if (done !== kept || (room === 0 && payload > 0 && done > 0)) return;
    const used = words[at + PACKET_BYTES];
    const length = Math.min(payload, room);
    const bytes = (RECORD_BYTES + headers + length + ALIGNMENT - 1) & -ALIGNMENT;
    if (used + bytes > this.#packetBytesMax) return;
    words[at + KEPT] = kept + length;
    words[at + PACKETS_KEPT]++;
    words[at + PACKET_BYTES] = used + bytes;
    const times = this.#times;
    const time = at >>> 1;
    const nowNs = this.#clock.now();
    times[time + END] = nowNs;
    const target = (at << WORD_SHIFT) + PACKETS_AT + used;
    this.#copy(target, nowNs - times[time + BEGIN], source, offset, headers, length);
  }

  /** Messages that end before the next call end at the same time, by one acknowledgement. */
  beginEnd(): void {
    this.#endNs = Number.NaN;
  }

  /** The message ends now. */
  end(index: number, status: number, fault: number): void {
    const { words } = this;
    const at = this.slotOf(index);
    if (Number.isNaN(this.#endNs)) this.#endNs = this.#clock.now();
    this.#times[(at >>> 1) + END] = this.#endNs;
    words[at + COMPLETE] = 1;
    words[at + STATUS] = status;
    words[at + FAULT] = fault;
  }

  /** The message ended with its last packet, at the time when that was kept. */
  endWithPacket(index: number, status: number, fault: number): void {
    const { words } = this;
    const at = this.slotOf(index);
    const kept = words[at + PACKETS_KEPT];
    if (kept === 0 || kept < words[at + PACKETS]) return this.end(index, status, fault);
    words[at + COMPLETE] = 1;
    words[at + STATUS] = status;
    words[at + FAULT] = fault;
  }

  /** Begin of the message, and its end or the time of its last kept packet, in adapter ns. */
  beginNs(index: number): number {
    return this.#times[(this.slotOf(index) >>> 1) + BEGIN];
  }

  endNs(index: number): number {
    return this.#times[(this.slotOf(index) >>> 1) + END];
  }

  /** The kept packets of a block, as software reads them. */
  packetsOf(index: number): Uint8Array {
    const at = this.slotOf(index);
    const start = (at << WORD_SHIFT) + PACKETS_AT;
    return this.#bytes.subarray(start, start + this.words[at + PACKET_BYTES]);
  }

  /**
   * Copies a packet, and fills the rest of its last 8 bytes with zeros: whether CRCs stand behind
   * the packet depends on observers and links.
   */
  #copy(target: number, sinceNs: number, source: PacketBytes, offset: number, headers: number, payload: number): void {
    const view = this.#view;
    setTracePacketHeaderLength(view, target, headers);
    setTracePacketPayloadLength(view, target, payload);
    setTracePacketTime(view, target, Math.min(sinceNs, TIME_MAX_NS));
    const bytes = this.#bytes;
    const lengthBytes = headers + payload;
    if (lengthBytes > LOOP_BYTES) bytes.set(source.viewPacket(offset, lengthBytes), target + RECORD_BYTES);
    else this.#copyShort(target + RECORD_BYTES, source.doubleWords, offset, lengthBytes);
    for (let at = target + RECORD_BYTES + lengthBytes; at % ALIGNMENT !== 0; at++) bytes[at] = 0;
  }

  /**
   * Copies by double words. That costs half of copying words and does not allocate once compiled;
   * the copy includes some bytes behind the packet.
   */
  #copyShort(target: number, from: BigInt64Array, offset: number, lengthBytes: number): void {
    const to = this.#doubleWords;
    let copied = target >>> DWORD_SHIFT;
    let next = offset >>> DWORD_SHIFT;
    for (let left = lengthBytes; left > 0; left -= COPY_BYTES) {
      to[copied] = from[next];
      to[copied + 1] = from[next + 1];
      to[copied + 2] = from[next + 2];
      to[copied + 3] = from[next + 3];
      copied += 4;
      next += 4;
    }
  }
}

function countSlotBytes(snapLength: number): number {
  const others = Math.floor(snapLength / MTU_MIN_BYTES) + SHORT_PACKETS;
  const packet = TRACE_PACKET_SIZE + ALIGNMENT - 1;
  const packets = packet + FIRST_HEADERS_BYTES + others * (packet + HEADERS_BYTES) + snapLength;
  return Math.ceil((PACKETS_AT + packets + COPY_BYTES) / ALIGNMENT) * ALIGNMENT;
}
