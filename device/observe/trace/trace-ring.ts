// SPDX-License-Identifier: Apache-2.0
/**
 * The wrapping queue of command blocks of one traced QP (IPCOM000010133D; DESIGN.md 4.9): fixed memory, a head that only grows, the oldest block is overwritten when
 * it is full. All that is known of a message lies together in one slot of one array: its numbers, its times, and the packets kept of it as they were on the wire.
 * Whoever reads gets `trace-block` records.
 */
import { encodeTraceBlock, newTraceBlock, TRACE_BLOCK_SIZE } from '../../../protocol/layout/gen/trace-block.gen.ts';
import {
  setTracePacketHeaderLength,
  setTracePacketPayloadLength,
  setTracePacketTime,
  TRACE_PACKET_SIZE,
} from '../../../protocol/layout/gen/trace-packet.gen.ts';

/** Words of a slot, counted from `slotOf` its block. */
export const Field = {
  OPCODE: 0,
  STATUS: 1,
  FAULT: 2,
  RECEIVE: 3,
  COMPLETE: 4,
  SEQUENCE: 5,
  FIRST_PSN: 6,
  LAST_PSN: 7,
  RETRIES: 8,
  REMOTE_QPN: 9,
  REMOTE_LID: 10,
  /** Packets seen of the message. */
  PACKETS: 11,
  LENGTH: 12,
  MSN: 13,
  /** Payload bytes kept, in how many packets, and the bytes these take. */
  KEPT: 14,
  PACKETS_KEPT: 15,
  PACKET_BYTES: 16,
} as const;
export type Field = (typeof Field)[keyof typeof Field];

/** Bytes of a slot before the packets: numbers, begin, end. Then come `trace-packet` records, each with its bytes, as software reads them. */
const TIMES_AT = 72;
const PACKETS_AT = 88;
/** More than all headers of a first packet, and of another one: LRH, GRH, BTH, AETH or ImmDt or IETH. */
const FIRST_HEADERS_BYTES = 96;
const HEADERS_BYTES = 72;
/** Packets beside the first that come without a full path MTU: the first answer to a request, the last of the message. */
const SHORT_PACKETS = 2;
const MTU_MIN_BYTES = 256;
/** What lies in a slot begins at a multiple of this. */
const ALIGNMENT = 8;
const WORD_SHIFT = 2;
const DWORD_SHIFT = 3;
const BYTE_MAX = 255;
const TIME_MAX_NS = 0xffffffff;
/** Shorter copies are quicker by a loop. */
const LOOP_BYTES = 256;

/** Where packets come from: each starts at a multiple of 8. */
export interface PacketBytes {
  readonly doubleWords: BigInt64Array;
  viewPacket(offset: number, lengthBytes: number): Uint8Array;
}

/** What every block of a QP has in common. */
export interface TracedQueuePair {
  readonly qpn: number;
  readonly serviceType: number;
  readonly port: number;
}

export class TraceRing {
  readonly blocks: number;
  readonly snapLength: number;
  /** Blocks begun so far. */
  head = 0;
  /** Blocks overwritten before they were read. */
  lost = 0;
  /** All slots: `Field` numbers of a block from `slotOf` it on. */
  readonly words: Int32Array;
  #read = 0;
  readonly #mask: number;
  readonly #slotBytes: number;
  readonly #times: Float64Array;
  readonly #doubleWords: BigInt64Array;
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #block = newTraceBlock();

  constructor(blocksLog2: number, snapLength: number) {
    this.blocks = 2 ** blocksLog2;
    this.snapLength = snapLength;
    this.#mask = this.blocks - 1;
    this.#slotBytes = countSlotBytes(snapLength);
    this.#bytes = new Uint8Array(this.blocks * this.#slotBytes);
    const { buffer } = this.#bytes;
    this.words = new Int32Array(buffer);
    this.#times = new Float64Array(buffer);
    this.#doubleWords = new BigInt64Array(buffer);
    this.#view = new DataView(buffer);
  }

  /** Memory a ring takes. */
  static sizeBytes(blocksLog2: number, snapLength: number): number {
    return 2 ** blocksLog2 * countSlotBytes(snapLength);
  }

  /** Oldest block still there. */
  get tail(): number {
    return Math.max(0, this.head - this.blocks);
  }

  /** Blocks before `position` have been read: it is no loss when they are overwritten. */
  noteRead(position: number): void {
    if (position > this.#read) this.#read = position;
  }

  /** Begins a block; the oldest one makes room. Returns its running number. */
  begin(
    timeNs: number,
    receive: number,
    opcode: number,
    sequence: number,
    psn: number,
    lengthBytes: number,
    msn: number,
    remoteQpn: number,
    remoteLid: number,
  ): number {
    const index = this.head++;
    if (index - this.blocks >= this.#read) this.lost++;
    const at = this.slotOf(index);
    const { words } = this;
    words[at + Field.OPCODE] = opcode;
    words[at + Field.STATUS] = 0;
    words[at + Field.FAULT] = 0;
    words[at + Field.RECEIVE] = receive;
    words[at + Field.COMPLETE] = 0;
    words[at + Field.SEQUENCE] = sequence;
    words[at + Field.FIRST_PSN] = psn;
    words[at + Field.LAST_PSN] = psn;
    words[at + Field.RETRIES] = 0;
    words[at + Field.REMOTE_QPN] = remoteQpn;
    words[at + Field.REMOTE_LID] = remoteLid;
    words[at + Field.PACKETS] = 0;
    words[at + Field.LENGTH] = lengthBytes;
    words[at + Field.MSN] = msn;
    words[at + Field.KEPT] = 0;
    words[at + Field.PACKETS_KEPT] = 0;
    words[at + Field.PACKET_BYTES] = 0;
    this.#times[beginOf(at)] = timeNs;
    return index;
  }

  /** The block has begun and is not overwritten. */
  has(index: number): boolean {
    return index >= 0 && index >= this.head - this.blocks;
  }

  /** Where the numbers of a block begin in `words`. */
  slotOf(index: number): number {
    return ((index & this.#mask) * this.#slotBytes) >>> WORD_SHIFT;
  }

  get(index: number, field: Field): number {
    return this.words[this.slotOf(index) + field];
  }

  /** Every packet seen so far has been kept, and there is one: its time is that of the end. */
  endIsKnown(index: number): boolean {
    const at = this.slotOf(index);
    const kept = this.words[at + Field.PACKETS_KEPT];
    return kept > 0 && kept >= this.words[at + Field.PACKETS];
  }

  setEnd(index: number, timeNs: number): void {
    this.#times[beginOf(this.slotOf(index)) + 1] = timeNs;
  }

  /** The message has ended, when its last packet was kept or at what `setEnd` says. */
  end(index: number, status: number, fault: number): void {
    const { words } = this;
    const at = this.slotOf(index);
    words[at + Field.STATUS] = status;
    words[at + Field.FAULT] = fault;
    words[at + Field.COMPLETE] = 1;
  }

  /** Would a packet be kept whose payload of `lengthBytes` begins `done` bytes into the message? Not what is there already (it was sent again), nor what is beyond the snap length. */
  wants(index: number, done: number, lengthBytes: number): boolean {
    const kept = this.words[this.slotOf(index) + Field.KEPT];
    return done === kept && (done < this.snapLength || lengthBytes === 0 || done === 0);
  }

  /** Keeps a packet that is wanted: headers at `offset`, payload behind them, as far as the snap length goes. */
  keep(index: number, timeNs: number, source: PacketBytes, offset: number, headers: number, payload: number): void {
    const { words } = this;
    const at = this.slotOf(index);
    const kept = words[at + Field.KEPT];
    const used = words[at + Field.PACKET_BYTES];
    const length = Math.min(payload, this.snapLength - kept);
    const bytes = (TRACE_PACKET_SIZE + headers + length + ALIGNMENT - 1) & -ALIGNMENT;
    if (PACKETS_AT + used + bytes > this.#slotBytes) return;
    words[at + Field.KEPT] = kept + length;
    words[at + Field.PACKETS_KEPT]++;
    words[at + Field.PACKET_BYTES] = used + bytes;
    const begin = beginOf(at);
    const target = (at << WORD_SHIFT) + PACKETS_AT + used;
    setTracePacketHeaderLength(this.#view, target, headers);
    setTracePacketPayloadLength(this.#view, target, length);
    setTracePacketTime(this.#view, target, Math.min(timeNs - this.#times[begin], TIME_MAX_NS));
    this.#times[begin + 1] = timeNs;
    this.#copy(target + TRACE_PACKET_SIZE, source, offset, headers + length);
  }

  /** Bytes `encode` writes for a block. */
  encodedBytes(index: number): number {
    return TRACE_BLOCK_SIZE + this.get(index, Field.PACKET_BYTES);
  }

  /** Writes a block as software reads it: `trace-block`, then its packets. `view` is that of `target`. Returns the bytes written. */
  encode(index: number, of: TracedQueuePair, target: Uint8Array, view: DataView, at: number): number {
    target.fill(0, at, at + TRACE_BLOCK_SIZE);
    this.#encodeBlock(index, of, view, at);
    const packets = (this.slotOf(index) << WORD_SHIFT) + PACKETS_AT;
    const lengthBytes = this.get(index, Field.PACKET_BYTES);
    target.set(this.#bytes.subarray(packets, packets + lengthBytes), at + TRACE_BLOCK_SIZE);
    return TRACE_BLOCK_SIZE + lengthBytes;
  }

  /** Short ones by double words, which costs half of what words do and allocates nothing once it is compiled; up to 7 bytes behind the packet come along, as padding. */
  #copy(target: number, source: PacketBytes, offset: number, lengthBytes: number): void {
    if (lengthBytes > LOOP_BYTES) return this.#bytes.set(source.viewPacket(offset, lengthBytes), target);
    const from = source.doubleWords;
    const to = this.#doubleWords;
    const first = offset >>> DWORD_SHIFT;
    const at = target >>> DWORD_SHIFT;
    const count = (lengthBytes + ALIGNMENT - 1) >>> DWORD_SHIFT;
    for (let index = 0; index < count; index++) to[at + index] = from[first + index];
  }

  #encodeBlock(index: number, of: TracedQueuePair, view: DataView, at: number): void {
    const block = this.#block;
    const begin = beginOf(this.slotOf(index));
    block.qpn = of.qpn;
    block.serviceType = of.serviceType;
    block.port = of.port;
    block.index = index;
    block.receive = this.get(index, Field.RECEIVE);
    block.complete = this.get(index, Field.COMPLETE);
    block.beginTime = this.#times[begin];
    block.endTime = block.complete === 1 ? this.#times[begin + 1] : 0;
    block.opcode = this.get(index, Field.OPCODE);
    block.status = this.get(index, Field.STATUS);
    block.faultKind = this.get(index, Field.FAULT);
    block.sequence = this.get(index, Field.SEQUENCE);
    block.packetsKept = this.get(index, Field.PACKETS_KEPT);
    block.keptBytes = this.get(index, Field.PACKET_BYTES);
    block.firstPsn = this.get(index, Field.FIRST_PSN);
    block.lastPsn = this.get(index, Field.LAST_PSN);
    block.retries = Math.min(this.get(index, Field.RETRIES), BYTE_MAX);
    block.packets = Math.min(this.get(index, Field.PACKETS), BYTE_MAX);
    block.remoteQpn = this.get(index, Field.REMOTE_QPN);
    block.remoteLid = this.get(index, Field.REMOTE_LID);
    block.messageLength = this.get(index, Field.LENGTH) >>> 0;
    block.snapLength = this.get(index, Field.KEPT);
    block.truncated = block.messageLength > this.snapLength ? 1 : 0;
    block.messageSequence = this.get(index, Field.MSN);
    encodeTraceBlock(view, at, block);
  }
}

/** Place of a block's begin among the times, by that of its numbers among the words; its end is the next. */
function beginOf(slot: number): number {
  return ((slot << WORD_SHIFT) + TIMES_AT) >>> DWORD_SHIFT;
}

function countSlotBytes(snapLength: number): number {
  const others = Math.floor(snapLength / MTU_MIN_BYTES) + SHORT_PACKETS;
  const packet = TRACE_PACKET_SIZE + ALIGNMENT - 1;
  const packets = packet + FIRST_HEADERS_BYTES + others * (packet + HEADERS_BYTES) + snapLength;
  return Math.ceil((PACKETS_AT + packets) / ALIGNMENT) * ALIGNMENT;
}
