// SPDX-License-Identifier: Apache-2.0
/**
 * Registers of ports and of the device, which ACCESS_REGISTER reads and writes.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, layout } from './place-rows.ts';

export const portRegisters: readonly StructTable[] = [
  layout('pmtu-reg', 'MTU of a port.', 0x10, [
    bits('localPort', 0x0, 23, 16, 'Port, from 1.'),
    bits('maxMtu', 0x4, 31, 16, 'Largest MTU, in bytes.'),
    bits('adminMtu', 0x8, 31, 16, 'Requested MTU.'),
    bits('operMtu', 0xc, 31, 16, 'MTU in use.'),
  ]),
  layout('ptys-reg', 'Type and speed of a port.', 0x40, [
    bits('localPort', 0x0, 23, 16, 'Port, from 1.'),
    bits('protoMask', 0x0, 2, 0, 'A bit for each protocol: 0 InfiniBand, 2 Ethernet.'),
    bits('ibLinkWidthCapability', 0x10, 31, 16, 'Supported widths: bits of `link-width-bit`.'),
    bits('ibProtoCapability', 0x10, 15, 0, 'Supported speeds.'),
    bits('ibLinkWidthAdmin', 0x1c, 31, 16, 'Requested widths.'),
    bits('ibProtoAdmin', 0x1c, 15, 0, 'Requested speeds.'),
    bits('ibLinkWidthOper', 0x28, 31, 16, 'Width in use.'),
    bits('ibProtoOper', 0x28, 15, 0, 'Speed in use.'),
  ]),
  layout('pvlc-reg', 'Virtual lanes of a port.', 0x10, [
    bits('localPort', 0x0, 23, 16, 'Port, from 1.'),
    bits('vlHwCap', 0x4, 3, 0, 'Number of supported virtual lanes.'),
    bits('vlAdmin', 0x8, 3, 0, 'Number of requested virtual lanes.'),
    bits('vlOperational', 0xc, 3, 0, 'Number of virtual lanes in use.'),
  ]),
  layout('pcap-reg', 'Capabilities of a port.', 0x14, [
    bits('localPort', 0x0, 23, 16, 'Port, from 1.'),
    block('portCapabilityMask', 0x4, 0x10, 'Dwords; the first one is CapabilityMask.'),
  ]),
  layout('paos-reg', 'State of a port.', 0x10, [
    bits('swid', 0x0, 31, 24, 'Switch.'),
    bits('localPort', 0x0, 23, 16, 'Port, from 1.'),
    bits('adminStatus', 0x0, 11, 8, 'Requested state.', 'port-status'),
    bits('operStatus', 0x0, 3, 0, 'State in use.', 'port-status'),
    bits('ase', 0x4, 31, 31, 'The wanted state changes.'),
    bits('ee', 0x4, 30, 30, 'The choice of events changes.'),
    bits('e', 0x4, 1, 0, 'Changes that send events.'),
  ]),
];
