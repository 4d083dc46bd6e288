// SPDX-License-Identifier: Apache-2.0
/**
 * Cuts the first line off a stream of bytes, whatever pieces it comes in. exec-service.ts so learns
 * the process group of a command.
 */
const NEWLINE = 10;

export class LeadingLine {
  /** Resolves with the line, without its end. */
  readonly line: Promise<string>;
  #resolve: (line: string) => void = () => {};
  #pieces: Buffer[] | undefined = [];

  constructor() {
    this.line = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Takes the next piece; returns what is behind the line. */
  cut(chunk: Buffer): Buffer {
    if (this.#pieces === undefined) return chunk;
    const end = chunk.indexOf(NEWLINE);
    this.#pieces.push(end < 0 ? chunk : chunk.subarray(0, end));
    if (end < 0) return Buffer.alloc(0);
    this.#resolve(Buffer.concat(this.#pieces).toString());
    this.#pieces = undefined;
    return chunk.subarray(end + 1);
  }
}
