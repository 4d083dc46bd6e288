// SPDX-License-Identifier: Apache-2.0
/**
 * Writes records into a preallocated chunk and passes full chunks to a sink. `recording-format.ts`
 * has the format; used by `recording.ts`.
 */
import { crc32 } from 'node:zlib';
import { copyBytes } from './copy-bytes.ts';
import { CHUNK_HEADER_BYTES, CHUNK_MAGIC } from './recording-format.ts';

/** Takes a part of the recording. The bytes are valid only during the call. */
export type RecordingSink = (bytes: Uint8Array) => void;

const SEVEN_BITS = 0x80;
const THIRTY_ONE_BITS = 0x8000_0000;
/** Bytes of the longest record without its data: kind, six varints of 8 bytes, two dwords. */
const FIELDS_BYTES = 64;

/** A stream of records. */
export class RecordWriter {
  readonly #sink: RecordingSink;
  readonly #chunk: Uint8Array;
  readonly #view: DataView;
  #at = CHUNK_HEADER_BYTES;

  /** `chunkBytes`: size of a chunk with its header. */
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

  /** Starts a record; its fields fit into the chunk. */
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

  /** Bytes of any length; they may extend over several chunks. */
  bytes(source: Uint8Array, offset: number, lengthBytes: number): void {
    for (let done = 0; done < lengthBytes; ) {
      if (this.#at === this.#chunk.length) this.flush();
      const piece = Math.min(lengthBytes - done, this.#chunk.length - this.#at);
      copyBytes(this.#chunk, this.#at, source, offset + done, piece);
      this.#at += piece;
      done += piece;
    }
  }

  /** Passes the present chunk to the sink. */
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

/** True if `varint` can encode the value. */
export function fitsVarint(value: number): boolean {
  return value >= 0 && Number.isSafeInteger(value);
}
