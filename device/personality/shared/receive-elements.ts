// SPDX-License-Identifier: Apache-2.0
/**
 * The elements of a receive, as lists of the transport take them (IBTA 10.2.6). The format of a
 * personality calls it piece by piece, in the order of the methods. Dwords of addresses and keys
 * may be signed, and callers give signed ones: V8 allocates for larger numbers.
 */
import { SGE_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import { SGE_SIZE } from '../../../protocol/layout/gen/sge.gen.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import { noteEntry } from '../../hca/queues/receive-ring.ts';
import type { ReceiveList } from '../../hca/queues/receive-source.ts';
import { storeElement } from './list-element.ts';

/** A key that ends the list of a receive. */
export const LIST_END_KEY = 0x100;

export class ReceiveElements {
  readonly #view = new DataView(new ArrayBuffer(SGE_MAX * SGE_SIZE));
  #count = 0;

  begin(): void {
    this.#count = 0;
  }

  /** Appends an element. Returns false when the list is full. */
  add(addressHigh: number, addressLow: number, lengthBytes: number, lkey: number): boolean {
    if (this.#count === SGE_MAX) return false;
    storeElement(this.#view, this.#count * SGE_SIZE, addressHigh, addressLow, lengthBytes, lkey);
    this.#count++;
    return true;
  }

  /** Appends all elements to `list`. */
  addTo(list: ReceiveList): void {
    list.addFrom(this.#view, 0, this.#count);
  }

  /** The receive goes to the timeline. */
  note(owner: UnderlyingFunction, qpn: number, number: number): void {
    noteEntry(owner, qpn, number, this.#view, 0, this.#count);
  }
}
