// SPDX-License-Identifier: Apache-2.0
/** Writes the records of a recording into preallocated chunks and hands full ones to a sink. The format is `recording-format.ts`'s; `recording.ts` calls this. */
import { crc32 } from 'node:zlib';
import { copyBytes } from './copy-bytes.ts';
import { CHUNK_HEADER_BYTES, CHUNK_MAGIC } from './recording-format.ts';

/** Takes a piece of the recording. The bytes are valid during the call only. */
export type RecordingSink = (bytes: Uint8Array) => void;

const SEVEN_BITS = 0x80;
const THIRTY_ONE_BITS = 0x8000_0000;
/** Longest run of fields between two `open` calls: kind, six varints of at most 8 bytes, two dwords. */
const FIELDS_BYTES = 64;

/** A stream of records. */
export class RecordWriter {
  readonly #sink: RecordingSink;
  readonly #chunk: Uint8Array;
  readonly #view: DataView;
  #at = CHUNK_HEADER_BYTES;

  /** @param chunkBytes size of a chunk, its header included. */
  constructor(sink: RecordingSink, chunkBytes = 256 * 1024) {
    if (chunkBytes < CHUNK_HEADER_BYTES + 2 * FIELDS_BYTES) {
      throw new Error(
        `Chunks of ${chunkBytes} bytes are too small; take at least ${CHUNK_HEADER_BYTES + 2 * FIELDS_BYTES}.`,
      );
    }
    this.#sink = sink;
    this.#chunk = new Uint8Array(chunkBytes);
    this.#view = new DataView(this.#chunk.buffer);
  }

  /** Starts a record; the fields that follow fit into the chunk. */
  open(kind: number): void {
    if (this.#at + FIELDS_BYTES > this.#chunk.length) this.flush();
    this.#chunk[this.#at++] = kind;
  }

  byte(value: number): void {
    this.#chunk[this.#at++] = value;
  }

  /** A non-negative integer below 2^53. */
  varint(value: number): void {
    const chunk = this.#chunk;
    let at = this.#at;
    let rest = value;
    while (rest >= THIRTY_ONE_BITS) {
      chunk[at++] = (rest % SEVEN_BITS) | SEVEN_BITS;
      rest = Math.floor(rest / SEVEN_BITS);
    }
    while (rest >= SEVEN_BITS) {
      chunk[at++] = (rest & (SEVEN_BITS - 1)) | SEVEN_BITS;
      rest >>>= 7;
    }
    chunk[at++] = rest;
    this.#at = at;
  }

  dword(value: number): void {
    this.#view.setUint32(this.#at, value, true);
    this.#at += 4;
  }

  double(value: number): void {
    this.#view.setFloat64(this.#at, value, true);
    this.#at += 8;
  }

  /** Bytes of any length; they may run over several chunks. */
  bytes(source: Uint8Array, offset: number, lengthBytes: number): void {
    for (let done = 0; done < lengthBytes; ) {
      if (this.#at === this.#chunk.length) this.flush();
      const piece = Math.min(lengthBytes - done, this.#chunk.length - this.#at);
      copyBytes(this.#chunk, this.#at, source, offset + done, piece);
      this.#at += piece;
      done += piece;
    }
  }

  /** Hands over what there is. */
  flush(): void {
    if (this.#at === CHUNK_HEADER_BYTES) return;
    const payload = this.#chunk.subarray(CHUNK_HEADER_BYTES, this.#at);
    this.#view.setUint32(0, CHUNK_MAGIC, true);
    this.#view.setUint32(4, payload.length, true);
    this.#view.setUint32(8, crc32(payload), true);
    this.#sink(this.#chunk.subarray(0, this.#at));
    this.#at = CHUNK_HEADER_BYTES;
  }
}

/** Whether `varint` can carry a value. */
export function fitsVarint(value: number): boolean {
  return value >= 0 && Number.isSafeInteger(value);
}
