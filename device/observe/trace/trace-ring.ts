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
  /** Payload bytes kept, in how many packets, and the words these take. */
  KEPT: 14,
  PACKETS_KEPT: 15,
  PACKET_WORDS: 16,
} as const;
export type Field = (typeof Field)[keyof typeof Field];

/** Begin and end, as doubles; then come the packets. */
const TIMES = 18;
const PACKETS_AT = 22;
/** Before each packet: bytes of its headers, of its payload, and its time in ns since the message began. */
const PACKET_HEAD_WORDS = 3;
/** More than all headers of a first packet, and of another one: LRH, GRH, BTH, AETH or ImmDt or IETH. */
const FIRST_HEADERS_WORDS = 24;
const HEADERS_WORDS = 18;
/** Packets beside the first that come without a full path MTU: the first answer to a request, the last of the message. */
const SHORT_PACKETS = 2;
const MTU_MIN_BYTES = 256;
const WORD_BYTES = 4;
const WORD_SHIFT = 2;
const ALIGNMENT = 8;
const BYTE_MAX = 255;
const DWORD_MAX = 0xffffffff;
/** Shorter copies are quicker by a loop than with a view made for them. */
const LOOP_BYTES = 256;

/** Where packets come from: each starts at a multiple of 4. */
export interface PacketBytes {
  readonly bytes: Uint8Array;
  readonly words: Int32Array;
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
  /** All slots; software that fills one writes `Field` numbers from `slotOf` on. */
  readonly words: Int32Array;
  #read = 0;
  readonly #mask: number;
  readonly #slotWords: number;
  readonly #times: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #block = newTraceBlock();

  constructor(blocksLog2: number, snapLength: number) {
    this.blocks = 2 ** blocksLog2;
    this.snapLength = snapLength;
    this.#mask = this.blocks - 1;
    this.#slotWords = countSlotWords(snapLength);
    this.words = new Int32Array(this.blocks * this.#slotWords);
    this.#times = new Float64Array(this.words.buffer);
    this.#bytes = new Uint8Array(this.words.buffer);
  }

  /** Memory a ring takes. */
  static sizeBytes(blocksLog2: number, snapLength: number): number {
    return 2 ** blocksLog2 * countSlotWords(snapLength) * WORD_BYTES;
  }

  /** Oldest block still there. */
  get tail(): number {
    return Math.max(0, this.head - this.blocks);
  }

  /** Blocks before `position` have been read: it is no loss when they are overwritten. */
  noteRead(position: number): void {
    if (position > this.#read) this.#read = position;
  }

  /** Begins a block, all zeros; the oldest one makes room. Returns its running number. */
  begin(timeNs: number): number {
    const index = this.head++;
    if (index - this.blocks >= this.#read) this.lost++;
    const at = this.slotOf(index);
    const { words } = this;
    for (let field = at; field < at + TIMES; field++) words[field] = 0;
    this.#times[(at + TIMES) >> 1] = timeNs;
    return index;
  }

  /** The block has begun and is not overwritten. */
  has(index: number): boolean {
    return index >= 0 && index >= this.head - this.blocks;
  }

  /** Where the numbers of a block begin in `words`. */
  slotOf(index: number): number {
    return (index & this.#mask) * this.#slotWords;
  }

  get(index: number, field: Field): number {
    return this.words[this.slotOf(index) + field];
  }

  /** When the message ended, or until that when the packet kept last was sent or received. */
  setEnd(index: number, timeNs: number): void {
    this.#times[((this.slotOf(index) + TIMES) >> 1) + 1] = timeNs;
  }

  /** Every packet seen so far has been kept, and there is one. */
  allKept(index: number): boolean {
    const at = this.slotOf(index);
    const kept = this.words[at + Field.PACKETS_KEPT];
    return kept > 0 && kept >= this.words[at + Field.PACKETS];
  }

  end(index: number, status: number, fault: number): void {
    const { words } = this;
    const at = this.slotOf(index);
    words[at + Field.STATUS] = status;
    words[at + Field.FAULT] = fault;
    words[at + Field.COMPLETE] = 1;
  }

  /** Would a packet be kept whose payload of `lengthBytes` begins `done` bytes into the message? Not what is there already (it was sent again), nor what is beyond the snap length. */
  wants(index: number, done: number, lengthBytes: number): boolean {
    const at = this.slotOf(index);
    return done === this.words[at + Field.KEPT] && (done < this.snapLength || lengthBytes === 0 || done === 0);
  }

  /** Keeps a packet that is wanted: headers at `offset`, payload behind them, as far as the snap length goes. */
  keep(index: number, timeNs: number, source: PacketBytes, offset: number, headers: number, payload: number): void {
    const { words } = this;
    const at = this.slotOf(index);
    const kept = words[at + Field.KEPT];
    const length = Math.min(payload, this.snapLength - kept);
    const used = words[at + Field.PACKET_WORDS];
    const count = PACKET_HEAD_WORDS + ((headers + length + WORD_BYTES - 1) >>> WORD_SHIFT);
    const target = at + PACKETS_AT + used;
    if (target + count > at + this.#slotWords) return;
    words[at + Field.KEPT] = kept + length;
    words[at + Field.PACKETS_KEPT]++;
    words[at + Field.PACKET_WORDS] = used + count;
    words[target] = headers;
    words[target + 1] = length;
    const begin = (at + TIMES) >> 1;
    words[target + 2] = Math.min(timeNs - this.#times[begin], DWORD_MAX);
    this.#times[begin + 1] = timeNs;
    this.#copy(target + PACKET_HEAD_WORDS, source, offset, headers + length);
  }

  /** Bytes `encode` writes for a block. */
  encodedBytes(index: number): number {
    return TRACE_BLOCK_SIZE + this.#keptBytes(index);
  }

  /** Writes a block as software reads it: `trace-block`, packets, padding. `view` is that of `target`. Returns the bytes written. */
  encode(index: number, of: TracedQueuePair, target: Uint8Array, view: DataView, at: number): number {
    const lengthBytes = this.encodedBytes(index);
    target.fill(0, at, at + lengthBytes);
    this.#encodeBlock(index, of, view, at);
    const { words } = this;
    let from = this.slotOf(index) + PACKETS_AT;
    let to = at + TRACE_BLOCK_SIZE;
    for (let left = this.get(index, Field.PACKETS_KEPT); left > 0; left--) {
      const bytes = words[from] + words[from + 1];
      setTracePacketHeaderLength(view, to, words[from]);
      setTracePacketPayloadLength(view, to, words[from + 1]);
      setTracePacketTime(view, to, words[from + 2] >>> 0);
      from += PACKET_HEAD_WORDS;
      to += TRACE_PACKET_SIZE;
      target.set(this.#bytes.subarray(from * WORD_BYTES, from * WORD_BYTES + bytes), to);
      from += (bytes + WORD_BYTES - 1) >>> WORD_SHIFT;
      to += align(bytes, WORD_BYTES);
    }
    return lengthBytes;
  }

  #keptBytes(index: number): number {
    const packets = this.get(index, Field.PACKETS_KEPT);
    const words = this.get(index, Field.PACKET_WORDS) - packets * PACKET_HEAD_WORDS;
    return align(packets * TRACE_PACKET_SIZE + words * WORD_BYTES, ALIGNMENT);
  }

  /** Short runs by words, up to three bytes more than asked for, which fall into padding. */
  #copy(target: number, source: PacketBytes, offset: number, lengthBytes: number): void {
    if (lengthBytes > LOOP_BYTES)
      return this.#bytes.set(source.bytes.subarray(offset, offset + lengthBytes), target * WORD_BYTES);
    const from = source.words;
    const to = this.words;
    const first = offset >>> WORD_SHIFT;
    const count = (lengthBytes + WORD_BYTES - 1) >>> WORD_SHIFT;
    for (let word = 0; word < count; word++) to[target + word] = from[first + word];
  }

  #encodeBlock(index: number, of: TracedQueuePair, view: DataView, at: number): void {
    const block = this.#block;
    const times = (this.slotOf(index) + TIMES) >> 1;
    block.qpn = of.qpn;
    block.serviceType = of.serviceType;
    block.port = of.port;
    block.index = index;
    block.receive = this.get(index, Field.RECEIVE);
    block.complete = this.get(index, Field.COMPLETE);
    block.beginTime = this.#times[times];
    block.endTime = block.complete === 1 ? this.#times[times + 1] : 0;
    block.opcode = this.get(index, Field.OPCODE);
    block.status = this.get(index, Field.STATUS);
    block.faultKind = this.get(index, Field.FAULT);
    block.sequence = this.get(index, Field.SEQUENCE);
    block.packetsKept = this.get(index, Field.PACKETS_KEPT);
    block.keptBytes = this.#keptBytes(index);
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

/** An even number: times are doubles. */
function countSlotWords(snapLength: number): number {
  const others = Math.floor(snapLength / MTU_MIN_BYTES) + SHORT_PACKETS;
  const packets = PACKET_HEAD_WORDS + FIRST_HEADERS_WORDS + others * (PACKET_HEAD_WORDS + HEADERS_WORDS);
  return align(PACKETS_AT + packets + align(snapLength, WORD_BYTES) / WORD_BYTES, 2);
}

function align(value: number, to: number): number {
  return Math.ceil(value / to) * to;
}
