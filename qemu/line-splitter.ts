// SPDX-License-Identifier: Apache-2.0
/**
 * Cuts a byte stream into lines of text, whatever pieces it arrives in, and removes the carriage
 * returns and terminal escapes of consoles. A line longer than the limit is delivered in pieces, so
 * a guest cannot fill the memory of the host. Called for the console of a guest, its virtio-serial
 * ports and QMP.
 */
import { stripVTControlCharacters } from 'node:util';

/** Receives each whole line without its end. */
export type LineListener = (line: string) => void;

const LIMIT_BYTES = 1 << 20;

/** Calls `deliver` with each line of the stream that is pushed. */
export class LineSplitter {
  #rest = Buffer.alloc(0);
  readonly #deliver: LineListener;

  constructor(deliver: LineListener) {
    this.#deliver = deliver;
  }

  /** Takes the next piece of the stream. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#emit(Buffer.concat([this.#rest, chunk.subarray(start, end)]));
      this.#rest = Buffer.alloc(0);
      start = end + 1;
    }
    this.#rest = Buffer.concat([this.#rest, chunk.subarray(start)]);
    if (this.#rest.length > LIMIT_BYTES) this.flush();
  }

  /** Delivers the rest behind the last line end, at the end of the stream. */
  flush(): void {
    if (this.#rest.length === 0) return;
    const rest = this.#rest;
    this.#rest = Buffer.alloc(0);
    this.#emit(rest);
  }

  #emit(line: Buffer): void {
    this.#deliver(stripVTControlCharacters(line.toString('utf8')).replaceAll('\r', ''));
  }
}
