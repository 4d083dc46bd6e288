// SPDX-License-Identifier: Apache-2.0
// Turns the library's region callback into aligned accesses of 1, 2, 4 or 8 bytes. The bytes pass through one persistent
// native block (memcpy, 27 ns) that every handler sees as the same DataView, so an access allocates nothing.
// An access inside a region is always answered (vfio-user.md section 6: cloud-hypervisor hangs on errors): when a handler
// throws, a read gives all ones, as PCIe does for a failed read.

import { allocateNative, memcpy, memset, type NativeBlock } from './native.ts';

/** Answers the accesses to one region. Offsets are naturally aligned to `sizeBytes`, which is 1, 2, 4 or 8. */
export interface RegionHandler {
  /** Put `sizeBytes` little-endian bytes at the start of `data`, which holds zeros. It is valid during the call only. */
  read(offset: number, sizeBytes: number, data: DataView): void;
  /** `data` starts with the `sizeBytes` little-endian bytes written. It is valid during the call only. */
  write(offset: number, sizeBytes: number, data: DataView): void;
}

/** What the library calls: the number of bytes done, which is always all of them. */
export type RegionAccess = (ctx: number, buf: number, count: number, offset: number, isWrite: boolean) => number;

let sharedBounce: NativeBlock | undefined;

/** Makes the callback for one region. `onError` gets what the handler threw; it must not throw. */
export function makeRegionAccess(handler: RegionHandler, onError: (error: unknown) => void): RegionAccess {
  sharedBounce ??= allocateNative(8);
  const { address: bounce, view } = sharedBounce;

  function accessPiece(buf: number, size: number, offset: number, isWrite: boolean): void {
    if (isWrite) {
      memcpy(bounce, buf, size);
      handler.write(offset, size, view);
    } else {
      view.setUint32(0, 0, true);
      view.setUint32(4, 0, true);
      handler.read(offset, size, view);
      memcpy(buf, bounce, size);
    }
  }

  function guardedPiece(buf: number, size: number, offset: number, isWrite: boolean): void {
    try {
      accessPiece(buf, size, offset, isWrite);
    } catch (error) {
      if (!isWrite) memset(buf, 0xff, size);
      onError(error);
    }
  }

  return (_ctx, buf, count, offset, isWrite) => {
    if (isNatural(count, offset)) {
      guardedPiece(buf, count, offset, isWrite);
      return count;
    }
    for (let done = 0; done < count; ) {
      const size = naturalPiece(offset + done, count - done);
      guardedPiece(buf + done, size, offset + done, isWrite);
      done += size;
    }
    return count;
  };
}

function isNatural(count: number, offset: number): boolean {
  return (count === 4 || count === 8 || count === 2 || count === 1) && (offset & (count - 1)) === 0;
}

/** The largest aligned piece of at most 8 bytes at `offset`, not longer than `left`. */
export function naturalPiece(offset: number, left: number): number {
  let size = 8;
  while (size > left || (offset & (size - 1)) !== 0) size >>= 1;
  return size;
}
