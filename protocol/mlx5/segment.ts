// SPDX-License-Identifier: Apache-2.0
/**
 * The initialising segment at the start of BAR 0 with its health buffer, the entries of the command
 * queue, and the blocks of its mailboxes.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, layout, wide } from './place-rows.ts';

export const segment: readonly StructTable[] = [
  layout('initial-seg', 'Initialising segment.', 0x400c, [
    bits('fwRevMinor', 0x0, 31, 16, 'Version of the firmware, second number.'),
    bits('fwRevMajor', 0x0, 15, 0, 'Version of the firmware, first number.'),
    bits('cmdInterfaceRev', 0x4, 31, 16, 'Revision of the command interface.'),
    bits('fwRevSubminor', 0x4, 15, 0, 'Version of the firmware, third number.'),
    bits('cmdqPhyAddr6332', 0x10, 31, 0, 'Address of the command queue, high half.'),
    bits('cmdqPhyAddr3112', 0x14, 31, 12, 'Bits 31 to 12 of the address.'),
    bits('nicInterface', 0x14, 9, 8, 'State of the interface that software requests.', 'interface-state'),
    bits('logCmdqSize', 0x14, 7, 4, 'Entries of the command queue, as 2^n.'),
    bits('logCmdqStride', 0x14, 3, 0, 'Bytes of an entry, as 2^n.'),
    bits('commandDoorbellVector', 0x18, 31, 0, 'Doorbell: a bit for each entry.'),
    bits('initializing', 0x1fc, 31, 31, 'The adapter is not ready yet.'),
    bits('nicInterfaceSupported', 0x1fc, 26, 24, 'States of the interface that software may request.'),
    block('healthBuffer', 0x200, 0x40, 'State of the firmware when it has failed.'),
    bits('healthCounter', 0x1010, 23, 0, 'Changes as long as the firmware works.'),
    bits('healthSyndrome', 0x1010, 31, 24, 'Cause of a failure of the firmware.'),
  ]),
  layout('health-buffer', 'Health buffer: all 0 while the firmware works.', 0x40, [
    bits('assertExistptr', 0x20, 31, 0, 'Place in the firmware where it failed.'),
    bits('assertCallra', 0x24, 31, 0, 'Place from which that place was called.'),
    bits('time', 0x2c, 31, 0, 'Time of the failure.'),
    bits('fwVersion', 0x30, 31, 0, 'Version of the firmware.'),
    bits('hwId', 0x34, 31, 0, 'Kind of the device.'),
    bits('rfr', 0x38, 31, 31, 'The firmware requests a reset.'),
    bits('valid', 0x38, 27, 27, 'The report of the failure is reliable.'),
    bits('severity', 0x38, 26, 24, 'Severity of the failure.', 'health-severity'),
    bits('iriscIndex', 0x3c, 31, 24, 'Processor that failed.'),
    bits('synd', 0x3c, 23, 16, 'Cause of the failure.', 'health-syndrome'),
    bits('extSynd', 0x3c, 15, 0, 'More of it.'),
  ]),
];

/** The command queue and its mailboxes, which the interface header does not have. */
export const commandQueue: readonly StructTable[] = [
  layout('command-entry', 'Entry of the command queue.', 0x40, [
    bits('type', 0x0, 31, 24, 'Kind of transport: 7 for PCIe.'),
    bits('inputBytes', 0x4, 31, 0, 'Length of the input.'),
    wide('inputMailbox', 0x8, 'Address of the first block of the input beyond 16 bytes.'),
    block('input', 0x10, 0x10, 'First 16 bytes of the input.'),
    block('output', 0x20, 0x10, 'First 16 bytes of the output.'),
    wide('outputMailbox', 0x30, 'Address of the first block of the output beyond 16 bytes.'),
    bits('outputBytes', 0x38, 31, 0, 'Length of the output.'),
    bits('token', 0x3c, 31, 24, 'Number that the blocks of its mailboxes repeat.'),
    bits('signature', 0x3c, 23, 16, 'Checksum; it is not checked.'),
    bits('deliveryStatus', 0x3c, 7, 1, 'Delivery status of the command.', 'delivery-status'),
    bits('owner', 0x3c, 0, 0, 'The adapter owns the entry.'),
  ]),
  layout('mailbox-block', 'Block of a mailbox.', 0x240, [
    block('data', 0x0, 0x200, 'Bytes of the input or output.'),
    wide('next', 0x230, 'Address of the next block.'),
    bits('blockNumber', 0x238, 31, 0, 'Number of the block, from 0.'),
    bits('token', 0x23c, 23, 16, 'Token of the command.'),
    bits('controlSignature', 0x23c, 15, 8, 'Checksum of the fields above; it is not checked.'),
    bits('signature', 0x23c, 7, 0, 'Checksum of the block; it is not checked.'),
  ]),
];
