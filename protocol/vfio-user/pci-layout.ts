// SPDX-License-Identifier: Apache-2.0
/**
 * Registers of PCI configuration space that the binding interprets: offsets, bits and write masks
 * (PCI Express Base Specification 7.5.1 type 0 header, 7.5.2 power management, 7.5.3 PCI Express,
 * 7.7.2 MSI-X).
 */

export const CONFIG_BYTES = 4096;
export const STANDARD_BYTES = 256;
export const FIRST_CAPABILITY = 0x40;
export const FIRST_EXTENDED_CAPABILITY = 0x100;

export const HEADER = {
  vendor: 0x00,
  device: 0x02,
  command: 0x04,
  status: 0x06,
  revision: 0x08,
  classCode: 0x09,
  cacheLineSize: 0x0c,
  headerType: 0x0e,
  bar0: 0x10,
  subsystemVendor: 0x2c,
  subsystem: 0x2e,
  capabilities: 0x34,
  interruptLine: 0x3c,
} as const;

export const COMMAND = {
  memory: 0x0002,
  busMaster: 0x0004,
  parity: 0x0040,
  serr: 0x0100,
  intxDisable: 0x0400,
} as const;
export const COMMAND_WRITABLE =
  COMMAND.memory | COMMAND.busMaster | COMMAND.parity | COMMAND.serr | COMMAND.intxDisable;
export const STATUS_CAPABILITIES = 0x0010;
export const STATUS_CLEARABLE = 0xf900;

export const BAR = { wide: 0x4, prefetchable: 0x8, flagMask: 0xf } as const;

export const CAPABILITY = { powerManagement: 0x01, vendor: 0x09, pciExpress: 0x10, msix: 0x11 } as const;
export const EXTENDED_CAPABILITY = { errorReporting: 0x0001, serialNumber: 0x0003, vendor: 0x000b } as const;

/** Offsets in the PCI Express capability (version 2, 60 bytes). */
export const EXPRESS = {
  flags: 0x02,
  deviceCapabilities: 0x04,
  deviceControl: 0x08,
  deviceStatus: 0x0a,
  linkCapabilities: 0x0c,
  linkControl: 0x10,
  linkStatus: 0x12,
  deviceCapabilities2: 0x24,
  deviceControl2: 0x28,
  linkCapabilities2: 0x2c,
  linkControl2: 0x30,
  lengthBytes: 0x3c,
} as const;
export const DEVICE_CAPABILITIES_FLR = 2 ** 28;
export const DEVICE_CONTROL_START_FLR = 0x8000;

/** Offsets in the MSI-X capability. */
export const MSIX = { control: 0x02, table: 0x04, pba: 0x08, lengthBytes: 0x0c } as const;
export const MSIX_CONTROL = { enable: 0x8000, maskAll: 0x4000 } as const;

/** Offsets in the power management capability. */
export const POWER = { capabilities: 0x02, control: 0x04, lengthBytes: 0x08 } as const;
export const POWER_CONTROL = { state: 0x0003, noSoftReset: 0x0008 } as const;
/** Values of the power state. D1 and D2 are optional, and devices here lack them. */
export const POWER_STATE = { d0: 0, d3hot: 3 } as const;
