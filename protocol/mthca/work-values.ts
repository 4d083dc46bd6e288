// SPDX-License-Identifier: Apache-2.0
/**
 * Named values of mthca work requests and completions: opcodes, syndromes, doorbells and the types
 * of doorbell records.
 */
import type { ValueTable } from '../layout/table.ts';
import { values } from '../layout/table-rows.ts';

export const workValues: readonly ValueTable[] = [
  values(
    'work-opcode',
    'Opcodes of work requests and of good completions of sends.',
    ['nop', 0x00, 'Nothing is sent.'],
    ['rdma-write', 0x08, 'RDMA WRITE.'],
    ['rdma-write-immediate', 0x09, 'RDMA WRITE with immediate data.'],
    ['send', 0x0a, 'SEND.'],
    ['send-immediate', 0x0b, 'SEND with immediate data.'],
    ['rdma-read', 0x10, 'RDMA READ.'],
    ['compare-and-swap', 0x11, 'Atomic compare and swap.'],
    ['fetch-and-add', 0x12, 'Atomic fetch and add.'],
    ['bind-window', 0x18, 'Binds a memory window.'],
  ),
  values(
    'error-opcode',
    'Opcodes of completions with errors.',
    ['receive', 0xfe, 'A receive has failed.'],
    ['send', 0xff, 'A send has failed.'],
  ),
  values(
    'completion-syndrome',
    'Syndromes of completions with errors.',
    ['local-length', 0x01, 'The message does not fit.'],
    ['local-qp-operation', 0x02, 'The work request is not consistent.'],
    ['local-protection', 0x04, 'A local key does not allow the access.'],
    ['flushed', 0x05, 'The QP was in ERR.'],
    ['window-bind', 0x06, 'The window could not be bound.'],
    ['bad-response', 0x10, 'The response does not match the request.'],
    ['local-access', 0x11, 'A local address cannot be accessed while a request is executed.'],
    ['remote-invalid-request', 0x12, 'The responder refuses the request.'],
    ['remote-access', 0x13, 'A remote key does not allow the access.'],
    ['remote-operation', 0x14, 'The responder has failed.'],
    ['retries-exceeded', 0x15, 'No acknowledgement came.'],
    ['rnr-retries-exceeded', 0x16, 'The responder had no receive entry.'],
    ['remote-aborted', 0x22, 'The responder has aborted.'],
  ),
  values(
    'cq-error-syndrome',
    'Syndromes of a CQ error event.',
    ['overrun', 1, 'The CQ was full.'],
    ['access-violation', 2, 'An entry could not be written.'],
  ),
  values(
    'cq-doorbell-command',
    'Commands of the CQ doorbell.',
    ['notify-solicited', 1, 'Arms the CQ for a solicited entry.'],
    ['notify', 2, 'Arms the CQ for any entry.'],
    ['notify-multiple', 3, 'Arms the CQ for several entries.'],
  ),
  values(
    'doorbell-record-type',
    'Types of doorbell records.',
    ['none', 0, 'The record is not in use.'],
    ['cq-consumer', 1, 'Consumer index of a CQ.'],
    ['cq-arm', 2, 'Arming of a CQ.'],
    ['send-queue', 3, 'Counter of a send queue.'],
    ['receive-queue', 4, 'Counter of a receive queue.'],
    ['shared-receive-queue', 5, 'Counter of an SRQ.'],
    ['separator', 7, 'Between the records of the two groups.'],
  ),
];
