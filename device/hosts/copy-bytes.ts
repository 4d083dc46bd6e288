// SPDX-License-Identifier: Apache-2.0
/** Copies between byte arrays: short runs by a loop, since a `subarray` costs more than they do (reference: 30 ns for 64 bytes), long ones by `set`. */

const SHORT_BYTES = 64;

/** Copies `lengthBytes` from `source` at `sourceOffset` to `target` at `targetOffset`. Allocates only for long runs. */
export function copyBytes(
  target: Uint8Array,
  targetOffset: number,
  source: Uint8Array,
  sourceOffset: number,
  lengthBytes: number,
): void {
  if (lengthBytes > SHORT_BYTES) {
    target.set(source.subarray(sourceOffset, sourceOffset + lengthBytes), targetOffset);
    return;
  }
  for (let index = 0; index < lengthBytes; index++) {
    target[targetOffset + index] = source[sourceOffset + index] as number;
  }
}
