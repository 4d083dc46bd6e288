// SPDX-License-Identifier: Apache-2.0
/** Where collect buffers stand in the collect BAR: the function's VCBs from 0, its dedicated collect buffers in the upper half. */
import { PAGE_BYTES } from '../../protocol/layout/gen/constants.gen.ts';

/** Dedicated collect buffers for management commands of one function. */
export const DEDICATED_COLLECT_BUFFERS = 1;

/** Byte offset of the dedicated collect buffers: the first power of two that clears the VCBs, so that the BAR has twice that size. */
export function getDedicatedOffset(vcbCount: number): number {
  let pages = 1;
  while (pages < vcbCount) pages *= 2;
  return pages * PAGE_BYTES;
}

/** Size of the collect BAR in bytes, a power of two. */
export function getCollectBarBytes(vcbCount: number): number {
  return getDedicatedOffset(vcbCount) * 2;
}
