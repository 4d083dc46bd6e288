// SPDX-License-Identifier: Apache-2.0
/**
 * A driver's access to the machine that calls a hook before each load, store and register write, so
 * that the device, another processor and time can work between any two of them. The driver's code
 * is unchanged: the views of guest memory that it gets call the hook. Used by `SystemUnderTest`.
 */
import { InProcessAccess } from '../machine/access.ts';
import type { DriverAccess } from './interleaving.ts';

/** The hook is called once per send block. */
const PIO_STRIDE_BYTES = 64;

/** The access with its hook. */
export class InterleavedAccess extends InProcessAccess {
  /** Called before each load, store and register access of the driver. */
  onAccess: (kind: DriverAccess) => void = () => {};

  override view(address: number, lengthBytes: number): DataView {
    this.onAccess('load');
    return new ObservedView(super.view(address, lengthBytes), this);
  }

  override readRegister(offset: number, sizeBytes: number): number {
    this.onAccess('load');
    return super.readRegister(offset, sizeBytes);
  }

  override writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.onAccess('register');
    super.writeRegister(offset, sizeBytes, low, high);
  }

  override writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.onAccess('register');
    super.writeCollect(offset, sizeBytes, low, high);
  }

  override writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    // A packet takes hundreds of stores, too many interruptions.
    if (offset % PIO_STRIDE_BYTES === 0) this.onAccess('register');
    super.writePio(offset, sizeBytes, low, high);
  }
}

/** The library's declaration of DataView cannot be extended as it is. */
const View = DataView as unknown as new (buffer: ArrayBufferLike, offset: number, length: number) => DataView;

class ObservedView extends View {
  readonly #access: InterleavedAccess;

  constructor({ buffer, byteOffset, byteLength }: DataView, access: InterleavedAccess) {
    super(buffer, byteOffset, byteLength);
    this.#access = access;
  }

  override getUint8(offset: number): number {
    this.#access.onAccess('load');
    return super.getUint8(offset);
  }

  override getUint16(offset: number, littleEndian?: boolean): number {
    this.#access.onAccess('load');
    return super.getUint16(offset, littleEndian);
  }

  override getUint32(offset: number, littleEndian?: boolean): number {
    this.#access.onAccess('load');
    return super.getUint32(offset, littleEndian);
  }

  override setUint8(offset: number, value: number): void {
    this.#access.onAccess('store');
    super.setUint8(offset, value);
  }

  override setUint16(offset: number, value: number, littleEndian?: boolean): void {
    this.#access.onAccess('store');
    super.setUint16(offset, value, littleEndian);
  }

  override setUint32(offset: number, value: number, littleEndian?: boolean): void {
    this.#access.onAccess('store');
    super.setUint32(offset, value, littleEndian);
  }
}
