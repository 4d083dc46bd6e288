// SPDX-License-Identifier: Apache-2.0
/**
 * A driver's way to the machine on which everybody else works between any two of its loads and stores: the device, another processor, time. The driver's own code stays as
 * it is: it looks at memory through views that say when they are touched.
 */
import { InProcessAccess } from '../../hosts/in-process/access.ts';
import type { Touch } from './interleaving.ts';

/** Others come in once per send block. */
const PIO_STRIDE_BYTES = 64;

export class InterleavedAccess extends InProcessAccess {
  /** Called before every load, store and register access of the driver. */
  onTouch: (touch: Touch) => void = () => {};

  override view(address: number, lengthBytes: number): DataView {
    this.onTouch('load');
    return new TouchedView(super.view(address, lengthBytes), this);
  }

  override readRegister(offset: number, sizeBytes: number): number {
    this.onTouch('load');
    return super.readRegister(offset, sizeBytes);
  }

  override writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.onTouch('register');
    super.writeRegister(offset, sizeBytes, low, high);
  }

  override writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.onTouch('register');
    super.writeCollect(offset, sizeBytes, low, high);
  }

  override writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    // A packet takes hundreds of stores.
    if (offset % PIO_STRIDE_BYTES === 0) this.onTouch('register');
    super.writePio(offset, sizeBytes, low, high);
  }
}

/** What the library's declarations call a DataView cannot be extended as it is. */
const View = DataView as unknown as new (buffer: ArrayBufferLike, offset: number, length: number) => DataView;

class TouchedView extends View {
  readonly #access: InterleavedAccess;

  constructor({ buffer, byteOffset, byteLength }: DataView, access: InterleavedAccess) {
    super(buffer, byteOffset, byteLength);
    this.#access = access;
  }

  override getUint8(offset: number): number {
    this.#access.onTouch('load');
    return super.getUint8(offset);
  }

  override getUint16(offset: number, littleEndian?: boolean): number {
    this.#access.onTouch('load');
    return super.getUint16(offset, littleEndian);
  }

  override getUint32(offset: number, littleEndian?: boolean): number {
    this.#access.onTouch('load');
    return super.getUint32(offset, littleEndian);
  }

  override setUint8(offset: number, value: number): void {
    this.#access.onTouch('store');
    super.setUint8(offset, value);
  }

  override setUint16(offset: number, value: number, littleEndian?: boolean): void {
    this.#access.onTouch('store');
    super.setUint16(offset, value, littleEndian);
  }

  override setUint32(offset: number, value: number, littleEndian?: boolean): void {
    this.#access.onTouch('store');
    super.setUint32(offset, value, littleEndian);
  }
}
