// SPDX-License-Identifier: Apache-2.0
/**
 * Contexts of EQs, CQs, SRQs and QPs, as software gives them to the HCA in mailboxes and reads them
 * back. Numbers and addresses are big-endian.
 */
import type { FieldRow, StructTable } from '../layout/table.ts';
import { sparseRows } from './sparse-rows.ts';

/** A number of 24 bits below 8 bits that are reserved. */
const number24 = (name: string, doc: string): FieldRow[] => [{ bits: 8 }, { name, bits: 24, doc }];
const word = (name: string, doc: string): FieldRow => ({ name, bits: 32, doc });

/** First dword of EQ and CQ contexts. */
const queueFlags: readonly FieldRow[] = [
  { name: 'status', bits: 4, doc: 'Status.', values: 'context-status' },
  { name: 'owner', bits: 4, doc: 'Owner.', values: 'context-owner' },
  { bits: 5 },
  { name: 'translated', bits: 1, doc: 'Addresses go through the key.' },
  { name: 'ignoreOverrun', bits: 1, doc: 'A full queue is overwritten.' },
  { bits: 5 },
  { name: 'withoutAttachedMemory', bits: 1, doc: 'Always set by drivers of devices without attached memory.' },
  { name: 'notification', bits: 3, doc: 'State of notification.', values: 'notification-state' },
  { bits: 8 },
];

/** Start, size and user access region of EQ and CQ buffers. */
const queueBuffer: readonly FieldRow[] = [
  { name: 'start', bits: 64, doc: 'Virtual address of the buffer.' },
  { bits: 3 },
  { name: 'logEntries', bits: 5, doc: 'Entries, as 2^n.' },
  { name: 'uar', bits: 24, doc: 'User access region whose doorbells act on it.' },
];

const queuePairPath: StructTable = {
  name: 'qp-path',
  doc: 'Path of a QP in its context.',
  endian: 'big',
  sizeBytes: 0x20,
  fields: [
    { bits: 6 },
    { name: 'port', bits: 2, doc: 'Port.' },
    { bits: 17 },
    { name: 'pkeyIndex', bits: 7, doc: 'Index of the P_Key.' },
    { name: 'rnrRetry', bits: 3, at: 0x4, doc: 'Retries after RNR NAKs; 7: without end.' },
    { bits: 5 },
    { name: 'hasRoute', bits: 1, doc: 'Packets have a global route header.' },
    { name: 'pathBits', bits: 7, doc: 'Low bits of the source LID.' },
    { name: 'lid', bits: 16, doc: 'Destination LID.' },
    { name: 'ackTimeout', bits: 5, at: 0x8, doc: 'Acknowledgement timeout, 4.096 us * 2^n.' },
    { bits: 3 },
    { name: 'gidIndex', bits: 8, doc: 'Index of the source GID.' },
    { bits: 4 },
    { name: 'staticRate', bits: 4, doc: 'Code of the static rate.' },
    { name: 'hopLimit', bits: 8, doc: 'Hop limit.' },
    { name: 'serviceLevel', bits: 4, at: 0xc, doc: 'Service level.' },
    { name: 'trafficClass', bits: 8, doc: 'Traffic class.' },
    { name: 'flowLabel', bits: 20, doc: 'Flow label.' },
    { name: 'gid', bytes: 16, doc: 'Destination GID.' },
  ],
};

/** Sizes of the two work queues. */
const workQueueSizes: readonly FieldRow[] = [
  { name: 'logReceiveEntries', bits: 5, doc: 'Entries of the receive queue, as 2^n.' },
  { name: 'receiveStride', bits: 3, doc: 'Bytes of an entry of the receive queue, 16 * 2^n.' },
  { name: 'logSendEntries', bits: 5, doc: 'Entries of the send queue, as 2^n.' },
  { name: 'sendStride', bits: 3, doc: 'Bytes of an entry of the send queue, 16 * 2^n.' },
];

/** Attributes of the requester, at 0x70. */
const requesterRows: readonly FieldRow[] = [
  { name: 'ackRequestFrequency', bits: 4, doc: 'Packets until an acknowledgement is requested, as 2^n.' },
  { name: 'flightLimit', bits: 4, doc: 'Packets in flight, as 2^n.' },
  { name: 'logReadsOut', bits: 3, doc: 'READs and atomics in flight, as 2^n.' },
  { bits: 2 },
  { name: 'retryCount', bits: 3, doc: 'Retries.' },
  { name: 'sendsReads', bits: 1, doc: 'READs may be sent.' },
  { name: 'sendsWrites', bits: 1, doc: 'WRITEs may be sent.' },
  { name: 'sendsAtomics', bits: 1, doc: 'Atomics may be sent.' },
  { bits: 9 },
  { name: 'signalsAll', bits: 1, doc: 'Every send has a completion.' },
  { bits: 3 },
];

/** Attributes of the responder, at 0x90. */
const responderRows: readonly FieldRow[] = [
  { bits: 8 },
  { name: 'logReadsIn', bits: 3, doc: 'READs and atomics taken at once, as 2^n.' },
  { bits: 5 },
  { name: 'takesReads', bits: 1, doc: 'Remote reads are allowed.' },
  { name: 'takesWrites', bits: 1, doc: 'Remote writes are allowed.' },
  { name: 'takesAtomics', bits: 1, doc: 'Remote atomics are allowed.' },
  { bits: 8 },
  { name: 'sharedCredits', bits: 1, doc: 'No credits: the receive queue is shared.' },
  { name: 'receiveSignalsAll', bits: 1, doc: 'Every receive has a completion.' },
  { bits: 3 },
  { bits: 3 },
  { name: 'rnrTimer', bits: 5, doc: 'Code of the time in RNR NAKs.' },
  { name: 'receivePsn', bits: 24, doc: 'PSN expected next.' },
];

const queuePairContext: StructTable = {
  name: 'qp-context',
  doc: 'Context of a QP, after the parameter mask in the mailbox. The paths are qp-path.',
  endian: 'big',
  sizeBytes: 0x100,
  fields: sparseRows(0x100, [
    [
      0,
      [
        { name: 'state', bits: 4, doc: 'State.', values: 'qp-context-state' },
        { bits: 9 },
        { name: 'service', bits: 3, doc: 'Service.', values: 'qp-service' },
        { bits: 3 },
        { name: 'migration', bits: 2, doc: 'Path migration: 0 armed, 1 rearmed, 3 migrated.' },
        { bits: 2 },
        { name: 'eventOnDrain', bits: 1, doc: 'Always set by drivers.' },
        { bits: 8 },
      ],
    ],
    [
      0x8,
      [
        { name: 'mtu', bits: 3, doc: 'Code of the path MTU.' },
        { name: 'logMessageBytes', bits: 5, doc: 'Bytes of the longest message, as 2^n.' },
        ...workQueueSizes,
        { name: 'scheduleQueue', bits: 8, doc: 'Scheduling queue.' },
        ...number24('uar', 'User access region whose doorbells act on it.'),
        ...number24('localQpn', 'Number of the QP.'),
        ...number24('remoteQpn', 'Number of the other QP.'),
      ],
    ],
    [0x20, [{ name: 'primaryPath', bytes: 0x20, doc: 'Primary path.' }]],
    [0x40, [{ name: 'alternatePath', bytes: 0x20, doc: 'Alternate path.' }]],
    [
      0x64,
      [
        ...number24('pd', 'Protection domain.'),
        word('queueBase', 'Upper half of the virtual address of the work queues.'),
        word('queueKey', 'Key of the work queues.'),
        ...requesterRows,
      ],
    ],
    [
      0x78,
      [
        ...number24('sendPsn', 'PSN of the next packet.'),
        ...number24('sendCqn', 'CQ of the send queue.'),
        word('sendQueueOffset', 'Offset of the send queue in the memory of the key.'),
        word('sendRecord', 'Doorbell record of the send queue.'),
        ...number24('ackedPsn', 'PSN acknowledged last.'),
        ...number24('sendSequence', 'Send sequence number.'),
        ...responderRows,
        word('readBuffer', 'Address of the READ contexts of the QP.'),
        ...number24('receiveCqn', 'CQ of the receive queue.'),
        word('receiveQueueOffset', 'Offset of the receive queue in the memory of the key.'),
        word('receiveRecord', 'Doorbell record of the receive queue.'),
        word('qkey', 'Q_Key.'),
        { bits: 7 },
        { name: 'hasSrq', bits: 1, doc: 'Receives come from an SRQ.' },
        { name: 'srqn', bits: 24, doc: 'The SRQ.' },
        ...number24('receiveSequence', 'Message sequence number of the responder.'),
        { name: 'receiveCounter', bits: 16, doc: 'Counter of the receive queue.' },
        { name: 'sendCounter', bits: 16, doc: 'Counter of the send queue.' },
      ],
    ],
  ]),
};

export const contextTables: readonly StructTable[] = [
  {
    name: 'eq-context',
    doc: 'Context of an EQ.',
    endian: 'big',
    sizeBytes: 0x40,
    fields: sparseRows(0x40, [
      [0, [...queueFlags, ...queueBuffer]],
      [
        0x17,
        [
          { name: 'interrupt', bits: 8, doc: '128 and more: MSI-X vector plus 128; below: a pin interrupt.' },
          ...number24('pd', 'Protection domain.'),
          word('key', 'Key of the buffer.'),
        ],
      ],
      [0x28, [word('consumerIndex', 'Consumer index.'), word('producerIndex', 'Producer index.')]],
    ]),
  },
  {
    name: 'cq-context',
    doc: 'Context of a CQ.',
    endian: 'big',
    sizeBytes: 0x40,
    fields: sparseRows(0x40, [
      [
        0,
        [
          ...queueFlags,
          ...queueBuffer,
          word('errorEqn', 'EQ of errors; the device uses that of MAP_EQ.'),
          word('completionEqn', 'EQ of completion events.'),
          ...number24('pd', 'Protection domain.'),
          word('key', 'Key of the buffer.'),
          word('notifiedIndex', 'Consumer index of the last notification.'),
          word('solicitedIndex', 'Producer index of the last solicited entry.'),
          word('consumerIndex', 'Consumer index.'),
          word('producerIndex', 'Producer index.'),
          ...number24('cqn', 'Number of the CQ.'),
          word('consumerRecord', 'Doorbell record of the consumer index.'),
          word('armRecord', 'Doorbell record of arming.'),
        ],
      ],
    ]),
  },
  {
    name: 'cq-resizing',
    doc: 'Input of RESIZE_CQ.',
    endian: 'big',
    sizeBytes: 0x40,
    fields: sparseRows(0x40, [
      [0x4, [{ name: 'start', bits: 64, doc: 'Virtual address of the new buffer.' }]],
      [0xc, [{ bits: 3 }, { name: 'logEntries', bits: 5, doc: 'Entries, as 2^n.' }]],
      [0x1c, [word('key', 'Key of the new buffer.')]],
    ]),
  },
  {
    name: 'srq-context',
    doc: 'Context of an SRQ.',
    endian: 'big',
    sizeBytes: 0x30,
    fields: sparseRows(0x30, [
      [
        0,
        [
          { name: 'state', bits: 4, doc: 'Status.', values: 'context-status' },
          { name: 'logEntries', bits: 4, doc: 'Entries, as 2^n.' },
          { name: 'srqn', bits: 24, doc: 'Number of the SRQ.' },
          word('key', 'Key of the entries.'),
          word('record', 'Doorbell record of the counter.'),
          { name: 'stride', bits: 3, doc: 'Bytes of an entry, 16 * 2^n.' },
          { bits: 5 },
          { name: 'uar', bits: 24, doc: 'User access region that has the record.' },
          { name: 'base', bits: 64, doc: 'Virtual address of the entries.' },
          { name: 'eqn', bits: 8, doc: 'EQ of events.' },
          { name: 'pd', bits: 24, doc: 'Protection domain.' },
          { name: 'limit', bits: 16, doc: 'Limit below which an event is sent; 0: disarmed.' },
          { name: 'entryCount', bits: 16, doc: 'Entries that are posted.' },
          { bits: 16 },
          { name: 'counter', bits: 16, doc: 'Entries that were taken.' },
        ],
      ],
    ]),
  },
  queuePairPath,
  queuePairContext,
];
