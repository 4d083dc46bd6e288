// SPDX-License-Identifier: Apache-2.0
/**
 * Identity, BAR and fixed places of mlx5 devices. The driver knows the places in the initialising
 * segment and in UAR pages; sizes that it learns from capabilities are choices of this project.
 */
import type { ConstantTable } from '../layout/table.ts';
import { constants } from '../layout/table-rows.ts';

export const places: readonly ConstantTable[] = [
  constants(
    'identity',
    'PCI identity, which belongs to the vendor of the original devices.',
    ['pci-vendor-id', 0x15b3, 'Vendor in PCI configuration space.'],
    ['pci-device-id', 0x1017, 'Device that user-space software treats plainly.'],
    ['pci-class-code', 0x020700, 'InfiniBand controller.'],
    ['vendor-oui', 0x0002c9, 'Vendor in NodeInfo.'],
  ),
  constants(
    'bars',
    'Base address registers.',
    ['bar', 0, 'BAR of the initialising segment and of the UAR pages.'],
    ['bar-bytes', 0x2000000, 'Segment and all UAR pages.'],
    ['msix-table-offset', 0x8000, 'MSI-X table, between segment and UAR pages.'],
    ['msix-pba-offset', 0xc000, 'MSI-X pending bits.'],
    ['uar-page-bytes', 0x1000, 'One UAR page.'],
    ['first-uar', 0x10, 'First UAR page: those before it hold the segment.'],
  ),
  constants(
    'segment',
    'Offsets in the initialising segment beside those of its structure.',
    ['command-address-offset', 0x10, 'Address of the command queue.'],
    ['command-doorbell-offset', 0x18, 'Doorbell of the command queue.'],
    ['initializing-offset', 0x1fc, 'Bit 31: the adapter is not ready; bit 30: firmware can reset it.'],
    ['health-offset', 0x200, 'Health buffer.'],
    ['command-timeout-offset', 0xff8, 'Time-out of commands; 0 leaves it to the driver.'],
    ['command-start-timeout-offset', 0xffc, 'Time-out of the start of the command queue.'],
    ['timer-offset', 0x1000, 'Free-running timer, high half first.'],
    ['health-counter-offset', 0x1010, 'Health counter.'],
  ),
  constants(
    'uar',
    'Offsets in a UAR page.',
    ['arm-cq-offset', 0x20, 'Arms a CQ.'],
    ['arm-eq-offset', 0x40, 'Consumer index of an EQ, and arms it.'],
    ['eq-consumer-offset', 0x48, 'Consumer index of an EQ.'],
    ['doorbell-offset', 0x800, 'First of the doorbell registers of send queues.'],
    ['doorbell-bytes', 0x200, 'One doorbell register; its halves are used in turns.'],
  ),
  constants(
    'sizes',
    'Sizes that driver and firmware share.',
    ['command-entries', 0x20, 'Entries of the command queue.'],
    ['page-command-entry', 0x1f, 'Entry that only commands about pages use.'],
    ['command-inline-bytes', 0x10, 'Bytes of input and output in an entry.'],
    ['mailbox-data-bytes', 0x200, 'Data of a block of a mailbox.'],
    ['event-bytes', 0x40, 'Entry of an EQ.'],
    ['send-block-bytes', 0x40, 'Unit of send queues.'],
    ['send-blocks-max', 0x10, 'Blocks of the largest send request.'],
  ),
];
