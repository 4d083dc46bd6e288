// SPDX-License-Identifier: Apache-2.0
/** Constants of libvfio-user.h that the binding and its callers use. */

/** Region indexes of a PCI device. */
export const REGION = { bar0: 0, bar1: 1, bar2: 2, bar3: 3, bar4: 4, bar5: 5, rom: 6, config: 7, vga: 8 } as const;

/** Interrupt indexes. */
export const IRQ = { intx: 0, msi: 1, msix: 2, error: 3, request: 4 } as const;

/** Reasons for a reset of the device. */
export const RESET_KIND = { device: 0, lostConnection: 1, functionLevel: 2 } as const;
export type ResetKind = 'device' | 'lost-connection' | 'function-level';

export function resetKindOf(type: number): ResetKind {
  if (type === RESET_KIND.lostConnection) return 'lost-connection';
  return type === RESET_KIND.functionLevel ? 'function-level' : 'device';
}

export const REGION_FLAG = { read: 1, write: 2, memory: 4, alwaysCallback: 8 } as const;
export const ATTACH_NONBLOCKING = 1;
export const TRANSPORT_SOCKET = 0;
export const DEVICE_TYPE_PCI = 0;
export const PCI_TYPE_EXPRESS = 3;

/** Protection bits of a DMA region. */
export const PROTECTION = { read: 1, write: 2 } as const;

/** Log levels of the library: those of syslog(3). */
export const SYSLOG = { error: 3, warning: 4, notice: 5, info: 6, debug: 7 } as const;
