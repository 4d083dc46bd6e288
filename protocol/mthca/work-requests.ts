// SPDX-License-Identifier: Apache-2.0
/**
 * Segments of work requests, doorbells in the user access region, and doorbell records. A request
 * begins with a next segment; the segments of its opcode and service follow, in units of 16 bytes.
 */
import type { FieldRow, StructTable } from '../layout/table.ts';
import { sparseRows } from './sparse-rows.ts';

const number24 = (name: string, doc: string): FieldRow[] => [{ bits: 8 }, { name, bits: 24, doc }];

const address: readonly FieldRow[] = [{ name: 'address', bits: 64, doc: 'Virtual address.' }];

/** The first two dwords of every request. */
const nextRows: readonly FieldRow[] = [
  { name: 'nextRequest', bits: 26, doc: 'Offset of the next request, in units of 64 bytes.' },
  { bits: 1 },
  { name: 'nextOpcode', bits: 5, doc: 'Opcode of the next request.' },
  { bits: 24 },
  { name: 'nextDoorbell', bits: 1, doc: 'The next request has a doorbell of its own.' },
  { name: 'nextFence', bits: 1, doc: 'The next request waits for READs and atomics.' },
  { name: 'nextSize', bits: 6, doc: 'Size of the next request, in units of 16 bytes; 0: none.' },
];

export const workTables: readonly StructTable[] = [
  {
    name: 'next-segment',
    doc: 'First segment of a request.',
    endian: 'big',
    sizeBytes: 0x10,
    fields: [
      ...nextRows,
      { bits: 26 },
      { name: 'tcpChecksum', bits: 1, doc: 'TCP and UDP checksums are computed.' },
      { name: 'ipChecksum', bits: 1, doc: 'IP checksums are computed.' },
      { name: 'signaled', bits: 1, doc: 'The request has a completion.' },
      { name: 'event', bits: 1, doc: 'The completion raises an event.' },
      { name: 'solicited', bits: 1, doc: 'The solicited event bit is set.' },
      { bits: 1 },
      { name: 'immediate', bits: 32, doc: 'Immediate data.' },
    ],
  },
  {
    name: 'raw-segment',
    doc: 'First segment of a request of an MLX QP.',
    endian: 'big',
    sizeBytes: 0x10,
    fields: [
      ...nextRows,
      { bits: 14 },
      { name: 'virtualLane15', bits: 1, doc: 'The packet goes by VL15.' },
      { name: 'permissiveSource', bits: 1, doc: 'The source LID is the permissive LID.' },
      { bits: 1 },
      { name: 'staticRate', bits: 3, doc: 'Code of the static rate.' },
      { name: 'serviceLevel', bits: 4, doc: 'Service level.' },
      { bits: 4 },
      { name: 'signaled', bits: 1, doc: 'The request has a completion.' },
      { name: 'event', bits: 1, doc: 'The completion raises an event.' },
      { bits: 2 },
      { name: 'lid', bits: 16, doc: 'Destination LID.' },
      { name: 'checksum', bits: 16, doc: 'VCRC; 0: the HCA computes it.' },
    ],
  },
  {
    name: 'remote-segment',
    doc: 'Remote memory of RDMA and atomics.',
    endian: 'big',
    sizeBytes: 0x10,
    fields: [...address, { name: 'key', bits: 32, doc: 'Remote key.' }, { bits: 32 }],
  },
  {
    name: 'atomic-segment',
    doc: 'Operands of an atomic.',
    endian: 'big',
    sizeBytes: 0x10,
    fields: [
      { name: 'swapOrAdd', bits: 64, opaque: true, doc: 'New value, or the value to add.' },
      { name: 'compare', bits: 64, opaque: true, doc: 'Value to compare with.' },
    ],
  },
  {
    name: 'datagram-segment',
    doc: 'Address vector and destination of a datagram.',
    endian: 'big',
    sizeBytes: 0x30,
    fields: sparseRows(0x30, [
      [
        0,
        [
          { bits: 6 },
          { name: 'port', bits: 2, doc: 'Port.' },
          { name: 'pd', bits: 24, doc: 'Protection domain.' },
          { bits: 8 },
          { name: 'hasRoute', bits: 1, doc: 'The packet has a global route header.' },
          { name: 'pathBits', bits: 7, doc: 'Low bits of the source LID.' },
          { name: 'lid', bits: 16, doc: 'Destination LID.' },
          { bits: 8 },
          { name: 'gidIndex', bits: 8, doc: 'Index of the source GID, with the port above.' },
          { bits: 1 },
          { name: 'messageSize', bits: 3, doc: 'Code of the largest message.' },
          { bits: 1 },
          { name: 'staticRate', bits: 3, doc: 'Code of the static rate.' },
          { name: 'hopLimit', bits: 8, doc: 'Hop limit.' },
          { name: 'serviceLevel', bits: 4, doc: 'Service level.' },
          { name: 'trafficClass', bits: 8, doc: 'Traffic class.' },
          { name: 'flowLabel', bits: 20, doc: 'Flow label.' },
          { name: 'gid', bytes: 16, doc: 'Destination GID.' },
          ...number24('qpn', 'Destination QP.'),
          { name: 'qkey', bits: 32, doc: 'Q_Key.' },
        ],
      ],
    ]),
  },
  {
    name: 'data-segment',
    doc: 'Local memory of a request.',
    endian: 'big',
    sizeBytes: 0x10,
    fields: [
      { name: 'isInline', bits: 1, doc: '1: an inline segment; its data follow the first dword.' },
      { name: 'byteCount', bits: 31, doc: 'Bytes.' },
      { name: 'key', bits: 32, doc: 'Local key; 0x100 ends the list of a receive.' },
      ...address,
    ],
  },
  {
    name: 'send-doorbell',
    doc: 'Send doorbell in a user access region.',
    endian: 'big',
    sizeBytes: 0x8,
    fields: [
      { name: 'count', bits: 8, doc: 'Requests.' },
      { name: 'head', bits: 16, doc: 'Counter of the send queue before them.' },
      { bits: 2 },
      { name: 'fence', bits: 1, doc: 'The first request waits for READs and atomics.' },
      { name: 'opcode', bits: 5, doc: 'Opcode of the first request.' },
      { name: 'qpn', bits: 24, doc: 'QP.' },
      { bits: 2 },
      { name: 'size', bits: 6, doc: 'Size of the first request, in units of 16 bytes.' },
    ],
  },
  {
    name: 'cq-doorbell',
    doc: 'CQ doorbell in a user access region.',
    endian: 'big',
    sizeBytes: 0x8,
    fields: [
      { bits: 2 },
      { name: 'sequence', bits: 2, doc: 'Arm sequence.' },
      { name: 'command', bits: 4, doc: 'Command.', values: 'cq-doorbell-command' },
      { name: 'cqn', bits: 24, doc: 'CQ.' },
      { name: 'consumerIndex', bits: 32, doc: 'Entries that software has taken.' },
    ],
  },
  {
    name: 'doorbell-record',
    doc: 'Doorbell record in the pages of a user access region.',
    endian: 'big',
    sizeBytes: 0x8,
    fields: [
      { name: 'counter', bits: 32, doc: 'Counter or consumer index.' },
      { name: 'number', bits: 24, doc: 'Number of the queue.' },
      { name: 'type', bits: 3, doc: 'Type.', values: 'doorbell-record-type' },
      { name: 'sequence', bits: 2, doc: 'Arm sequence of a CQ.' },
      { name: 'command', bits: 3, doc: 'Arming of a CQ.', values: 'cq-doorbell-command' },
    ],
  },
];
