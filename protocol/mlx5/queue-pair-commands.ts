// SPDX-License-Identifier: Apache-2.0
/**
 * Commands about queue pairs: life, transitions, multicast groups.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, exchange, transition } from './place-rows.ts';

export const queuePairCommands: readonly StructTable[] = [
  ...exchange(
    'create-qp',
    'creates a QP',
    0x110,
    0x10,
    [
      bits('inputQpn', 0x8, 23, 0, 'Number that software requests, if the adapter supports that.'),
      bits('optParamMask', 0x10, 31, 0, 'Optional fields of the context that the command uses.'),
      block('qpc', 0x18, 0xe8, 'Its context.'),
      bits('wqUmemValid', 0x10c, 31, 31, 'The queues lie in a region of user memory.'),
    ],
    [bits('qpn', 0x8, 23, 0, 'Its number.')],
  ),
  ...exchange('destroy-qp', 'destroys a QP', 0x10, 0x10, [bits('qpn', 0x8, 23, 0, 'Its number.')], []),
  ...exchange(
    'query-qp',
    'reads the context of a QP',
    0x10,
    0x1d0,
    [bits('qpn', 0x8, 23, 0, 'Its number.')],
    [
      bits('optParamMask', 0x10, 31, 0, 'Fields of the context that are valid.'),
      block('qpc', 0x18, 0xe8, 'Its context.'),
    ],
  ),
  ...transition('rst2init-qp', 'moves a QP from RESET to INIT'),
  ...transition('init2init-qp', 'changes a QP in INIT'),
  ...transition('init2rtr-qp', 'moves a QP from INIT to RTR'),
  ...transition('rtr2rts-qp', 'moves a QP from RTR to RTS'),
  ...transition('rts2rts-qp', 'changes a QP in RTS'),
  ...transition('sqerr2rts-qp', 'moves a QP from SQE to RTS'),
  ...exchange('qp-2err', 'moves a QP to ERR', 0x10, 0x10, [bits('qpn', 0x8, 23, 0, 'Its number.')], []),
  ...exchange('qp-2rst', 'moves a QP to RESET', 0x10, 0x10, [bits('qpn', 0x8, 23, 0, 'Its number.')], []),
  ...exchange(
    'attach-to-mcg',
    'attaches a QP to a multicast group',
    0x20,
    0x10,
    [bits('qpn', 0x8, 23, 0, 'The QP.'), block('multicastGid', 0x10, 0x10, 'GID of the group.')],
    [],
  ),
  ...exchange(
    'detach-from-mcg',
    'detaches a QP from a multicast group',
    0x20,
    0x10,
    [bits('qpn', 0x8, 23, 0, 'The QP.'), block('multicastGid', 0x10, 0x10, 'GID of the group.')],
    [],
  ),
];
