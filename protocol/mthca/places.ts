// SPDX-License-Identifier: Apache-2.0
/**
 * Identity, BARs and fixed places of mthca devices. The driver knows HCR, reset and the size of
 * BAR0; QUERY_FW names the other places, so they are choices of this project.
 */
import type { ConstantTable } from '../layout/table.ts';
import { constants } from '../layout/table-rows.ts';

export const places: readonly ConstantTable[] = [
  constants(
    'identity',
    'PCI identity, which belongs to the vendor of the original devices.',
    ['pci-vendor-id', 0x15b3, 'Vendor in PCI configuration space.'],
    ['pci-device-id-one-port', 0x6274, 'MT25204, one port.'],
    ['pci-device-id-two-ports', 0x6282, 'MT25208 without attached memory, two ports.'],
    ['pci-class-code', 0x0c0600, 'InfiniBand controller.'],
    ['pci-revision', 0xa0, 'Revision that the drivers take as the last one.'],
    ['vendor-oui', 0x0002c9, 'Vendor in NodeInfo.'],
  ),
  constants(
    'bars',
    'Base address registers.',
    ['register-bar', 0, 'BAR of the registers.'],
    ['register-bar-bytes', 0x100000, 'The driver refuses another size.'],
    ['uar-bar', 2, 'BAR of the user access regions.'],
    ['uar-bar-bytes', 0x800000, 'All pages of user access regions.'],
    ['uar-page-bytes', 0x1000, 'One user access region.'],
    ['vector-count', 4, 'MSI-X vectors; the driver takes three.'],
    ['msix-table-offset', 0x40000, 'MSI-X table in the register BAR.'],
    ['msix-pba-offset', 0x41000, 'MSI-X pending bits in the register BAR.'],
  ),
  constants(
    'registers',
    'Offsets in the register BAR.',
    ['hcr-offset', 0x80680, 'Host command register.'],
    ['eq-arm-offset', 0x81000, 'Mask of EQs to arm, 64 bits, most significant first.'],
    ['eq-consumer-offset', 0x82000, 'Consumer indices of EQs, 8 bytes each.'],
    ['clear-interrupt-offset', 0x83000, 'Clears pin interrupts.'],
    ['error-buffer-offset', 0x84000, 'Error buffer: all zero while the device is healthy.'],
    ['error-buffer-words', 0x10, 'Dwords of the error buffer.'],
    ['reset-offset', 0xf0010, 'Writing 1, most significant byte first, resets the device.'],
  ),
  constants(
    'uar',
    'Offsets in a page of a user access region.',
    ['send-doorbell-offset', 0x10, 'Send doorbell.'],
    ['cq-doorbell-offset', 0x20, 'CQ doorbell.'],
  ),
  constants(
    'sizes',
    'Sizes that driver and firmware share.',
    ['icm-page-bytes', 0x1000, 'Unit of context memory.'],
    ['mailbox-alignment', 0x10, 'Alignment of mailboxes.'],
    ['mailbox-bytes', 0x1000, 'Largest mailbox.'],
    ['event-bytes', 0x20, 'Entry of an EQ.'],
    ['completion-bytes', 0x20, 'Entry of a CQ.'],
    ['group-bytes', 0x100, 'Entry of the multicast table.'],
    ['group-members', 56, 'QPs in an entry of the multicast table.'],
    ['read-buffer-bytes', 0x20, 'Context of a READ that a QP takes.'],
  ),
];
