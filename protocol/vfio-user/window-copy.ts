// SPDX-License-Identifier: Apache-2.0
/**
 * Copies between a window of guest memory and a byte array, for `GuestMemory`. A processor of the
 * guest may access a record while the device does. A bus transfers aligned words as a whole, and
 * guests rely on it. Copied byte by byte, a counter that goes from 0x1ff to 0x200 could read as
 * 0x2ff; so small transfers move whole words.
 */
import type { Window } from './dma-region.ts';

/**
 * Up to this size a loop is faster than `set(subarray)`, which also allocates a view per access.
 */
const LOOP_BYTES = 64;

/** Copies `count` words, four a step. Both arrays are long enough. */
export function copyWords(source: Int32Array, from: number, target: Int32Array, to: number, count: number): void {
  let done = 0;
  for (; done + 4 <= count; done += 4) {
    target[to + done] = source[from + done];
    target[to + done + 1] = source[from + done + 1];
    target[to + done + 2] = source[from + done + 2];
    target[to + done + 3] = source[from + done + 3];
  }
  for (; done < count; done++) target[to + done] = source[from + done];
}

/** Copies `count` bytes of the window from `from` on into `target` at `at`. */
export function loadBytes(target: Uint8Array, at: number, { bytes, words }: Window, from: number, count: number): void {
  if (count > LOOP_BYTES) {
    target.set(bytes.subarray(from, from + count), at);
    return;
  }
  let i = 0;
  if (from % 4 === 0) {
    for (; i + 4 <= count; i += 4) {
      const word = words[(from + i) / 4];
      target[at + i] = word;
      target[at + i + 1] = word >>> 8;
      target[at + i + 2] = word >>> 16;
      target[at + i + 3] = word >>> 24;
    }
  }
  for (; i < count; i++) target[at + i] = bytes[from + i];
}

/** Copies `count` bytes of `source` from `from` on into the window at `at`. */
export function storeToWindow(
  { bytes, words }: Window,
  at: number,
  source: Uint8Array,
  from: number,
  count: number,
): void {
  if (count > LOOP_BYTES) {
    bytes.set(count === source.length ? source : source.subarray(from, from + count), at);
    return;
  }
  let i = 0;
  if (at % 4 === 0) {
    for (; i + 4 <= count; i += 4) {
      const k = from + i;
      words[(at + i) / 4] = source[k] | (source[k + 1] << 8) | (source[k + 2] << 16) | (source[k + 3] << 24);
    }
  }
  for (; i < count; i++) bytes[at + i] = source[from + i];
}
