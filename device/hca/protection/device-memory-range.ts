// SPDX-License-Identifier: Apache-2.0
/**
 * Range of the device memory of a function (docs/FEATURES.md, Device memory). Management creates
 * and destroys it; memory regions of kind DEVICE show parts of it to queue pairs.
 */
import type { UnderlyingFunction } from '../function/underlying-function.ts';

export class DeviceMemoryRange {
  readonly number: number;
  readonly owner: UnderlyingFunction;
  /** Offset in the device memory of the function. */
  readonly offset: number;
  readonly lengthBytes: number;
  readonly alignmentLog2: number;
  /** Number of its memory regions. */
  regions = 0;

  constructor(number: number, owner: UnderlyingFunction, offset: number, lengthBytes: number, alignmentLog2: number) {
    this.number = number;
    this.owner = owner;
    this.offset = offset;
    this.lengthBytes = lengthBytes;
    this.alignmentLog2 = alignmentLog2;
  }
}
