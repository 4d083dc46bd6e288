// SPDX-License-Identifier: Apache-2.0
/**
 * Commands about virtual ports: each function has one for each port.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, exchange, layout } from './place-rows.ts';

/** Fields by which each of these commands names a port. */
const port = [
  bits('otherVport', 0x8, 31, 31, "The command is about another function's port."),
  bits('portNum', 0x8, 19, 16, 'Port, from 1.'),
  bits('vportNumber', 0x8, 15, 0, 'Virtual port.'),
];

export const vportCommands: readonly StructTable[] = [
  ...exchange(
    'query-hca-vport-context',
    'reads the context of a port',
    0x10,
    0x210,
    [...port],
    [block('hcaVportContext', 0x10, 0x200, 'The port.')],
  ),
  ...exchange(
    'modify-hca-vport-context',
    'changes the context of a port',
    0x210,
    0x10,
    [...port, block('hcaVportContext', 0x10, 0x200, 'Fields that change.')],
    [],
  ),
  ...exchange(
    'query-hca-vport-gid',
    'GIDs of a port',
    0x10,
    0x10,
    [...port, bits('gidIndex', 0xc, 15, 0, 'Index; all ones: the whole table.')],
    [bits('gidsNum', 0xc, 31, 16, 'GIDs that follow.')],
  ),
  ...exchange(
    'query-hca-vport-pkey',
    'P_Keys of a port',
    0x10,
    0x10,
    [...port, bits('pkeyIndex', 0xc, 15, 0, 'Index; all ones: the whole table.')],
    [],
  ),
  layout('pkey', 'Entry of a P_Key table.', 0x4, [bits('pkey', 0x0, 15, 0, 'P_Key.')]),
];
