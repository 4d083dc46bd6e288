// SPDX-License-Identifier: Apache-2.0
// Raises the device's interrupt vectors. A vector without an eventfd is normal: QEMU gives one when the guest unmasks
// the vector (vfio-user.md section 1.6). The device then keeps its pending bit and raises the vector when
// `onVectors(first, count, true)` tells that it can be delivered.

import type { Libvfio, Pointer } from './library.ts';
import { errno, lastErrno } from './native.ts';

export class Interrupts {
  readonly vectors: number;
  /** How often a vector was raised, and how often the client had given no eventfd for it. */
  readonly counters = { raised: 0, undeliverable: 0, failed: 0 };
  readonly #library: Libvfio;
  #ctx: Pointer;

  constructor(library: Libvfio, ctx: Pointer, vectors: number) {
    this.#library = library;
    this.#ctx = ctx;
    this.vectors = vectors;
  }

  /** Signals the vector's eventfd. False if it has none, is no vector of this device, or the context is destroyed. */
  trigger(vector: number): boolean {
    if (this.#ctx === 0 || !(vector >= 0 && vector < this.vectors)) return false;
    if (this.#library.vfu_irq_trigger(this.#ctx, vector) === 0) {
      this.counters.raised++;
      return true;
    }
    if (lastErrno() === errno.ENOENT) this.counters.undeliverable++;
    else this.counters.failed++;
    return false;
  }

  /** No vector can be raised any more. */
  close(): void {
    this.#ctx = 0;
  }
}
