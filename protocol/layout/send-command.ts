// SPDX-License-Identifier: Apache-2.0
/**
 * The send command: 64-byte header, then up to 256 bytes of inline payload or SGE list. The same bytes stand in the send queue slot and go
 * through a collect buffer. The first 8 bytes are all a doorbell needs.
 */
import type { StructTable } from './table.ts';

export const sendCommand: StructTable = {
  name: 'send-command',
  doc: 'Header of a command posted to a send queue.',
  source: 'US8484392, command; DESIGN.md 4.3',
  endian: 'little',
  sizeBytes: 64,
  fields: [
    { name: 'opcode', bits: 8, values: 'send-opcode', doc: 'Operation.', at: 0 },
    { name: 'qpn', bits: 24, doc: 'Local queue pair number.' },
    { name: 'sequence', bits: 16, doc: 'Send-queue sequence number; slot = sequence modulo entries.', at: 4 },
    { name: 'collectLength', bits: 9, doc: 'Length of the whole command in bytes, 64 to 320, a multiple of 8.' },
    { name: 'qosLevel', bits: 1, doc: 'QoS level; must match the QP.' },
    { name: 'serviceLevel', bits: 4, doc: 'Service level hint for the lane choice.' },
    { bits: 2 },
    {
      name: 'sgeCount',
      bits: 5,
      doc: 'Scatter/gather elements, 0 to 16; the first is in the header when there is only one.',
      at: 8,
    },
    { name: 'signaled', bits: 1, doc: 'Post a CQE on success.' },
    { name: 'solicited', bits: 1, doc: 'Set the solicited event bit of the last packet.' },
    { name: 'fence', bits: 1, doc: 'Wait for outstanding RDMA READs and atomics.' },
    { name: 'inline', bits: 1, doc: 'The payload follows the header.' },
    { bits: 23 },
    { name: 'messageLength', bits: 32, doc: 'Payload bytes of the message.', at: 12 },
    {
      name: 'checksum',
      bits: 32,
      doc: "One's-complement sum of all dwords, this one as zero, seeded with the QP's checksum key, inverted.",
      source: 'real-hardware 1.4',
      at: 16,
    },
    {
      name: 'immediate',
      bits: 32,
      doc: 'Immediate data (as it goes on the wire, CPU order) or the R_Key to invalidate.',
    },
    { name: 'target', bytes: 16, doc: 'ud-target or rdma-target.', at: 24 },
    { name: 'sgeAddress', bits: 64, doc: 'Virtual address of the only SGE.', at: 40 },
    { name: 'sgeLength', bits: 32, doc: 'Length of the only SGE in bytes.' },
    { name: 'sgeLkey', bits: 32, doc: 'L_Key of the only SGE.' },
    { name: 'xrcSrqn', bits: 24, doc: 'Remote SRQ of an XRC send.', at: 56 },
    { bits: 8 },
    { bits: 32 },
  ],
};

export const doorbell: StructTable = {
  name: 'doorbell',
  doc: 'The first 8 bytes of a command: an explicit doorbell, or what is kept of a refused command (implicit doorbell).',
  source: 'US8484392, send queue mode; US9069485',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'opcode', bits: 8, values: 'send-opcode', doc: 'Ignored by doorbells.' },
    { name: 'qpn', bits: 24, doc: 'Queue pair whose send queue has work.' },
    { name: 'sequence', bits: 16, doc: 'Sequence number of a posted command.', at: 4 },
    { name: 'collectLength', bits: 9, doc: 'Ignored by doorbells.' },
    { name: 'qosLevel', bits: 1, doc: 'QoS level.' },
    { name: 'serviceLevel', bits: 4, doc: 'Service level hint.' },
    { bits: 2 },
  ],
};

export const udTarget: StructTable = {
  name: 'ud-target',
  doc: 'Where a datagram goes.',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'remoteQpn', bits: 24, doc: 'Destination QP.' },
    { bits: 8 },
    { name: 'qkey', bits: 32, doc: "Q_Key to send; with the top bit set the QP's own.", source: 'IBTA 10.2.5' },
    { name: 'addressHandle', bits: 32, doc: "Index into the function's address handle table." },
    { bits: 32 },
  ],
};

export const rdmaTarget: StructTable = {
  name: 'rdma-target',
  doc: 'Remote memory of an RDMA or atomic operation.',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'remoteAddress', bits: 64, doc: 'Remote virtual address.' },
    { name: 'rkey', bits: 32, doc: 'R_Key.' },
    { bits: 32 },
  ],
};

export const atomicOperands: StructTable = {
  name: 'atomic-operands',
  doc: 'Operands of an atomic operation, right behind the header.',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'swapOrAdd', bits: 64, doc: 'Value to swap in, or to add.' },
    { name: 'compare', bits: 64, doc: 'Value to compare with.' },
  ],
};

export const bindTarget: StructTable = {
  name: 'bind-target',
  doc: 'What BIND_WINDOW does; the SGE of the header names the piece of the region: address, length, L_Key. Length 0 unbinds a type 1 window.',
  source: 'IBTA 10.6.7, 11.4.1.4',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'rkey', bits: 32, doc: "The window's R_Key as it is." },
    { name: 'access', bits: 32, values: 'access-flag', doc: 'Remote rights of the window.' },
    { name: 'keyByte', bits: 8, doc: 'Low byte of the R_Key from now on.' },
    { bits: 24 },
    { bits: 32 },
  ],
};

export const registerTarget: StructTable = {
  name: 'register-target',
  doc: 'What FAST_REGISTER does; the SGE of the header holds start address, length and the L_Key with its new low byte.',
  source: 'IBTA 10.6.3.2, 11.4.1.5',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'pageListAddress', bits: 64, doc: 'Guest address of the array of 8-byte page addresses.' },
    { name: 'pageCount', bits: 16, doc: 'Pages in the list.' },
    { name: 'pageShift', bits: 8, doc: 'log2 of the page size.' },
    { name: 'access', bits: 8, values: 'access-flag', doc: 'Access rights.' },
    { bits: 32 },
  ],
};

export const scatterGatherElement: StructTable = {
  name: 'sge',
  doc: 'Scatter/gather element: a piece of local memory.',
  source: 'IBTA 10.2.6',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'address', bits: 64, doc: 'Virtual address within the memory region.' },
    { name: 'length', bits: 32, doc: 'Bytes.' },
    { name: 'lkey', bits: 32, doc: 'L_Key.' },
  ],
};

export const addressHandle: StructTable = {
  name: 'address-handle',
  doc: "Entry of the function's address handle table in guest memory: one address vector.",
  source: 'IBTA 11.2.2',
  endian: 'little',
  sizeBytes: 64,
  fields: [
    { name: 'valid', bits: 1, doc: 'The entry may be used.' },
    { name: 'globalRoute', bits: 1, doc: 'Send a GRH.' },
    { name: 'port', bits: 2, doc: 'Port number, from 1.' },
    { name: 'serviceLevel', bits: 4, doc: 'SL.' },
    { name: 'pd', bits: 24, doc: 'Protection domain; must match the QP.' },
    { name: 'dlid', bits: 16, doc: 'Destination LID.', at: 4 },
    { name: 'sourcePathBits', bits: 7, doc: 'Low bits of the source LID.' },
    { bits: 1 },
    { name: 'staticRate', bits: 8, doc: 'Static rate code.' },
    { name: 'flowLabel', bits: 20, doc: 'GRH flow label.', at: 8 },
    { name: 'sourceGidIndex', bits: 8, doc: 'Source GID table index.' },
    { bits: 4 },
    { name: 'trafficClass', bits: 8, doc: 'GRH traffic class.', at: 12 },
    { name: 'hopLimit', bits: 8, doc: 'GRH hop limit.' },
    { bits: 16 },
    { name: 'destinationGid', bytes: 16, doc: 'Destination GID, as on the wire.', at: 16 },
    { bytes: 32 },
  ],
};

export const sendControl: StructTable = {
  name: 'send-control',
  doc: 'Control word in front of a packet in a send context: 8 bytes, then the packet from its LRH on, whole 64-byte blocks.',
  source: 'US2015378953; real-hardware 2.2, PBC',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'lengthDwords', bits: 12, doc: 'Control word and packet without ICRC and VCRC, in dwords.' },
    { name: 'virtualLane', bits: 4, doc: 'VL; must be allowed for the context.' },
    { bits: 7 },
    { name: 'badIcrc', bits: 1, doc: 'Test: sends a wrong ICRC.' },
    { bits: 1 },
    { name: 'creditReturn', bits: 1, doc: 'Return credits when this packet has egressed.' },
    { bits: 3 },
    { name: 'badVcrc', bits: 1, doc: 'Test: sends a wrong VCRC.' },
    { bits: 1 },
    { name: 'interrupt', bits: 1, doc: 'Raise the vector when this packet has egressed.' },
    { bits: 32 },
  ],
};

export const creditReturn: StructTable = {
  name: 'credit-return',
  doc: 'What a send context writes to guest memory, as one 8-byte store.',
  source: 'US2015378953; real-hardware 2.3',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'freeCounter', bits: 11, doc: 'Absolute count of blocks freed, modulo 2048.' },
    { name: 'status', bits: 1, doc: 'The context is halted.' },
    { name: 'dueRequest', bits: 1, doc: 'A packet asked for it.' },
    { name: 'dueThreshold', bits: 1, doc: 'More blocks than the threshold were free.' },
    { name: 'dueError', bits: 1, doc: 'The context halted.' },
    { name: 'dueForce', bits: 1, doc: 'Software forced it.' },
    { bits: 16 },
    { bits: 32 },
  ],
};

export const sendStructs = [
  sendCommand,
  doorbell,
  udTarget,
  rdmaTarget,
  atomicOperands,
  bindTarget,
  registerTarget,
  scatterGatherElement,
  addressHandle,
  sendControl,
  creditReturn,
];
