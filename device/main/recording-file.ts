// SPDX-License-Identifier: Apache-2.0
/**
 * The file of a recording. Writes are synchronous: after a kill the file has everything up to the
 * last chunk.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

/** A recording that cannot be written. */
export class RecordingError extends Error {
  override name = 'RecordingError';
}

/** A file open for writing until `close`. */
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

  /** Appends a chunk; ignored after `close`. */
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
