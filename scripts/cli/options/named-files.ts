// SPDX-License-Identifier: Apache-2.0
/**
 * Files that users name on a command line. Whatever such a path is, no command blocks on it, and no
 * other file is changed: a FIFO without a reader or writer, a device, a folder, or a file that the
 * same command reads is refused with one sentence. Called by commands before they start anything.
 */
import {
  accessSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  type Stats,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import { isSameFile } from '../../../protocol/system/same-file.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { UsageError } from './usage-error.ts';

const { O_RDONLY, O_NONBLOCK, R_OK, W_OK, X_OK } = constants;
const PIPE_BYTES = 65536;
const PIPE_LOOK_MS = 10;

/** Kinds of paths that are allowed beside a file. */
export interface AllowedKinds {
  readonly fifo?: boolean;
  readonly folder?: boolean;
  readonly blockDevice?: boolean;
  readonly characterDevice?: boolean;
}

/** Reason why the path cannot be used, if it cannot. */
export function objectToKind(status: Stats, allowed: AllowedKinds): string | undefined {
  if (status.isDirectory() && !allowed.folder) return 'it is a folder; name a file';
  if (status.isFIFO() && !allowed.fifo) return 'it is a FIFO; name a file';
  if (status.isSocket()) return 'it is a socket; name a file';
  if (status.isBlockDevice() && !allowed.blockDevice) return 'it is a disk; name a file';
  if (status.isCharacterDevice() && !allowed.characterDevice) return 'it is a device; name a file';
  return undefined;
}

/** Throws UsageError unless the path has an allowed kind and this user may read it. */
export function checkInput(name: string, path: string, allowed: AllowedKinds = {}): void {
  let objection: string | undefined;
  try {
    objection = objectToKind(statSync(path), allowed);
    if (objection === undefined) accessSync(path, R_OK);
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'ENOENT';
    throw new UsageError(
      `${name} names ${path}, which ${isMissing ? 'does not exist' : `cannot be read ${errnoWords(error)}`}`,
    );
  }
  if (objection !== undefined) throw new UsageError(`${name} names ${path}, but ${objection}`);
}

/**
 * Throws UsageError when the path can be no output: it is of another kind, or one of the other
 * paths of the command; SetupError when it cannot be written. Writes nothing.
 */
export function checkOutput(name: string, path: string, others: readonly string[], allowed: AllowedKinds = {}): void {
  const same = others.find((other) => isSameFile(path, other));
  if (same !== undefined)
    throw new UsageError(`${name} names ${path}, which this command also uses as ${same}; name another file`);
  let objection: string | undefined;
  try {
    const status = statSync(path, { throwIfNoEntry: false });
    if (status !== undefined) objection = objectToKind(status, { characterDevice: true, ...allowed });
    if (objection === undefined && status !== undefined) accessSync(path, W_OK);
    if (status === undefined) accessSync(dirname(resolve(path)), W_OK | X_OK);
  } catch (error) {
    throw new SetupError(`${name} names ${path}, which cannot be written ${errnoWords(error)}`);
  }
  if (objection !== undefined) throw new UsageError(`${name} names ${path}, but ${objection}`);
}

/**
 * The bytes of a file, or of a pipe with a writer. Throws SetupError with one sentence that begins
 * with `what`.
 */
export function readNamedFile(what: string, path: string): Buffer {
  let fd = -1;
  try {
    // Opening a FIFO would wait for its writer.
    fd = openSync(path, O_RDONLY | O_NONBLOCK);
    const status = fstatSync(fd);
    const objection = objectToKind(status, { fifo: true });
    if (objection !== undefined) throw new SetupError(`${what} cannot be read: ${objection}`);
    const bytes = status.isFIFO() ? readPipe(fd) : readFileSync(fd);
    if (bytes === undefined) throw new SetupError(`${what} cannot be read: nobody writes to this FIFO`);
    return bytes;
  } catch (error) {
    if (error instanceof SetupError) throw error;
    throw new SetupError(`${what} cannot be read ${errnoWords(error)}`);
  } finally {
    if (fd >= 0) closeSync(fd);
  }
}

/** All bytes until the writers have closed it; undefined when there is no writer. */
function readPipe(fd: number): Buffer | undefined {
  const parts: Buffer[] = [];
  let hasWriter = false;
  for (;;) {
    const part = Buffer.alloc(PIPE_BYTES);
    const read = readSome(fd, part);
    if (read === 0) return hasWriter ? Buffer.concat(parts) : undefined;
    hasWriter = true;
    if (read === undefined) pauseMs(PIPE_LOOK_MS);
    else parts.push(part.subarray(0, read));
  }
}

/** Undefined when there is nothing yet. */
function readSome(fd: number, part: Buffer): number | undefined {
  try {
    return readSync(fd, part);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined;
    throw error;
  }
}

/** Waits for the other end of a pipe, as a read or write that blocks would. */
export function pauseMs(time: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, time);
}
