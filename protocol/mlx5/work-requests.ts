// SPDX-License-Identifier: Apache-2.0
/**
 * Pieces of send and receive requests, as software writes them into work queues. A send request
 * begins with the control piece and has 1 to 16 blocks of 64 bytes.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, layout, wide } from './place-rows.ts';

export const workRequests: readonly StructTable[] = [
  layout('ctrl-seg', 'Control piece of a send request.', 0x10, [
    bits('opmod', 0x0, 31, 24, 'Variant of the opcode.'),
    bits('wqeIndex', 0x0, 23, 8, 'Block at which the request begins, counted from the first one of the queue.'),
    bits('opcode', 0x0, 7, 0, 'Operation.', 'send-opcode'),
    bits('qpn', 0x4, 31, 8, 'The QP.'),
    bits('ds', 0x4, 5, 0, 'Length of the request in units of 16 bytes.'),
    bits('signature', 0x8, 31, 24, 'Checksum; it is not checked.'),
    bits('fence', 0x8, 7, 5, 'Condition that the request waits for.', 'fence-mode'),
    bits('completion', 0x8, 3, 2, 'Condition for a completion.', 'completion-mode'),
    bits('solicited', 0x8, 1, 1, 'The message requests an event.'),
    bits('immediate', 0xc, 31, 0, 'Immediate data, key to invalidate or to change.'),
  ]),
  layout('xrc-seg', 'Piece that names the shared receive queue of an XRC message.', 0x10, [
    bits('xrcSrqn', 0x0, 23, 0, 'Shared receive queue of the other end.'),
  ]),
  layout('address-vector', 'Piece with the destination of a datagram.', 0x30, [
    bits('qkey', 0x0, 31, 0, 'Q_Key.'),
    bits('extended', 0x8, 31, 31, 'All 48 bytes are present; otherwise the first 16.'),
    bits('remoteQpn', 0x8, 23, 0, 'QP of the other end.'),
    bits('staticRate', 0xc, 31, 28, 'Code of the static rate; 0: that of the port.'),
    bits('serviceLevel', 0xc, 27, 24, 'Service level.'),
    bits('forceLoopback', 0xc, 23, 23, 'The datagram stays in the adapter.'),
    bits('pathBits', 0xc, 22, 16, 'Low bits of the source LID.'),
    bits('remoteLid', 0xc, 15, 0, 'Destination LID.'),
    bits('trafficClass', 0x18, 15, 8, 'Traffic class.'),
    bits('hopLimit', 0x18, 7, 0, 'Hop limit.'),
    bits('hasRoute', 0x1c, 30, 30, 'The datagram has a global route header.'),
    bits('gidIndex', 0x1c, 27, 20, 'Index of the source GID.'),
    bits('flowLabel', 0x1c, 19, 0, 'Flow label.'),
    block('remoteGid', 0x20, 0x10, 'Destination GID.'),
  ]),
  layout('remote-address-seg', 'Piece that names memory of the other end.', 0x10, [
    wide('address', 0x0, 'Virtual address.'),
    bits('rkey', 0x8, 31, 0, 'Key.'),
  ]),
  layout('atomic-seg', 'Operands of an atomic.', 0x10, [
    wide('swapOrAdd', 0x0, 'Value to store, or to add.'),
    wide('compare', 0x8, 'Value to compare with.'),
  ]),
  layout('data-seg', 'Piece that names local memory, also in receive requests.', 0x10, [
    bits('inline', 0x0, 31, 31, 'The data follow; the piece has 4 bytes and the data.'),
    bits('byteCount', 0x0, 30, 0, 'Length; 0 means 2^31 bytes where nothing is inline.'),
    bits('lkey', 0x4, 31, 0, 'Key.'),
    wide('address', 0x8, 'Virtual address.'),
  ]),
  layout('srq-next-seg', 'First piece of an entry of a shared receive queue that is a list.', 0x10, [
    bits('nextWqeIndex', 0x0, 15, 0, 'Next entry in the list.'),
    bits('signature', 0x4, 31, 24, 'Checksum; it is not checked.'),
  ]),
  layout('umr-ctrl-seg', 'Piece with the changes of a key.', 0x30, [
    bits('inline', 0x0, 31, 31, 'The list follows; otherwise a data piece names it.'),
    bits('checkInUse', 0x0, 30, 30, 'The key must not be free.'),
    bits('checkFree', 0x0, 29, 29, 'The key must be free.'),
    bits('translationOffset', 0x0, 28, 28, 'The offset in the list is used.'),
    bits('checkQpn', 0x0, 27, 27, 'The key must belong to the QP.'),
    bits('translationOctowords', 0x4, 31, 16, 'Units of 16 bytes of the list.'),
    bits('translationOffsetLow', 0x4, 15, 0, 'Offset in the list of the key, units of 16 bytes.'),
    wide('mkeyMask', 0x8, 'A bit for each attribute that changes.'),
    bits('translationOffsetHigh', 0x10, 31, 0, 'Bits 47 to 16 of the offset.'),
  ]),
  layout('klm', 'Element of a list of keys.', 0x10, [
    bits('byteCount', 0x0, 31, 0, 'Length.'),
    bits('mkey', 0x4, 31, 0, 'Key.'),
    wide('address', 0x8, 'Virtual address.'),
  ]),
  layout('mtt', 'Element of a list of pages.', 0x8, [
    bits('addressHigh', 0x0, 31, 0, 'Address of the page, high half.'),
    bits('addressLow', 0x4, 31, 3, 'Bits 31 to 3 of the address.'),
    bits('writable', 0x4, 1, 1, 'The page may be written.'),
    bits('readable', 0x4, 0, 0, 'The page may be read.'),
  ]),
  layout('doorbell-record', 'Record of a QP, in which software counts its posted requests.', 0x8, [
    bits('receiveCounter', 0x0, 15, 0, 'Receives that were posted.'),
    bits('sendCounter', 0x4, 15, 0, 'Blocks of the send queue that were posted.'),
  ]),
];
