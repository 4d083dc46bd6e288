// SPDX-License-Identifier: Apache-2.0
/** The file a recording goes to. Written synchronously: what a killed process had gathered is on disk up to its last chunk. */
import { closeSync, openSync, writeSync } from 'node:fs';

export class RecordingFile {
  readonly path: string;
  bytesWritten = 0;
  #fd: number;

  /** Creates or truncates the file. Throws when it cannot be opened. */
  constructor(path: string) {
    this.path = path;
    this.#fd = openSync(path, 'w');
  }

  readonly sink = (chunk: Uint8Array): void => {
    if (this.#fd < 0) return;
    for (let done = 0; done < chunk.length; ) done += writeSync(this.#fd, chunk, done);
    this.bytesWritten += chunk.length;
  };

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }
}
