// SPDX-License-Identifier: Apache-2.0
/**
 * Writes a file that a command was asked for. On a disk that is full the file keeps what can be
 * used of it, and one sentence says how much that is. Called by `trace export`, `replay --export`,
 * `topology --picture` and `test --junit`.
 */
import { closeSync, fstatSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { SetupError } from '../../qemu/setup/errors.ts';

/** The usable part of the first `end` bytes: the number of its bytes. */
export type UsablePart = (bytes: Uint8Array, end: number) => number;

const NEWLINE = 10;

/** Of a text whose lines mean something by themselves. */
export const wholeLines: UsablePart = (bytes, end) => (end === 0 ? 0 : bytes.lastIndexOf(NEWLINE, end - 1) + 1);

/** Of a file that is of no use in part. */
export const nothing: UsablePart = () => 0;

/** Throws SetupError with one sentence; `what` begins it. */
export function writeOutput(what: string, path: string, content: string | Uint8Array, usable: UsablePart): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  let fd = -1;
  let done = 0;
  try {
    fd = openSync(path, 'w');
    while (done < bytes.length) done += writeSync(fd, bytes, done);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (fd < 0) throw new SetupError(`${what} cannot be written (${code})`);
    const kept = usable(bytes, done);
    if (fstatSync(fd).isFile()) ftruncateSync(fd, kept);
    throw new SetupError(`${what} cannot be written (${code}): its first ${kept} of ${bytes.length} bytes are kept`);
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}
