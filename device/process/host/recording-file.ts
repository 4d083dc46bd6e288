// SPDX-License-Identifier: Apache-2.0
/**
 * The file of a recording. Writes are synchronous: after a kill the file has everything up to the
 * last chunk. A full disk, another error or the limit of size ends the recording, never the
 * session; the file then holds whole chunks, which replay.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, statSync, writeSync } from 'node:fs';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import { FILE_LIMIT_BYTES } from '../../hosts/file-limits.ts';

/** A recording that cannot be written. */
class RecordingError extends Error {
  override name = 'RecordingError';
}

interface RecordingFileOptions {
  readonly path: string;
  /** The recording ends before it would become longer. */
  readonly limitBytes?: number | undefined;
  /** Called once, with one sentence, when the recording ends before `close`. */
  readonly onEnd: (sentence: string) => void;
}

/** A file open for writing until `close`. */
export class RecordingFile {
  readonly path: string;
  /** Bytes of the chunks that the file has whole. */
  bytesWritten = 0;
  readonly #limitBytes: number;
  readonly #onEnd: (sentence: string) => void;
  #fd: number;

  /** Creates or truncates the file. Throws RecordingError when it cannot be opened. */
  constructor(options: RecordingFileOptions) {
    const { path, limitBytes = FILE_LIMIT_BYTES, onEnd } = options;
    this.path = path;
    this.#limitBytes = limitBytes;
    this.#onEnd = onEnd;
    const status = statSync(path, { throwIfNoEntry: false });
    // To open a FIFO waits for its reader, and to write waits until the reader has read.
    if (status?.isFIFO())
      throw new RecordingError(`${path} is a FIFO, whose reader could stop the adapter: record to a file`);
    if (status?.isBlockDevice()) throw new RecordingError(`${path} is a disk: record to a file`);
    try {
      this.#fd = openSync(path, 'w');
    } catch (error) {
      throw new RecordingError(`the recording ${path} cannot be written ${errnoWords(error)}`);
    }
  }

  /** Appends a chunk; ignored after the end of the recording. */
  readonly sink = (chunk: Uint8Array): void => {
    if (this.#fd < 0) return;
    if (this.bytesWritten + chunk.length > this.#limitBytes)
      return this.#end(`has reached its limit of ${this.#limitBytes} bytes`);
    try {
      for (let done = 0; done < chunk.length; ) done += writeSync(this.#fd, chunk, done);
      this.bytesWritten += chunk.length;
    } catch (error) {
      this.#end(`cannot be written any more ${errnoWords(error)}`);
    }
  };

  close(): void {
    if (this.#fd >= 0) closeSync(this.#fd);
    this.#fd = -1;
  }

  #end(why: string): void {
    try {
      // A part of a chunk is of no use without the rest.
      if (fstatSync(this.#fd).isFile()) ftruncateSync(this.#fd, this.bytesWritten);
      this.close();
    } finally {
      this.#fd = -1;
      this.#onEnd(`the recording ${this.path} ends with its first ${this.bytesWritten} bytes: it ${why}`);
    }
  }
}
