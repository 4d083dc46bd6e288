// SPDX-License-Identifier: Apache-2.0
/**
 * Entries that the adapter writes into CQs and EQs, and the words by which software arms and
 * empties a CQ. The owner bit of an entry lies in the last byte; it flips with each turn through
 * the queue.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, layout, wide } from './place-rows.ts';

/** The last dword of every completion. */
const completionEnd = [
  bits('wqeCounter', 0x3c, 31, 16, 'Block of a send request, or index of a receive.'),
  bits('signature', 0x3c, 15, 8, 'Checksum of the entry; software does not check it.'),
  bits('opcode', 0x3c, 7, 4, 'Kind of completion.', 'completion-opcode'),
  bits('format', 0x3c, 3, 2, 'Place of inline data in the entry; 0: none.'),
  bits('solicited', 0x3c, 1, 1, 'The message requested an event.'),
  bits('owner', 0x3c, 0, 0, 'Turn of the queue.'),
];

/** The last dword of every event. */
const eventEnd = [
  bits('signature', 0x3c, 15, 8, 'Checksum of the entry; software does not check it.'),
  bits('owner', 0x3c, 0, 0, 'Turn of the queue.'),
];

const eventHead = [
  bits('type', 0x0, 23, 16, 'Event.', 'event-type'),
  bits('subType', 0x0, 7, 0, 'Variant of the event.'),
];

/** A request for one event of a CQ. */
const arming = (at: number) => [
  bits('sequence', at, 29, 28, 'Number of the request; it changes after each event.'),
  bits('command', at, 27, 24, 'Entries that cause an event.', 'cq-arm'),
];

export const queueEntries: readonly StructTable[] = [
  layout('cq-doorbell', 'Store to a UAR page that arms a CQ.', 0x8, [
    ...arming(0x0),
    bits('consumerIndex', 0x0, 23, 0, 'Entries that software has taken.'),
    bits('cqn', 0x4, 23, 0, 'The CQ.'),
  ]),
  layout('cq-record', 'Doorbell record of a CQ, in memory of software.', 0x8, [
    bits('consumerIndex', 0x0, 23, 0, 'Entries that software has taken.'),
    ...arming(0x4),
    bits('armIndex', 0x4, 23, 0, 'Entries that software had taken at its last request for an event.'),
  ]),
  layout('cqe', 'Completion: the last 64 bytes of an entry of 64 or 128 bytes.', 0x40, [
    bits('pathBits', 0x10, 22, 16, 'Low bits of the destination LID.'),
    bits('remoteLid', 0x14, 15, 0, 'Source LID of a datagram.'),
    bits('hasRoute', 0x18, 29, 28, 'The datagram has a global route header in front.'),
    bits('serviceLevel', 0x18, 27, 24, 'Service level of a datagram.'),
    bits('remoteQpn', 0x18, 23, 0, 'QP that sent a datagram.'),
    bits('srqnOrUserIndex', 0x20, 23, 0, 'Shared receive queue, or user index in the form of version 1.'),
    bits('immediate', 0x24, 31, 0, 'Immediate data, invalidated key, or P_Key index.'),
    bits('byteCount', 0x2c, 31, 0, 'Length of the message.'),
    wide('timestamp', 0x30, 'Value of the timer.'),
    bits('sendOpcode', 0x38, 31, 24, 'Operation of a send request.', 'send-opcode'),
    bits('qpn', 0x38, 23, 0, 'The QP.'),
    ...completionEnd,
  ]),
  layout('error-cqe', 'Completion with an error.', 0x40, [
    bits('srqnOrUserIndex', 0x20, 23, 0, 'Shared receive queue, or user index in the form of version 1.'),
    bits('vendorSyndrome', 0x34, 15, 8, 'Fault that the adapter found.'),
    bits('syndrome', 0x34, 7, 0, 'Cause of the error.', 'completion-syndrome'),
    bits('sendOpcode', 0x38, 31, 24, 'Operation of a send request.', 'send-opcode'),
    bits('qpn', 0x38, 23, 0, 'The QP.'),
    ...completionEnd,
  ]),
  layout('eqe', 'Entry of an EQ.', 0x40, [...eventHead, block('data', 0x20, 0x1c, 'Data of the event.'), ...eventEnd]),
  layout('completion-eqe', 'Event: a CQ has completions.', 0x40, [
    ...eventHead,
    bits('cqn', 0x38, 23, 0, 'The CQ.'),
    ...eventEnd,
  ]),
  layout('command-eqe', 'Event: commands have ended.', 0x40, [
    ...eventHead,
    bits('vector', 0x20, 31, 0, 'A bit for each entry of the command queue.'),
    ...eventEnd,
  ]),
  layout('queue-eqe', 'Event of a QP or of a shared receive queue.', 0x40, [
    ...eventHead,
    bits('kind', 0x34, 31, 24, 'Kind of queue.', 'event-queue-kind'),
    bits('number', 0x38, 23, 0, 'Its number.'),
    ...eventEnd,
  ]),
  layout('cq-error-eqe', 'Event: a CQ has an error.', 0x40, [
    ...eventHead,
    bits('cqn', 0x20, 23, 0, 'The CQ.'),
    bits('syndrome', 0x28, 7, 0, 'Cause of the error.', 'cq-error-syndrome'),
    ...eventEnd,
  ]),
  layout('port-eqe', 'Event of a port, which the variant names.', 0x40, [
    ...eventHead,
    bits('port', 0x28, 31, 28, 'Port, from 1.'),
    ...eventEnd,
  ]),
  layout('page-request-eqe', 'Event: the adapter needs pages, or returns some.', 0x40, [
    ...eventHead,
    bits('functionId', 0x20, 15, 0, 'Function.'),
    bits('numPages', 0x24, 31, 0, 'Pages; negative: the adapter returns them.'),
    ...eventEnd,
  ]),
];
