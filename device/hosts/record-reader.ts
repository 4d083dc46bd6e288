// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the fields of records in sequence. `recording-format.ts` has the format; used by replay.
 */

import { copyBytes } from './copy-bytes.ts';
import { RecordingDamage } from './recording-format.ts';

const SEVEN_BITS = 0x80;
/** From this length on a native comparison is cheaper than a loop. */
const LONG_BYTES = 128;

/** Thrown within a replay when the recording ends inside a record. */
export class EndOfRecording extends Error {}

/** A cursor over records. */
export class RecordReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** Byte offset of the next field. */
  get position(): number {
    return this.#at;
  }

  set position(at: number) {
    this.#at = at;
  }

  get atEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  /** The part of all bytes that has been read; 1 of no bytes. */
  get progress(): number {
    return this.atEnd ? 1 : this.#at / this.#bytes.length;
  }

  /** The next byte, which remains to be read. */
  peek(): number {
    this.#need(1);
    return this.#bytes[this.#at] as number;
  }

  byte(): number {
    this.#need(1);
    return this.#bytes[this.#at++] as number;
  }

  varint(): number {
    const start = this.#at;
    let value = 0;
    let scale = 1;
    do {
      const byte = this.byte();
      value += (byte & (SEVEN_BITS - 1)) * scale;
      if (byte < SEVEN_BITS && value <= Number.MAX_SAFE_INTEGER) return value;
      scale *= SEVEN_BITS;
    } while (scale <= Number.MAX_SAFE_INTEGER);
    throw new RecordingDamage(`The recording is damaged: the number at byte ${start} of its records is too large.`);
  }

  dword(): number {
    this.#need(4);
    this.#at += 4;
    return this.#view.getUint32(this.#at - 4, true);
  }

  double(): number {
    this.#need(8);
    this.#at += 8;
    return this.#view.getFloat64(this.#at - 8, true);
  }

  /** Skips bytes and returns their position. */
  skip(lengthBytes: number): number {
    this.#need(lengthBytes);
    this.#at += lengthBytes;
    return this.#at - lengthBytes;
  }

  copyTo(start: number, lengthBytes: number, target: Uint8Array, targetOffset: number): void {
    copyBytes(target, targetOffset, this.#bytes, start, lengthBytes);
  }

  /** Index of the first byte that differs; -1 if there is none. */
  findDifference(start: number, lengthBytes: number, actual: Uint8Array, actualOffset: number): number {
    if (lengthBytes > LONG_BYTES) {
      const recorded = this.#bytes.subarray(start, start + lengthBytes);
      if (Buffer.compare(recorded, actual.subarray(actualOffset, actualOffset + lengthBytes)) === 0) return -1;
    }
    for (let index = 0; index < lengthBytes; index++) {
      if (this.#bytes[start + index] !== actual[actualOffset + index]) return index;
    }
    return -1;
  }

  byteAt(position: number): number {
    return this.#bytes[position] as number;
  }

  #need(lengthBytes: number): void {
    if (this.#at + lengthBytes > this.#bytes.length) throw new EndOfRecording('The recording ends here.');
  }
}
