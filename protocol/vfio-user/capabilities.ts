// SPDX-License-Identifier: Apache-2.0
/**
 * Builders of PCI capabilities: the initial bytes of a capability, and the bits of it that a guest
 * may change. libvfio-user has a fixed table of six capabilities; `ConfigSpace` takes any
 * capability. These are the usual ones of an endpoint (PCI Express Base Specification, chapter 7).
 */
import {
  CAPABILITY,
  DEVICE_CAPABILITIES_FLR,
  EXPRESS,
  EXTENDED_CAPABILITY,
  MSIX,
  MSIX_CONTROL,
  POWER,
  POWER_CONTROL,
} from './pci-layout.ts';

/**
 * A capability. Bytes 0 and 1 (0 to 3 of an extended one) are its header; `ConfigSpace` sets the
 * next pointer in it.
 */
export interface Capability {
  readonly id: number;
  readonly extended: boolean;
  readonly bytes: Uint8Array;
  /** Bits of each byte that a guest may write. */
  readonly writable: Uint8Array;
  /** Bits of each byte that a guest clears by writing 1. */
  readonly clearable: Uint8Array;
}

class Builder implements Capability {
  readonly id: number;
  readonly extended: boolean;
  readonly bytes: Uint8Array;
  readonly writable: Uint8Array;
  readonly clearable: Uint8Array;

  constructor(id: number, extended: boolean, lengthBytes: number, version = 1) {
    this.id = id;
    this.extended = extended;
    this.bytes = new Uint8Array(lengthBytes);
    this.writable = new Uint8Array(lengthBytes);
    this.clearable = new Uint8Array(lengthBytes);
    if (extended) this.set16(0, id).set16(2, version);
    else this.bytes[0] = id;
  }

  set16(offset: number, value: number, writable = 0, clearable = 0): this {
    for (const [array, bits] of [
      [this.bytes, value],
      [this.writable, writable],
      [this.clearable, clearable],
    ] as const) {
      array[offset] = bits;
      array[offset + 1] = bits >>> 8;
    }
    return this;
  }

  set32(offset: number, value: number, writable = 0, clearable = 0): this {
    this.set16(offset, value & 0xffff, writable & 0xffff, clearable & 0xffff);
    return this.set16(offset + 2, value >>> 16, writable >>> 16, clearable >>> 16);
  }
}

/**
 * Power management 1.2 with states D0 and D3hot, without PME. A function with `softReset` is reset
 * when it returns from D3hot; it keeps its state otherwise.
 */
export function powerManagement(options: { softReset?: boolean } = {}): Capability {
  return new Builder(CAPABILITY.powerManagement, false, POWER.lengthBytes)
    .set16(POWER.capabilities, 0x0003)
    .set16(POWER.control, options.softReset ? 0 : POWER_CONTROL.noSoftReset, POWER_CONTROL.state);
}

/**
 * PCI Express endpoint: 16 GT/s x16, 256 bytes payload, extended tags, completion timeout control.
 */
export function pciExpress(options: { functionLevelReset: boolean }): Capability {
  const flr = options.functionLevelReset ? DEVICE_CAPABILITIES_FLR : 0;
  return new Builder(CAPABILITY.pciExpress, false, EXPRESS.lengthBytes)
    .set16(EXPRESS.flags, 0x0002)
    .set32(EXPRESS.deviceCapabilities, 0x0000_8021 + flr)
    .set16(EXPRESS.deviceControl, 0x2910, 0x79ff)
    .set16(EXPRESS.deviceStatus, 0, 0, 0x000f)
    .set32(EXPRESS.linkCapabilities, 0x0000_0104)
    .set16(EXPRESS.linkControl, 0, 0x00cb)
    .set16(EXPRESS.linkStatus, 0x0104)
    .set32(EXPRESS.deviceCapabilities2, 0x0000_001f)
    .set16(EXPRESS.deviceControl2, 0, 0x001f)
    .set32(EXPRESS.linkCapabilities2, 0x0000_001e)
    .set16(EXPRESS.linkControl2, 0x0004, 0x000f);
}

export interface MsixLayout {
  readonly vectors: number;
  readonly tableBar: number;
  readonly tableOffset: number;
  readonly pbaBar: number;
  readonly pbaOffset: number;
}

/** MSI-X with up to 2048 vectors; table and PBA are in BARs of the device, 8-byte aligned. */
export function msix(layout: MsixLayout): Capability {
  if (!(layout.vectors >= 1 && layout.vectors <= 2048)) {
    throw new RangeError(`MSI-X has 1 to 2048 vectors, not ${layout.vectors}`);
  }
  if (layout.tableOffset % 8 !== 0 || layout.pbaOffset % 8 !== 0) {
    throw new RangeError(`MSI-X table and PBA offsets must be multiples of 8`);
  }
  return new Builder(CAPABILITY.msix, false, MSIX.lengthBytes)
    .set16(MSIX.control, layout.vectors - 1, MSIX_CONTROL.enable | MSIX_CONTROL.maskAll)
    .set32(MSIX.table, layout.tableOffset + layout.tableBar)
    .set32(MSIX.pba, layout.pbaOffset + layout.pbaBar);
}

/** A vendor-specific capability; `body` follows the 3-byte header. Read-only to the guest. */
export function vendorSpecific(body: Uint8Array): Capability {
  const capability = new Builder(CAPABILITY.vendor, false, 3 + body.length);
  capability.bytes[2] = capability.bytes.length;
  capability.bytes.set(body, 3);
  return capability;
}

/** Device serial number: 64 bits, such as an EUI-64. */
export function deviceSerialNumber(low: number, high: number): Capability {
  return new Builder(EXTENDED_CAPABILITY.serialNumber, true, 12).set32(4, low).set32(8, high);
}

/**
 * Advanced error reporting of an endpoint. A driver can program the registers, but the device never
 * reports an error.
 */
export function advancedErrorReporting(): Capability {
  return new Builder(EXTENDED_CAPABILITY.errorReporting, true, 0x2c, 2)
    .set32(0x04, 0, 0, 0x0157_f030)
    .set32(0x08, 0x0040_0000, 0x0157_f030)
    .set32(0x0c, 0x0006_2030, 0x0157_f030)
    .set32(0x10, 0, 0, 0x0000_f1c1)
    .set32(0x14, 0x0000_e000, 0x0000_f1c1)
    .set32(0x18, 0, 0x0000_0140);
}

/**
 * A vendor-specific extended capability; `body` follows the 8-byte header. Read-only to the guest.
 */
export function extendedVendorSpecific(vendorId: number, revision: number, body: Uint8Array): Capability {
  const length = 8 + body.length;
  const capability = new Builder(EXTENDED_CAPABILITY.vendor, true, length)
    .set16(4, vendorId)
    .set16(6, revision | (length << 4));
  capability.bytes.set(body, 8);
  return capability;
}
