// SPDX-License-Identifier: Apache-2.0
/**
 * Commands about queue pairs: life, transitions, multicast groups.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, exchange, transition } from './place-rows.ts';

export const queuePairCommands: readonly StructTable[] = [
  ...exchange(
    'create-qp',
    'a QP',
    0x110,
    0x10,
    [
      bits('inputQpn', 0x8, 23, 0, 'Number that software asks for, if the adapter lets it choose.'),
      bits('optParamMask', 0x10, 31, 0, 'Fields of the context that are meant beside those that are always meant.'),
      block('qpc', 0x18, 0xe8, 'Its context.'),
      bits('wqUmemValid', 0x10c, 31, 31, 'The queues lie in a region of user memory.'),
    ],
    [bits('qpn', 0x8, 23, 0, 'Its number.')],
  ),
  ...exchange('destroy-qp', 'a QP is destroyed', 0x10, 0x10, [bits('qpn', 0x8, 23, 0, 'Its number.')], []),
  ...exchange(
    'query-qp',
    'the context of a QP',
    0x10,
    0x1d0,
    [bits('qpn', 0x8, 23, 0, 'Its number.')],
    [
      bits('optParamMask', 0x10, 31, 0, 'Fields of the context that are valid.'),
      block('qpc', 0x18, 0xe8, 'Its context.'),
    ],
  ),
  ...transition('rst2init-qp', 'a QP goes from RESET to INIT'),
  ...transition('init2init-qp', 'a QP in INIT changes'),
  ...transition('init2rtr-qp', 'a QP goes from INIT to RTR'),
  ...transition('rtr2rts-qp', 'a QP goes from RTR to RTS'),
  ...transition('rts2rts-qp', 'a QP in RTS changes'),
  ...transition('sqerr2rts-qp', 'a QP goes from SQE to RTS'),
  ...exchange('qp-2err', 'a QP goes to ERR', 0x10, 0x10, [bits('qpn', 0x8, 23, 0, 'Its number.')], []),
  ...exchange('qp-2rst', 'a QP goes to RESET', 0x10, 0x10, [bits('qpn', 0x8, 23, 0, 'Its number.')], []),
  ...exchange(
    'attach-to-mcg',
    'a QP joins a multicast group',
    0x20,
    0x10,
    [bits('qpn', 0x8, 23, 0, 'The QP.'), block('multicastGid', 0x10, 0x10, 'GID of the group.')],
    [],
  ),
  ...exchange(
    'detach-from-mcg',
    'a QP leaves a multicast group',
    0x20,
    0x10,
    [bits('qpn', 0x8, 23, 0, 'The QP.'), block('multicastGid', 0x10, 0x10, 'GID of the group.')],
    [],
  ),
];
