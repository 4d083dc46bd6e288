// SPDX-License-Identifier: Apache-2.0
/**
 * An element of a scatter/gather list as the transport takes it (IBTA 10.2.6). Builders of send
 * commands and of receives call it.
 */
import { setSgeAddressHigh, setSgeAddressLow, setSgeLength, setSgeLkey } from '../../../protocol/layout/gen/sge.gen.ts';

/** Writes an element at byte `base` of `view`. Dwords of address and key may be signed. */
export function storeElement(
  view: DataView,
  base: number,
  addressHigh: number,
  addressLow: number,
  lengthBytes: number,
  lkey: number,
): void {
  setSgeAddressHigh(view, base, addressHigh);
  setSgeAddressLow(view, base, addressLow);
  setSgeLength(view, base, lengthBytes);
  setSgeLkey(view, base, lkey);
}
