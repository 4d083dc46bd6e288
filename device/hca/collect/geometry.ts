// SPDX-License-Identifier: Apache-2.0
/**
 * Layout of the collect BAR: the function's VCBs from offset 0, its dedicated collect buffers in
 * the upper half (US 8,484,392 par. 58-60; docs/DOCUMENTS.md decision 16).
 */
import { CANCEL_CANCEL_MASK, CANCEL_CANCEL_SHIFT } from '../../../protocol/layout/gen/cancel.gen.ts';
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';

/** The field of a cancel that is one: all ones. It is at the top of the high dword. */
const CANCEL = CANCEL_CANCEL_MASK >>> CANCEL_CANCEL_SHIFT;

/**
 * Byte offset of the dedicated collect buffers: the smallest power of two behind the VCBs. The BAR
 * has twice that size.
 */
export function getDedicatedOffset(vcbCount: number): number {
  let pages = 1;
  while (pages < vcbCount) pages *= 2;
  return pages * PAGE_BYTES;
}

/** Size of the collect BAR in bytes, a power of two. */
export function getCollectBarBytes(vcbCount: number): number {
  return getDedicatedOffset(vcbCount) * 2;
}

/** True when the high dword of a store to a cancel word asks for the cancel. */
export function isCancel(high: number): boolean {
  return high >>> CANCEL_CANCEL_SHIFT === CANCEL;
}
