// SPDX-License-Identifier: Apache-2.0
/**
 * Splits region accesses of the library into aligned accesses of 1, 2, 4 or 8 bytes. All bytes pass
 * through one native block, which every handler sees as the same DataView, so an access allocates
 * nothing. An access inside a region always succeeds, because some clients hang on an error reply:
 * if a handler throws, or its device is gone or in D3hot, a read returns all ones, as a failed PCIe
 * read does.
 */
import { allocateNative, memcpy, memset, type NativeBlock } from './native.ts';

/** Value of each byte of a read when no device answers. */
export const ONES = 0xff;

/** Handler of one region. `sizeBytes` is 1, 2, 4 or 8, and offsets are naturally aligned. */
export interface RegionHandler {
  /**
   * Stores `sizeBytes` little-endian bytes at the start of `data`: zeros, valid during the call.
   */
  read(offset: number, sizeBytes: number, data: DataView): void;
  /** Takes `sizeBytes` little-endian bytes from the start of `data`, valid during the call. */
  write(offset: number, sizeBytes: number, data: DataView): void;
}

/** Callback of the library; returns the number of bytes done, which is always `count`. */
export type RegionCallback = (ctx: number, buf: number, count: number, offset: number, isWrite: boolean) => number;

/** Whether calls reach the device of a context. */
export interface DeviceState {
  /** No call reaches the device any longer, because it has failed. */
  gone: boolean;
  /** No access of a BAR reaches the device, because it is in D3hot. */
  asleep: boolean;
}

let sharedBounce: NativeBlock | undefined;

/**
 * Returns the callback of one region. `onError` receives exceptions of the handler and of
 * `written`, which is called after each write; it must not throw.
 */
export function makeRegionAccess(
  handler: RegionHandler,
  device: Readonly<DeviceState>,
  onError: (error: unknown) => void,
  written?: () => void,
): RegionCallback {
  sharedBounce ??= allocateNative(8);
  const { address: bounce, view } = sharedBounce;

  function accessPiece(buf: number, size: number, offset: number, isWrite: boolean): void {
    if (isWrite) {
      memcpy(bounce, buf, size);
      handler.write(offset, size, view);
      written?.();
    } else {
      view.setUint32(0, 0, true);
      view.setUint32(4, 0, true);
      handler.read(offset, size, view);
      memcpy(buf, bounce, size);
    }
  }

  function guardedPiece(buf: number, size: number, offset: number, isWrite: boolean): void {
    try {
      if (!device.gone && !device.asleep) accessPiece(buf, size, offset, isWrite);
      else if (!isWrite) memset(buf, ONES, size);
    } catch (error) {
      if (!isWrite) memset(buf, ONES, size);
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

/** Size of the largest aligned access at `offset`, at most 8 and at most `left` bytes. */
export function naturalPiece(offset: number, left: number): number {
  let size = 8;
  while (size > left || (offset & (size - 1)) !== 0) size >>= 1;
  return size;
}
