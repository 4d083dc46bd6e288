// SPDX-License-Identifier: Apache-2.0
/** A view of bytes for the generated accessors, wherever the bytes lie in their buffer. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
