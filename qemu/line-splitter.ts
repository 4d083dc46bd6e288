// SPDX-License-Identifier: Apache-2.0
/**
 * Cuts a byte stream into lines of text, whatever pieces it arrives in, and makes them printable:
 * terminal sequences and carriage returns of consoles are removed, other controls are spelled. A
 * line longer than the limit is delivered in pieces, so a guest cannot fill the memory of the host.
 * Called for the console of a guest, its virtio-serial ports and QMP.
 */
import { printable } from '../protocol/system/printable.mjs';

/** Receives each whole line without its end. */
export type LineListener = (line: string) => void;

const LIMIT_BYTES = 1 << 20;

/** Calls `deliver` with each line of the stream that is pushed. */
export class LineSplitter {
  /** Pieces of the line that has no end yet: joined once, however small they are. */
  #rest: Buffer[] = [];
  #restBytes = 0;
  readonly #deliver: LineListener;
  readonly #clean: (line: string) => string;

  /** `clean` makes a line printable; QMP's lines are JSON, which must stay as it is. */
  constructor(deliver: LineListener, clean = (line: string): string => printable(line.replaceAll('\r', ''))) {
    this.#deliver = deliver;
    this.#clean = clean;
  }

  /** Takes the next piece of the stream. */
  push(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      this.#rest.push(chunk.subarray(start, end));
      this.#emit();
      start = end + 1;
    }
    // A copy, because a small piece would keep the whole chunk.
    this.#rest.push(Buffer.from(chunk.subarray(start)));
    this.#restBytes += chunk.length - start;
    if (this.#restBytes > LIMIT_BYTES) this.flush();
  }

  /** Delivers the rest behind the last line end, at the end of the stream. */
  flush(): void {
    if (this.#restBytes > 0) this.#emit();
  }

  #emit(): void {
    const line = Buffer.concat(this.#rest).toString('utf8');
    this.#rest = [];
    this.#restBytes = 0;
    this.#deliver(this.#clean(line));
  }
}
