// SPDX-License-Identifier: Apache-2.0
/**
 * Writes an output file of a command, in place of an earlier one. On a full disk the file keeps its
 * usable part, and one sentence tells how much that is. Called by `trace export`, `replay
 * --export`, `topology --picture` and `test --junit`.
 */
import { closeSync, constants, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { objectToKind, pauseMs } from './named-files.ts';

/** The usable part of the first `end` bytes: the number of its bytes. */
export type UsablePart = (bytes: Uint8Array, end: number) => number;

const NEWLINE = 10;
const { O_WRONLY, O_CREAT, O_TRUNC, O_NONBLOCK } = constants;
/** After this many checks without progress a write no longer waits for the reader of a FIFO. */
const LOOKS_MAX = 200;
const LOOK_MS = 10;

/** Usable part of a text whose lines have a meaning of their own. */
export const wholeLines: UsablePart = (bytes, end) => (end === 0 ? 0 : bytes.lastIndexOf(NEWLINE, end - 1) + 1);

/** Usable part of a file that cannot be used in part. */
export const nothing: UsablePart = () => 0;

/** Throws SetupError with one sentence; `what` begins it. */
export function writeOutput(what: string, path: string, content: string | Uint8Array, usable: UsablePart): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  let fd = -1;
  let done = 0;
  try {
    // Opening a FIFO would wait for its reader.
    fd = openSync(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK, 0o666);
    const objection = objectToKind(fstatSync(fd), { fifo: true, characterDevice: true });
    if (objection !== undefined) throw new SetupError(`${what} cannot be written: ${objection}`);
    while (done < bytes.length) done += writeSome(fd, bytes, done);
  } catch (error) {
    if (error instanceof SetupError) throw error;
    if (fd < 0) throw new SetupError(`${what} cannot be written ${errnoWords(error)}`);
    const kept = usable(bytes, done);
    if (fstatSync(fd).isFile()) ftruncateSync(fd, kept);
    const left = `${what} ends with the first ${kept} of its ${bytes.length} bytes`;
    throw new SetupError(`${left}: it cannot be written any more ${errnoWords(error)}`);
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}

/** The number of bytes that were taken, at least one. */
function writeSome(fd: number, bytes: Uint8Array, start: number): number {
  for (let looks = 0; ; looks++) {
    try {
      return writeSync(fd, bytes, start);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN' || looks === LOOKS_MAX) throw error;
      pauseMs(LOOK_MS);
    }
  }
}
