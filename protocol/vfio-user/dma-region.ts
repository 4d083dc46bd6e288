// SPDX-License-Identifier: Apache-2.0
/**
 * A range of guest memory that libvfio-user has mapped into this process. The first access creates
 * the views, because a koffi.view costs about 22 us and firmware remaps all memory many times
 * before any access. A view covers a window of 1 GiB, because Node 20 aborts on views above 4 GiB.
 * After unregistration the memory is unmapped, and an access through a view would be a segmentation
 * fault: `GuestMemory`, the only one that keeps a window, drops it whenever its table changes.
 */
import { PROTECTION } from './constants.ts';
import { viewNative } from './native.ts';
import { ViewCache } from './view-cache.ts';

/** A DMA region as the library reports it. Addresses are guest-physical unless named otherwise. */
export interface DmaRegionInfo {
  readonly address: number;
  readonly sizeBytes: number;
  /** Address of the mapping in this process; 0 if the client sent no file descriptor. */
  readonly hostAddress: number;
  /** `PROTECTION` bits. */
  readonly protection: number;
}

export const WINDOW_BYTES = 2 ** 30;

export interface Window {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly words: Int32Array<ArrayBuffer>;
  readonly quads: BigUint64Array<ArrayBuffer>;
  /** Views of pieces of `bytes`. */
  readonly views: ViewCache;
}

const NO_BYTES = new Uint8Array(0);

/** A window without memory. */
export const NO_WINDOW: Window = {
  bytes: NO_BYTES,
  views: new ViewCache(NO_BYTES),
  words: new Int32Array(0),
  quads: new BigUint64Array(0),
};

export class DmaRegion implements DmaRegionInfo {
  readonly address: number;
  readonly sizeBytes: number;
  readonly hostAddress: number;
  readonly protection: number;
  /** First address after the region. */
  readonly end: number;
  readonly mapped: boolean;
  readonly readable: boolean;
  readonly writable: boolean;
  readonly #windows: (Window | undefined)[];

  constructor(info: DmaRegionInfo) {
    this.address = info.address;
    this.sizeBytes = info.sizeBytes;
    this.hostAddress = info.hostAddress;
    this.protection = info.protection;
    this.end = info.address + info.sizeBytes;
    this.mapped = info.hostAddress !== 0;
    this.readable = this.mapped && (info.protection & PROTECTION.read) !== 0;
    this.writable = this.mapped && (info.protection & PROTECTION.write) !== 0;
    this.#windows = new Array(Math.ceil(info.sizeBytes / WINDOW_BYTES)).fill(undefined);
  }

  /**
   * Window `index`, from byte index * WINDOW_BYTES of the region on. It is valid until the region
   * is unregistered.
   */
  window(index: number): Window {
    return this.#windows[index] ?? this.#open(index);
  }

  #open(index: number): Window {
    const start = index * WINDOW_BYTES;
    const length = Math.min(WINDOW_BYTES, this.sizeBytes - start);
    const buffer = viewNative(this.hostAddress + start, length);
    const bytes = new Uint8Array(buffer);
    const window = {
      bytes,
      views: new ViewCache(bytes),
      words: new Int32Array(buffer, 0, Math.floor(length / 4)),
      quads: new BigUint64Array(buffer, 0, Math.floor(length / 8)),
    };
    this.#windows[index] = window;
    return window;
  }
}
