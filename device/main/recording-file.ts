// SPDX-License-Identifier: Apache-2.0
/** The file a recording goes to. Written synchronously: what a killed process had gathered is on disk up to its last chunk. */
import { closeSync, openSync, writeSync } from 'node:fs';

/** A recording that cannot be written. */
export class RecordingError extends Error {
  override name = 'RecordingError';
}

export class RecordingFile {
  readonly path: string;
  bytesWritten = 0;
  #fd: number;

  /** Creates or truncates the file. Throws RecordingError when it cannot be opened. */
  constructor(path: string) {
    this.path = path;
    try {
      this.#fd = openSync(path, 'w');
    } catch (error) {
      throw new RecordingError(`the recording ${path} cannot be written (${(error as NodeJS.ErrnoException).code})`);
    }
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
