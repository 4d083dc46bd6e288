// SPDX-License-Identifier: Apache-2.0
/**
 * Native memory and the few libc calls that the binding needs. Addresses cross the FFI as Numbers
 * (`uint64_t` to koffi): user space ends below 2^47, and BigInts would allocate on every register
 * access.
 */
import koffi from 'koffi';

const libc = koffi.load(null);

/** Copies between native addresses; 27 ns for a few bytes, a fifth of `koffi.encode` (measured). */
export const memcpy: (target: number, source: number, lengthBytes: number) => void = libc.func('memcpy', 'void', [
  'uint64_t',
  'uint64_t',
  'size_t',
]);

export const memset: (target: number, byte: number, lengthBytes: number) => void = libc.func('memset', 'void', [
  'uint64_t',
  'int',
  'size_t',
]);

export const closeFd: (fd: number) => number = libc.func('int close(int fd)');

const SHUT_RD = 0;
const shutdown = libc.func('int shutdown(int fd, int how)');

/**
 * Stops the peer of a UNIX socket from sending: its writes fail with EPIPE. Data that it has sent
 * can still be received; the end of the stream follows.
 */
export function stopReceiving(fd: number): void {
  shutdown(fd, SHUT_RD);
}

/** errno of the last native call; must be read in the next statement. */
export function lastErrno(): number {
  return koffi.errno();
}

/** errno numbers of this machine by name. */
export const errno = koffi.os.errno as Readonly<Record<string, number>>;

/** A block of native memory with views onto it. It lives until `free`. */
export interface NativeBlock {
  readonly address: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
  /** Frees the memory; the views are invalid afterwards. */
  free(): void;
}

export function allocateNative(lengthBytes: number): NativeBlock {
  const pointer = koffi.alloc('uint8_t', lengthBytes);
  const buffer = koffi.view(pointer, lengthBytes);
  const bytes = new Uint8Array(buffer);
  bytes.fill(0);
  return {
    address: Number(koffi.address(pointer)),
    bytes,
    view: new DataView(buffer),
    free: () => koffi.free(pointer),
  };
}

/** An ArrayBuffer over memory of this process. At most 4 GiB: Node 20 aborts on more. */
export function viewNative(address: number, lengthBytes: number): ArrayBuffer {
  return koffi.view(BigInt(address), lengthBytes);
}
