// SPDX-License-Identifier: Apache-2.0
/**
 * Entries of receive, completion and event queues; the records in guest memory that hold the queue
 * positions of software and device; and the words that request a completion event, consume EQEs
 * and cancel a command.
 */
import type { StructTable } from './table.ts';

const queuePairRecord: StructTable = {
  name: 'queue-pair-record',
  doc: 'Producer positions of a QP, written by software, and the word by which the device tells that it needs no doorbells.',
  source: 'US 9,069,485 par. 27',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'sendTail', bits: 16, doc: 'Sequence number of the next command to post.' },
    { bits: 16 },
    {
      name: 'watched',
      bits: 1,
      doc: 'The device watches sendTail by itself: no doorbell is needed (shadow tails).',
      at: 4,
    },
    { bits: 31 },
    { name: 'receiveTail', bits: 16, doc: 'Number of the next receive entry to post.', at: 8 },
    { bits: 16 },
    { bits: 32 },
  ],
};

const sendQueueDescriptor: StructTable = {
  name: 'send-queue-descriptor',
  doc: 'Send queue descriptor: link of the scheduler list, read and write pointer. Only the device writes it.',
  source: 'US 9,069,485 par. 27, 71',
  endian: 'little',
  sizeBytes: 32,
  fields: [
    { name: 'nextQpn', bits: 24, doc: 'Next QP in the scheduler list.' },
    { name: 'nextState', bits: 8, doc: 'All ones while the send queue is in no list.' },
    {
      name: 'nextSequence',
      bits: 16,
      doc: 'Read pointer: sequence number of the next command, when the scheduler last read commands.',
      source: 'US 9,069,485 par. 27, 76',
      at: 4,
    },
    {
      name: 'destroyed',
      bits: 1,
      doc: 'A stop doorbell has taken the QP off the scheduler.',
      source: 'docs/DOCUMENTS.md decision 3',
    },
    { bits: 15 },
    { name: 'qpn', bits: 24, doc: 'Queue pair of the send queue.', source: 'US 9,069,485 par. 27' },
    { bits: 8 },
    {
      name: 'tail',
      bits: 16,
      doc: 'Write pointer: sequence number after the last posted command, when the scheduler last read commands.',
      source: 'US 9,069,485 par. 27',
    },
    { bits: 16 },
    { bytes: 16 },
  ],
};

const completionQueueRecord: StructTable = {
  name: 'completion-queue-record',
  doc: 'Consumer position of a CQ. Only software writes it.',
  endian: 'little',
  sizeBytes: 8,
  fields: [{ name: 'consumed', bits: 32, doc: 'CQEs consumed, modulo 2^32.' }, { bits: 32 }],
};

const sharedReceiveQueueRecord: StructTable = {
  name: 'srq-record',
  doc: 'Producer position of an SRQ. Only software writes it.',
  endian: 'little',
  sizeBytes: 8,
  fields: [{ name: 'tail', bits: 16, doc: 'Number of the next receive entry to post.' }, { bits: 16 }, { bits: 32 }],
};

const receiveEntry: StructTable = {
  name: 'receive-entry',
  doc: 'Head of a receive queue slot; its SGEs follow.',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'sgeCount', bits: 5, doc: 'SGEs that follow, 0 to 16.' },
    { bits: 27 },
    { name: 'sequence', bits: 16, doc: 'Number of this receive entry, modulo 2^16.' },
    { bits: 16 },
    { bits: 32 },
    { bits: 32 },
  ],
};

const completionEntry: StructTable = {
  name: 'completion-entry',
  doc: 'CQE. Valid when its sequence word is the expected one; the device stores that word last.',
  source: 'IBTA 11.4.2.1',
  endian: 'little',
  sizeBytes: 64,
  fields: [
    { name: 'qpn', bits: 24, doc: 'Local QP.', at: 0 },
    { name: 'status', bits: 8, values: 'completion-status', doc: 'Result.' },
    { name: 'opcode', bits: 8, values: 'completion-opcode', doc: 'Operation that completed.', at: 4 },
    { name: 'receive', bits: 1, doc: 'The entry reports a receive, not a send.' },
    { name: 'globalRoute', bits: 1, doc: 'The datagram carried a GRH.' },
    { name: 'hasImmediate', bits: 1, doc: 'The immediate field is valid.' },
    { name: 'hasInvalidate', bits: 1, doc: 'The immediate field is the R_Key that was invalidated.' },
    { name: 'solicited', bits: 1, doc: 'The message requested a solicited event.' },
    { bits: 3 },
    { name: 'queueSequence', bits: 16, doc: 'Sequence number of the send command, or number of the receive entry.' },
    {
      name: 'byteLength',
      bits: 32,
      doc: 'Bytes received (datagrams: with the GRH area), read, or fetched by an atomic.',
      at: 8,
    },
    { name: 'immediate', bits: 32, doc: 'Immediate data or invalidated R_Key.' },
    { name: 'sourceQpn', bits: 24, doc: 'Sender of a datagram.', at: 16 },
    { name: 'vendorError', bits: 8, values: 'fault-kind', doc: 'Cause of an error status.' },
    { name: 'sourceLid', bits: 16, doc: 'SLID of a datagram.', at: 20 },
    { name: 'serviceLevel', bits: 4, doc: 'SL of a datagram.' },
    { name: 'pathBits', bits: 7, doc: 'DLID path bits of a datagram.' },
    { name: 'port', bits: 3, doc: 'Port that received a datagram.' },
    { bits: 2 },
    { name: 'srqn', bits: 24, doc: 'Shared receive queue of the receive entry, or 0.', at: 24 },
    { bits: 8 },
    { name: 'pkeyIndex', bits: 16, doc: 'P_Key table index of a datagram.', at: 28 },
    { bits: 16 },
    { name: 'timestamp', bits: 64, doc: 'Local time of posting, in ns.', at: 32 },
    { bytes: 20 },
    { name: 'sequence', bits: 32, doc: 'Running number of the entry, from 1.', at: 60 },
  ],
};

const eventEntry: StructTable = {
  name: 'event-entry',
  doc: 'EQE. Valid when its sequence word is the expected one; the device stores that word last.',
  source: 'IPCOM000126453D par. 3',
  endian: 'little',
  sizeBytes: 64,
  fields: [
    { name: 'eventType', bits: 8, values: 'event-type', doc: 'Type of the event.', at: 0 },
    { name: 'port', bits: 8, doc: 'Port of a port event, from 1.' },
    { bits: 16 },
    { name: 'objectNumber', bits: 24, doc: 'CQN, QPN, SRQN or command sequence.', at: 4 },
    { bits: 8 },
    { name: 'completionSequence', bits: 32, doc: 'Sequence word of the CQE that caused a completion event.', at: 8 },
    { name: 'faultKind', bits: 8, values: 'fault-kind', doc: 'Cause of an error event.', at: 12 },
    { bits: 24 },
    { name: 'timestamp', bits: 64, doc: 'Local time of posting, in ns.', at: 16 },
    { name: 'token', bits: 64, doc: 'Handle that software gave when it created the object.', at: 24 },
    { name: 'pageAddress', bits: 64, doc: 'Page fault only: first virtual address of the access.', at: 32 },
    { name: 'pageLength', bits: 32, doc: 'Page fault only: length from there on that the message will access.' },
    { name: 'pageKey', bits: 32, doc: 'Page fault only: key of the memory region.' },
    { name: 'pageWrite', bits: 1, doc: 'Page fault only: the access writes.' },
    { bits: 31 },
    { bytes: 8 },
    { name: 'sequence', bits: 32, doc: 'Running number of the entry, from 1.', at: 60 },
  ],
};

const cqNotify: StructTable = {
  name: 'cq-notify',
  doc: 'Request for one completion event (arming), written to a register or to a collect page.',
  source: 'IBTA 11.4.2.2',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'cqn', bits: 24, doc: 'Completion queue.' },
    { name: 'solicitedOnly', bits: 1, doc: 'Only solicited and failed completions count.' },
    { name: 'clearPending', bits: 1, doc: 'Also clears the EQ pending bit.', source: 'IPCOM000126453D par. 2' },
    {
      name: 'clearOnly',
      bits: 1,
      doc: 'Only clears the EQ pending bit; an event that waited for that is posted. Not in a page of a collect context.',
    },
    { bits: 5 },
    {
      name: 'consumed',
      bits: 32,
      doc: 'CQEs consumed at the request; a CQE beyond them raises the event at once.',
    },
  ],
};

const eqConsumer: StructTable = {
  name: 'eq-consumer',
  doc: 'Consumer position of an event queue, written to a register.',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'eqn', bits: 24, doc: 'Event queue.' },
    { bits: 8 },
    { name: 'consumed', bits: 32, doc: 'EQEs consumed, modulo 2^32.' },
  ],
};

const cancelWord: StructTable = {
  name: 'cancel',
  doc: 'Value written to the cancel offset of a collect page.',
  source: 'docs/DOCUMENTS.md decision 3',
  endian: 'little',
  sizeBytes: 8,
  fields: [{ bits: 32 }, { bits: 24 }, { name: 'cancel', bits: 8, doc: 'All ones.', at: 7 }],
};

export const queueStructs = [
  queuePairRecord,
  sendQueueDescriptor,
  completionQueueRecord,
  sharedReceiveQueueRecord,
  receiveEntry,
  completionEntry,
  eventEntry,
  cqNotify,
  eqConsumer,
  cancelWord,
];
