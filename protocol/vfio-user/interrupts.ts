// SPDX-License-Identifier: Apache-2.0
/**
 * Raises the interrupt vectors of a device. A vector without an eventfd is normal: QEMU supplies
 * the eventfd when the guest unmasks the vector. Until then the device keeps its pending bit, and
 * raises the vector when the `vectors` callback reports that it is deliverable.
 */
import type { Libvfio, Pointer } from './library.ts';
import { errno, lastErrno } from './native.ts';

export class Interrupts {
  readonly vectors: number;
  /** Vectors raised; requests without an eventfd (`undeliverable`); other failures. */
  readonly counters = { raised: 0, undeliverable: 0, failed: 0 };
  readonly #library: Libvfio;
  #ctx: Pointer;

  constructor(library: Libvfio, ctx: Pointer, vectors: number) {
    this.#library = library;
    this.#ctx = ctx;
    this.vectors = vectors;
  }

  /** Signals the eventfd of a vector. False if there is none, or no such vector, or no context. */
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

  /** Ends all interrupts, before the context is destroyed. */
  close(): void {
    this.#ctx = 0;
  }
}
