// SPDX-License-Identifier: Apache-2.0
// Native memory and the few libc calls the binding needs. Addresses cross the boundary as Numbers (`uint64_t` to koffi):
// user space ends below 2^47, and a BigInt per call would be an allocation per register access.

import koffi from 'koffi';

const libc = koffi.load(null);

/** Copies between native addresses: 27 ns however few the bytes, a fifth of `koffi.encode` (measured). */
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

/** The errno of the native call just made; read it in the next statement. */
export function lastErrno(): number {
  return koffi.errno();
}

/** errno numbers by name, as this machine has them. */
export const errno = koffi.os.errno as Readonly<Record<string, number>>;

/** A block of native memory with views onto it. Lives as long as the process: nothing frees it while it is referenced. */
export interface NativeBlock {
  readonly address: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly view: DataView<ArrayBuffer>;
  /** Gives the memory back; no view may be touched afterwards. */
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

/** An ArrayBuffer that is `lengthBytes` of this process's memory at `address`. At most 4 GiB: more aborts Node 20. */
export function viewNative(address: number, lengthBytes: number): ArrayBuffer {
  return koffi.view(BigInt(address), lengthBytes);
}
