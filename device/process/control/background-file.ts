// SPDX-License-Identifier: Apache-2.0
/**
 * A file that is written in the background: neither a slow disk nor the reader of a FIFO stops the
 * process. `CaptureFile` writes into one.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, statSync, write } from 'node:fs';

/** Time between two tries to write into a FIFO that is full or has no reader. */
const RETRY_MS = 100;
/** Tries without a byte taken that end a file whose owner waits for its end. */
const LAST_TRIES = 20;
const { O_WRONLY, O_CREAT, O_TRUNC, O_NONBLOCK } = constants;

/** Called when bytes up to `end` are written: all, or those before an error with this code. */
type Written = (end: number, code: string | undefined) => void;

export class BackgroundFile {
  readonly #path: string;
  /** -1 while a FIFO has no reader. */
  #fd: number;
  #tries = 0;
  #hurried = false;

  /** Creates or truncates the file. Throws the error of the system. */
  constructor(path: string) {
    this.#path = path;
    this.#fd = this.#open();
  }

  /** Writes a part of `buffer`, which belongs to the file until `done` is called. */
  write(buffer: Uint8Array, start: number, end: number, done: Written): void {
    const again = (code: string): void => {
      if (this.#hurried && ++this.#tries >= LAST_TRIES) return done(start, code);
      setTimeout(() => this.write(buffer, start, end, done), RETRY_MS);
    };
    if (this.#fd < 0) this.#fd = this.#open();
    if (this.#fd < 0) return again('ENXIO');
    write(this.#fd, buffer, start, end - start, null, (error, written) => {
      if (error?.code === 'EAGAIN') return again('EAGAIN');
      if (error !== null) return done(start, error.code);
      this.#tries = 0;
      if (start + written < end) this.write(buffer, start + written, end, done);
      else done(end, undefined);
    });
  }

  /** From now on a reader that takes nothing is waited for no longer than a few tries. */
  hurry(): void {
    this.#hurried = true;
  }

  /** Closes it; a file on a disk keeps its first `keptBytes`. */
  close(keptBytes: number): void {
    if (this.#fd < 0) return;
    if (fstatSync(this.#fd).isFile()) ftruncateSync(this.#fd, keptBytes);
    closeSync(this.#fd);
  }

  /** Opening a FIFO without a reader fails instead of waiting for one. */
  #open(): number {
    const status = statSync(this.#path, { throwIfNoEntry: false });
    if (status?.isBlockDevice()) throw new Error('it is a disk; name a file');
    try {
      return openSync(this.#path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0o666);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENXIO' && status?.isFIFO()) return -1;
      throw error;
    }
  }
}
