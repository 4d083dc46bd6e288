// SPDX-License-Identifier: Apache-2.0
/**
 * The wrapping queue of command blocks of one traced QP (IPCOM000010133D; DESIGN.md 4.9): fixed memory, a head that only grows, the oldest block is overwritten when
 * it is full. Blocks are kept as columns of numbers, which is quick to fill, and become `trace-block` records when somebody reads them.
 */
import { encodeTraceBlock, newTraceBlock, TRACE_BLOCK_SIZE } from '../../../protocol/layout/gen/trace-block.gen.ts';

/** Numbers of a command block. */
export const Field = {
  OPCODE: 0,
  STATUS: 1,
  FAULT: 2,
  RECEIVE: 3,
  COMPLETE: 4,
  SEQUENCE: 5,
  HEADER_LENGTH: 6,
  FIRST_PSN: 7,
  LAST_PSN: 8,
  RETRIES: 9,
  REMOTE_QPN: 10,
  REMOTE_LID: 11,
  PACKETS: 12,
  LENGTH: 13,
  /** Payload bytes kept. */
  KEPT: 14,
  MSN: 15,
} as const;
export type Field = (typeof Field)[keyof typeof Field];

const FIELDS = 16;
/** More than all headers of a packet. */
const HEADERS_MAX_BYTES = 96;
const ALIGNMENT = 8;
const BYTE_MAX = 255;
/** Shorter copies are quicker by a loop than with a view made for them. */
const LOOP_BYTES = 256;
const WORD_SHIFT = 2;

/** Where bytes come from: everything copied starts at a multiple of 4. */
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
  #read = 0;
  readonly #mask: number;
  readonly #strideBytes: number;
  /** `Field` numbers of all blocks; those of one begin at `slotOf` it. */
  readonly fields: Uint32Array;
  readonly #times: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #words: Int32Array;
  readonly #block = newTraceBlock();

  constructor(blocksLog2: number, snapLength: number) {
    this.blocks = 2 ** blocksLog2;
    this.snapLength = snapLength;
    this.#mask = this.blocks - 1;
    this.#strideBytes = slotBytes(snapLength);
    this.fields = new Uint32Array(this.blocks * FIELDS);
    this.#times = new Float64Array(this.blocks * 2);
    this.#bytes = new Uint8Array(this.blocks * this.#strideBytes);
    this.#words = new Int32Array(this.#bytes.buffer);
  }

  /** Memory a ring takes. */
  static sizeBytes(blocksLog2: number, snapLength: number): number {
    return 2 ** blocksLog2 * (slotBytes(snapLength) + FIELDS * 4 + 2 * 8);
  }

  /** Oldest block still there. */
  get tail(): number {
    return Math.max(0, this.head - this.blocks);
  }

  /** Blocks before `position` have been read: it is no loss when they are overwritten. */
  noteRead(position: number): void {
    if (position > this.#read) this.#read = position;
  }

  /** Begins a block, the oldest one makes room. Returns its running number. */
  begin(timeNs: number): number {
    const index = this.head++;
    if (index - this.blocks >= this.#read) this.lost++;
    const slot = index & this.#mask;
    const { fields } = this;
    const end = (slot + 1) * FIELDS;
    for (let field = slot * FIELDS; field < end; field++) fields[field] = 0;
    this.#times[slot * 2] = timeNs;
    this.#times[slot * 2 + 1] = 0;
    return index;
  }

  /** The block has begun and is not overwritten. */
  has(index: number): boolean {
    return index >= 0 && index >= this.head - this.blocks;
  }

  /** Where the numbers of a block begin. */
  slotOf(index: number): number {
    return (index & this.#mask) * FIELDS;
  }

  get(index: number, field: Field): number {
    return this.fields[this.slotOf(index) + field];
  }

  /** The message has ended. */
  end(index: number, timeNs: number, status: number, fault: number): void {
    this.#times[(index & this.#mask) * 2 + 1] = timeNs;
    const { fields } = this;
    const at = this.slotOf(index);
    fields[at + Field.STATUS] = status;
    fields[at + Field.FAULT] = fault;
    fields[at + Field.COMPLETE] = 1;
  }

  /** Keeps the headers of the message's first packet. */
  keepHeaders(index: number, source: PacketBytes, offset: number, lengthBytes: number): void {
    this.fields[this.slotOf(index) + Field.HEADER_LENGTH] = lengthBytes;
    this.#copy((index & this.#mask) * this.#strideBytes, source, offset, lengthBytes);
  }

  /** Keeps payload that begins `done` bytes into the message, as far as there is room. What is there already (it was sent again) stays. */
  keep(index: number, done: number, source: PacketBytes, offset: number, lengthBytes: number): void {
    const kept = this.slotOf(index) + Field.KEPT;
    if (done !== this.fields[kept]) return;
    const length = Math.min(lengthBytes, this.snapLength - done);
    if (length <= 0) return;
    this.#copy((index & this.#mask) * this.#strideBytes + HEADERS_MAX_BYTES + done, source, offset, length);
    this.fields[kept] = done + length;
  }

  /** Bytes `encode` writes for a block. */
  encodedBytes(index: number): number {
    const length = TRACE_BLOCK_SIZE + this.get(index, Field.HEADER_LENGTH) + this.get(index, Field.KEPT);
    return align(length);
  }

  /** Writes a block as software reads it: `trace-block`, headers, payload, padding. `view` is that of `target`. Returns the bytes written. */
  encode(index: number, of: TracedQueuePair, target: Uint8Array, view: DataView, at: number): number {
    const slot = index & this.#mask;
    const lengthBytes = this.encodedBytes(index);
    target.fill(0, at, at + lengthBytes);
    const headers = this.get(index, Field.HEADER_LENGTH);
    const start = slot * this.#strideBytes;
    target.set(this.#bytes.subarray(start, start + headers), at + TRACE_BLOCK_SIZE);
    const payload = start + HEADERS_MAX_BYTES;
    const kept = this.get(index, Field.KEPT);
    target.set(this.#bytes.subarray(payload, payload + kept), at + TRACE_BLOCK_SIZE + headers);
    this.#encodeBlock(index, of, view, at);
    return lengthBytes;
  }

  /** Short runs by words, up to three bytes more than asked for, which fall into padding. */
  #copy(at: number, source: PacketBytes, offset: number, lengthBytes: number): void {
    if (lengthBytes > LOOP_BYTES) return this.#bytes.set(source.bytes.subarray(offset, offset + lengthBytes), at);
    const from = source.words;
    const to = this.#words;
    const first = offset >>> WORD_SHIFT;
    const target = at >>> WORD_SHIFT;
    const count = (lengthBytes + 3) >>> WORD_SHIFT;
    for (let word = 0; word < count; word++) to[target + word] = from[first + word];
  }

  #encodeBlock(index: number, of: TracedQueuePair, view: DataView, at: number): void {
    const slot = index & this.#mask;
    const block = this.#block;
    block.qpn = of.qpn;
    block.serviceType = of.serviceType;
    block.port = of.port;
    block.index = index;
    block.beginTime = this.#times[slot * 2];
    block.endTime = this.#times[slot * 2 + 1];
    block.receive = this.get(index, Field.RECEIVE);
    block.complete = this.get(index, Field.COMPLETE);
    block.opcode = this.get(index, Field.OPCODE);
    block.status = this.get(index, Field.STATUS);
    block.faultKind = this.get(index, Field.FAULT);
    block.sequence = this.get(index, Field.SEQUENCE);
    block.headerLength = this.get(index, Field.HEADER_LENGTH);
    block.firstPsn = this.get(index, Field.FIRST_PSN);
    block.lastPsn = this.get(index, Field.LAST_PSN);
    block.retries = Math.min(this.get(index, Field.RETRIES), BYTE_MAX);
    block.packets = Math.min(this.get(index, Field.PACKETS), BYTE_MAX);
    block.remoteQpn = this.get(index, Field.REMOTE_QPN);
    block.remoteLid = this.get(index, Field.REMOTE_LID);
    block.messageLength = this.get(index, Field.LENGTH);
    block.snapLength = this.get(index, Field.KEPT);
    block.truncated = block.messageLength > this.snapLength ? 1 : 0;
    block.messageSequence = this.get(index, Field.MSN);
    encodeTraceBlock(view, at, block);
  }
}

function slotBytes(snapLength: number): number {
  return HEADERS_MAX_BYTES + align(snapLength);
}

function align(lengthBytes: number): number {
  return Math.ceil(lengthBytes / ALIGNMENT) * ALIGNMENT;
}
