// SPDX-License-Identifier: Apache-2.0
/**
 * Entries of EQs and CQs. Software polls the owner bit of the last byte: 1 while the HCA may write
 * the entry, 0 when it is valid. Each kind of event has a table of the whole entry.
 */
import type { FieldRow, StructTable } from '../layout/table.ts';
import { type RowGroup, sparseRows } from './sparse-rows.ts';

const SIZE = 0x20;
const OWNER_AT = 0x1f;

const owner: readonly FieldRow[] = [{ name: 'owner', bits: 1, doc: '1: the HCA may write the entry.' }, { bits: 7 }];

const number24 = (name: string, doc: string): FieldRow[] => [{ bits: 8 }, { name, bits: 24, doc }];

/** An event with the fields of its kind. */
function event(name: string, doc: string, groups: readonly RowGroup[]): StructTable {
  const head: FieldRow[] = [
    { bits: 8 },
    { name: 'kind', bits: 8, doc: 'Kind.', values: 'event-kind' },
    { bits: 8 },
    { name: 'subtype', bits: 8, doc: 'Subtype.' },
  ];
  return {
    name,
    doc,
    endian: 'big',
    sizeBytes: SIZE,
    fields: sparseRows(SIZE, [[0, head], ...groups, [OWNER_AT, owner]]),
  };
}

export const queueEntryTables: readonly StructTable[] = [
  event('object-event', 'Event of a CQ, QP or SRQ, by its number.', [
    [0x4, number24('number', 'Number of the object.')],
    [0xf, [{ name: 'syndrome', bits: 8, doc: 'Cause of a CQ error.', values: 'cq-error-syndrome' }]],
  ]),
  event('port-change-event', 'Event of a port.', [[0xc, [{ bits: 2 }, { name: 'port', bits: 2, doc: 'Port.' }]]]),
  event('command-event', 'Completion of a command.', [
    [0x6, [{ name: 'token', bits: 16, doc: 'Token of the command.' }]],
    [
      0xf,
      [
        { name: 'status', bits: 8, doc: 'Status of the command.', values: 'command-status' },
        { name: 'outParameter', bits: 64, doc: 'Value that it returns.' },
      ],
    ],
  ]),
  {
    name: 'completion',
    doc: 'Entry of a CQ for a work request that succeeded.',
    endian: 'big',
    sizeBytes: SIZE,
    fields: sparseRows(SIZE, [
      [0, [...number24('qpn', 'QP of the work request.')]],
      [
        0x8,
        [
          ...number24('remoteQpn', 'QP that sent a datagram.'),
          { name: 'serviceLevel', bits: 4, doc: 'Service level of a datagram.' },
          { bits: 4 },
          { name: 'hasRoute', bits: 1, doc: 'A global route header lies in the first 40 bytes.' },
          { name: 'pathBits', bits: 7, doc: 'Low bits of the LID that a datagram was sent to.' },
          { name: 'remoteLid', bits: 16, doc: 'LID of the sender of a datagram.' },
          { name: 'immediate', bits: 32, doc: 'Immediate data; index of the P_Key for QP1, in the upper half.' },
          { name: 'byteCount', bits: 32, doc: 'Bytes received or read.' },
          { name: 'request', bits: 32, doc: 'Offset of the work request in its queue.' },
          { name: 'opcode', bits: 8, doc: 'Opcode of a send; the low bits tell the operation of a receive.' },
          { name: 'isSend', bits: 1, doc: 'The work request was a send.' },
          { bits: 7 },
        ],
      ],
      [OWNER_AT, owner],
    ]),
  },
  {
    name: 'error-completion',
    doc: 'Entry of a CQ for a work request that failed.',
    endian: 'big',
    sizeBytes: SIZE,
    fields: sparseRows(SIZE, [
      [0, [...number24('qpn', 'QP of the work request.')]],
      [
        0x10,
        [
          { name: 'syndrome', bits: 8, doc: 'Cause.', values: 'completion-syndrome' },
          { name: 'vendorSyndrome', bits: 8, doc: 'Cause in more detail, of the vendor.' },
          { name: 'doorbellCount', bits: 16, doc: 'Doorbells that were not executed.' },
        ],
      ],
      [
        0x18,
        [
          { name: 'request', bits: 32, doc: 'Offset of the work request in its queue.' },
          { name: 'opcode', bits: 8, doc: 'Send or receive.', values: 'error-opcode' },
        ],
      ],
      [OWNER_AT, owner],
    ]),
  },
];
