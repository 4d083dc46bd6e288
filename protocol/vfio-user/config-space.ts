// SPDX-License-Identifier: Apache-2.0
/**
 * PCI configuration space of one function: 4096 bytes, and for each byte the bits that a guest may
 * write and those that it clears by writing 1. libvfio-user has a configuration space too, but
 * answers some legal writes with errors, copies beyond the end of a capability, and has no 64-bit
 * BARs. All accesses therefore come here (VFU_REGION_FLAG_ALWAYS_CB). A write of any size is legal;
 * read-only bits keep their value.
 */
import type { Capability } from './capabilities.ts';
import {
  BAR,
  CAPABILITY,
  COMMAND,
  COMMAND_WRITABLE,
  CONFIG_BYTES,
  DEVICE_CAPABILITIES_FLR,
  DEVICE_CONTROL_START_FLR,
  EXPRESS,
  FIRST_CAPABILITY,
  FIRST_EXTENDED_CAPABILITY,
  HEADER,
  MSIX,
  MSIX_CONTROL,
  POWER,
  POWER_CONTROL,
  POWER_STATE,
  STANDARD_BYTES,
  STATUS_CAPABILITIES,
  STATUS_CLEARABLE,
} from './pci-layout.ts';

export interface PciIds {
  readonly vendor: number;
  readonly device: number;
  readonly subsystemVendor: number;
  readonly subsystem: number;
  readonly revision?: number;
  /** 24 bits: base class, sub-class, programming interface. */
  readonly classCode: number;
}

/** Callbacks after a write of the guest or a reset; each is called only on a change. */
export interface ConfigObserver {
  /** The function has entered D0, or D3hot. */
  power?(inD0: boolean): void;
  busMaster?(enabled: boolean): void;
  msix?(enabled: boolean, allMasked: boolean): void;
  /**
   * The guest requests a function level reset, or returns a function with soft reset from D3hot to
   * D0: the device resets, then calls `ConfigSpace.reset`.
   */
  functionLevelReset?(): void;
  /** Any write of the guest, after it took effect. */
  written?(offset: number, lengthBytes: number): void;
}

export class ConfigSpace {
  readonly #bytes = new Uint8Array(CONFIG_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  readonly #writable = new Uint8Array(CONFIG_BYTES);
  readonly #clearable = new Uint8Array(CONFIG_BYTES);
  readonly #initial = new Uint8Array(CONFIG_BYTES);
  readonly #capabilities = new Map<number, number>();
  #observer: ConfigObserver = {};
  #nextCapability = FIRST_CAPABILITY;
  #nextExtended = FIRST_EXTENDED_CAPABILITY;
  #lastLink: number = HEADER.capabilities;
  #lastExtended = 0;
  #inD0 = true;
  #busMaster = false;
  #msixControl = 0;

  constructor(ids: PciIds) {
    this.define16(HEADER.vendor, ids.vendor);
    this.define16(HEADER.device, ids.device);
    this.define16(HEADER.command, 0, COMMAND_WRITABLE);
    this.define16(HEADER.status, 0, 0, STATUS_CLEARABLE);
    this.define32(HEADER.revision, ((ids.revision ?? 0) & 0xff) + (ids.classCode & 0xffffff) * 256);
    this.define16(HEADER.cacheLineSize, 0, 0x00ff);
    this.define16(HEADER.subsystemVendor, ids.subsystemVendor);
    this.define16(HEADER.subsystem, ids.subsystem);
    this.define16(HEADER.interruptLine, 0, 0x00ff);
  }

  /** The value that a guest reads. */
  get8(offset: number): number {
    return this.#bytes[offset];
  }

  get16(offset: number): number {
    return this.#view.getUint16(offset, true);
  }

  get32(offset: number): number {
    return this.#view.getUint32(offset, true);
  }

  /**
   * False in D3hot: the function answers accesses of configuration space only, and sends nothing
   * (PCI Express Base Specification 5.3.1.4.1).
   */
  get inD0(): boolean {
    return this.#powerState() === POWER_STATE.d0;
  }

  /** The function may send: the bus master bit is set, and the function is in D0. */
  get busMasterEnabled(): boolean {
    return this.inD0 && (this.get16(HEADER.command) & COMMAND.busMaster) !== 0;
  }

  get msixEnabled(): boolean {
    return (this.#msixControl & MSIX_CONTROL.enable) !== 0;
  }

  get msixAllMasked(): boolean {
    return (this.#msixControl & MSIX_CONTROL.maskAll) !== 0;
  }

  set observer(observer: ConfigObserver) {
    this.#observer = observer;
  }

  /**
   * Sets the present and reset value of a register, and the bits that a guest may write or clear.
   */
  define16(offset: number, value: number, writable = 0, clearable = 0): void {
    for (let i = 0; i < 2; i++)
      this.#define8(offset + i, value >>> (8 * i), writable >>> (8 * i), clearable >>> (8 * i));
  }

  define32(offset: number, value: number, writable = 0, clearable = 0): void {
    for (let i = 0; i < 4; i++)
      this.#define8(offset + i, value >>> (8 * i), writable >>> (8 * i), clearable >>> (8 * i));
  }

  /**
   * Defines a memory BAR; a 64-bit one takes two slots. `sizeBytes` is a power of two, at least 16.
   */
  defineBar(index: number, sizeBytes: number, flags: { wide: boolean; prefetchable: boolean }): void {
    const type = (flags.wide ? BAR.wide : 0) | (flags.prefetchable ? BAR.prefetchable : 0);
    const addressBits = sizeBytes >= 2 ** 32 ? 0 : ~(sizeBytes - 1) & ~BAR.flagMask;
    this.define32(HEADER.bar0 + 4 * index, type, addressBits);
    if (!flags.wide) return;
    const highBits = sizeBytes > 2 ** 32 ? ~(sizeBytes / 2 ** 32 - 1) : -1;
    this.define32(HEADER.bar0 + 4 * (index + 1), 0, highBits);
  }

  /**
   * Appends a capability to the list; returns its offset. Throws RangeError if no space is left.
   */
  add(capability: Capability): number {
    const offset = capability.extended ? this.#nextExtended : this.#nextCapability;
    const end = offset + capability.bytes.length;
    if (end > (capability.extended ? CONFIG_BYTES : STANDARD_BYTES)) {
      throw new RangeError(
        `no config space is left for capability ${capability.id} of ${capability.bytes.length} bytes`,
      );
    }
    capability.bytes.forEach((byte, i) => {
      this.#define8(offset + i, byte, capability.writable[i], capability.clearable[i]);
    });
    if (capability.extended) this.#linkExtended(offset, end);
    else this.#link(offset, end);
    if (!capability.extended) this.#capabilities.set(capability.id, offset);
    return offset;
  }

  /** Offset of a standard capability, or 0. */
  find(id: number): number {
    return this.#capabilities.get(id) ?? 0;
  }

  /** Copies the bytes that a guest reads at `offset` into `target`. */
  read(offset: number, target: Uint8Array, lengthBytes: number): void {
    for (let i = 0; i < lengthBytes; i++) target[i] = this.#bytes[offset + i];
  }

  /** A write of the guest: changes the writable bits and notifies the observer. */
  write(offset: number, source: Uint8Array, lengthBytes: number): void {
    const startsReset = this.#startsFunctionLevelReset(offset, source, lengthBytes);
    const power = this.#powerState();
    for (let i = 0; i < lengthBytes; i++) {
      const at = offset + i;
      const kept = this.#bytes[at] & ~this.#writable[at] & ~(source[i] & this.#clearable[at]);
      this.#bytes[at] = kept | (source[i] & this.#writable[at]);
    }
    const wakesByReset = this.#changePower(power);
    if (!wakesByReset) this.#tellChanges();
    this.#observer.written?.(offset, lengthBytes);
    if (startsReset || wakesByReset) this.#observer.functionLevelReset?.();
  }

  /** Restores the reset value of every register. */
  reset(): void {
    this.#bytes.set(this.#initial);
    this.#tellChanges();
  }

  #powerState(): number {
    const power = this.find(CAPABILITY.powerManagement);
    return power === 0 ? POWER_STATE.d0 : this.get16(power + POWER.control) & POWER_CONTROL.state;
  }

  /**
   * A write may have changed the power state. Drops a state that the function lacks (PCI Express
   * Base Specification 7.5.2.2). True if the function resets because it has left D3hot.
   */
  #changePower(before: number): boolean {
    const control = this.find(CAPABILITY.powerManagement) + POWER.control;
    const state = this.#powerState();
    if (state !== POWER_STATE.d0 && state !== POWER_STATE.d3hot)
      this.#bytes[control] = (this.#bytes[control] & ~POWER_CONTROL.state) | before;
    if (before !== POWER_STATE.d3hot || state !== POWER_STATE.d0) return false;
    return (this.get16(control) & POWER_CONTROL.noSoftReset) === 0;
  }

  #define8(offset: number, value: number, writable: number, clearable: number): void {
    this.#bytes[offset] = value;
    this.#initial[offset] = value;
    this.#writable[offset] = writable;
    this.#clearable[offset] = clearable;
  }

  #link(offset: number, end: number): void {
    this.#define8(this.#lastLink, offset, 0, 0);
    this.#define8(HEADER.status, STATUS_CAPABILITIES, 0, STATUS_CLEARABLE & 0xff);
    this.#lastLink = offset + 1;
    this.#nextCapability = (end + 3) & ~3;
  }

  #linkExtended(offset: number, end: number): void {
    if (this.#lastExtended !== 0) {
      const version = this.#bytes[this.#lastExtended + 2] & 0x0f;
      this.define16(this.#lastExtended + 2, version | (offset << 4));
    }
    this.#lastExtended = offset;
    this.#nextExtended = (end + 3) & ~3;
  }

  #startsFunctionLevelReset(offset: number, source: Uint8Array, lengthBytes: number): boolean {
    const express = this.find(CAPABILITY.pciExpress);
    if (express === 0) return false;
    const at = express + EXPRESS.deviceControl + 1;
    if (at < offset || at >= offset + lengthBytes) return false;
    if ((source[at - offset] & (DEVICE_CONTROL_START_FLR >>> 8)) === 0) return false;
    return (this.get32(express + EXPRESS.deviceCapabilities) & DEVICE_CAPABILITIES_FLR) !== 0;
  }

  #tellChanges(): void {
    const { inD0 } = this;
    if (inD0 !== this.#inD0) {
      this.#inD0 = inD0;
      this.#observer.power?.(inD0);
    }
    const busMaster = this.busMasterEnabled;
    if (busMaster !== this.#busMaster) {
      this.#busMaster = busMaster;
      this.#observer.busMaster?.(busMaster);
    }
    const msix = this.find(CAPABILITY.msix);
    const control = msix === 0 ? 0 : this.get16(msix + MSIX.control) & (MSIX_CONTROL.enable | MSIX_CONTROL.maskAll);
    if (control !== this.#msixControl) {
      this.#msixControl = control;
      this.#observer.msix?.(this.msixEnabled, this.msixAllMasked);
    }
  }
}
