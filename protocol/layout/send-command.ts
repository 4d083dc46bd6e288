// SPDX-License-Identifier: Apache-2.0
/**
 * The send command: a header of 64 bytes, then up to 256 bytes of inline payload or SGE list. The
 * same bytes are in the send queue slot and go through a collect buffer; the first 8 are all that
 * a doorbell needs (docs/DOCUMENTS.md decision 1). Also here: operands of each operation, address
 * handles, and the control and credit-return words of send contexts.
 */
import type { StructTable } from './table.ts';

const sendCommand: StructTable = {
  name: 'send-command',
  doc: 'Header of a command posted to a send queue.',
  source: 'US 8,484,392 par. 36-37, 109; docs/DOCUMENTS.md decision 1',
  endian: 'little',
  sizeBytes: 64,
  fields: [
    { name: 'opcode', bits: 8, values: 'send-opcode', doc: 'Operation.', at: 0 },
    { name: 'qpn', bits: 24, doc: 'Local queue pair number.' },
    { name: 'sequence', bits: 16, doc: 'Send queue sequence number; modulo the entries it is the slot.', at: 4 },
    { name: 'collectLength', bits: 9, doc: 'Length of the whole command in bytes: 64 to 320, a multiple of 8.' },
    { name: 'qosLevel', bits: 1, doc: 'QoS level; must be that of the QP.' },
    { bits: 6 },
    {
      name: 'sgeCount',
      bits: 5,
      doc: 'Scatter/gather elements, 0 to 16; a single one is in the header.',
      at: 8,
    },
    { name: 'signaled', bits: 1, doc: 'The command posts a CQE on success too.' },
    { name: 'solicited', bits: 1, doc: 'The last packet carries the solicited event bit.' },
    { name: 'fence', bits: 1, doc: 'The command waits for outstanding RDMA READs and atomics.' },
    { name: 'inline', bits: 1, doc: 'The payload follows the header.' },
    { bits: 23 },
    { name: 'messageLength', bits: 32, doc: 'Payload bytes of the message; bytes of the range of a FLUSH.', at: 12 },
    {
      name: 'checksum',
      bits: 32,
      doc: "Inverted one's-complement sum of all dwords, this one as 0, seeded with the QP's checksum key.",
      source: 'docs/DOCUMENTS.md decision 2',
      at: 16,
    },
    {
      name: 'immediate',
      bits: 32,
      doc: 'Immediate data as a number in CPU order, or the R_Key to invalidate.',
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

const doorbell: StructTable = {
  name: 'doorbell',
  doc: 'First 8 bytes of a command: an explicit doorbell, or an implicit one from a command without a PCB.',
  source: 'US 8,484,392 par. 99; US 9,069,485 par. 29, 66, 69',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'opcode', bits: 8, values: 'send-opcode', doc: 'Ignored in a doorbell.' },
    { name: 'qpn', bits: 24, doc: 'Queue pair whose send queue has work.' },
    { name: 'sequence', bits: 16, doc: 'Sequence number of a posted command.', at: 4 },
    { name: 'collectLength', bits: 9, doc: 'Ignored in a doorbell.' },
    { bits: 7 },
  ],
};

const udTarget: StructTable = {
  name: 'ud-target',
  doc: 'Destination of a datagram.',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'remoteQpn', bits: 24, doc: 'Destination QP.' },
    { bits: 8 },
    { name: 'qkey', bits: 32, doc: "Q_Key to send; if its top bit is set, the QP's own.", source: 'IBTA 10.2.5' },
    { name: 'addressHandle', bits: 32, doc: "Index into the function's address handle table." },
    { name: 'pkeyIndex', bits: 16, doc: 'P_Key table index of a datagram of a GSI QP; others have their own.' },
    { bits: 16 },
  ],
};

const rdmaTarget: StructTable = {
  name: 'rdma-target',
  doc: 'Remote memory of an RDMA operation, an atomic, a FLUSH or an ATOMIC WRITE.',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'remoteAddress', bits: 64, doc: 'Remote virtual address.' },
    { name: 'rkey', bits: 32, doc: 'R_Key.' },
    {
      name: 'placementType',
      bits: 4,
      values: 'placement-type',
      doc: 'For a FLUSH: required placement of the data (bits).',
    },
    { name: 'selectivity', bits: 2, values: 'flush-selectivity', doc: 'For a FLUSH: memory to flush.' },
    { bits: 26 },
  ],
};

const atomicOperands: StructTable = {
  name: 'atomic-operands',
  doc: 'Operands of an atomic operation, right after the header.',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'swapOrAdd', bits: 64, doc: 'Value to swap in, or to add.' },
    { name: 'compare', bits: 64, doc: 'Value to compare with.' },
  ],
};

const bindTarget: StructTable = {
  name: 'bind-target',
  doc: 'Operands of BIND_WINDOW; the SGE of the header is the range. Length 0 unbinds a type 1 window.',
  source: 'IBTA 10.6.7, 11.4.1.4',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'rkey', bits: 32, doc: 'Present R_Key of the window.' },
    { name: 'access', bits: 32, values: 'access-flag', doc: 'Remote access rights of the window.' },
    { name: 'keyByte', bits: 8, doc: 'New low byte of the R_Key.' },
    { bits: 24 },
    { bits: 32 },
  ],
};

const registerTarget: StructTable = {
  name: 'register-target',
  doc: 'Operands of FAST_REGISTER; the SGE of the header holds start, length and L_Key with a new low byte.',
  source: 'IBTA 10.6.3.2, 11.4.1.5',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'pageListAddress', bits: 64, doc: 'Guest address of the array of 8-byte page addresses.' },
    { name: 'pageCount', bits: 16, doc: 'Pages in the list.' },
    { name: 'pageShift', bits: 8, doc: 'log2 of the page size.' },
    { bits: 8 },
    { name: 'access', bits: 32, values: 'access-flag', doc: 'Access rights.' },
  ],
};

const scatterGatherElement: StructTable = {
  name: 'sge',
  doc: 'Scatter/gather element: a range of local memory.',
  source: 'IBTA 10.2.6',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'address', bits: 64, doc: 'Virtual address within the memory region.' },
    { name: 'length', bits: 32, doc: 'Length in bytes.' },
    { name: 'lkey', bits: 32, doc: 'L_Key.' },
  ],
};

export const addressHandle: StructTable = {
  name: 'address-handle',
  doc: 'Entry of the address handle table in guest memory: one address vector.',
  source: 'IBTA 11.2.2',
  endian: 'little',
  sizeBytes: 64,
  fields: [
    { name: 'valid', bits: 1, doc: 'The entry is usable.' },
    { name: 'globalRoute', bits: 1, doc: 'Packets carry a GRH.' },
    { name: 'port', bits: 2, doc: 'Low bits of the port number, from 1.' },
    { name: 'serviceLevel', bits: 4, doc: 'SL.' },
    { name: 'pd', bits: 24, doc: 'Protection domain; must be that of the QP.' },
    { name: 'dlid', bits: 16, doc: 'Destination LID.', at: 4 },
    { name: 'sourcePathBits', bits: 7, doc: 'Low bits of the source LID.' },
    { name: 'portHigh', bits: 1, doc: 'High bit of the port number: 1 for port 4.' },
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

const sendControl: StructTable = {
  name: 'send-control',
  doc: 'Control word before a packet in a send context; the packet follows from its LRH on, in whole blocks.',
  source: 'US 2015/0378953 abstract; docs/DOCUMENTS.md decision 9',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'lengthDwords', bits: 12, doc: 'Length of control word and packet without ICRC and VCRC, in dwords.' },
    { name: 'virtualLane', bits: 4, doc: 'Virtual lane; the context must allow it.' },
    { bits: 7 },
    { name: 'badIcrc', bits: 1, doc: 'Test aid: the packet gets a wrong ICRC.' },
    { bits: 1 },
    { name: 'creditReturn', bits: 1, doc: 'Credits return when this packet has egressed.' },
    { bits: 3 },
    { name: 'badVcrc', bits: 1, doc: 'Test aid: the packet gets a wrong VCRC.' },
    { bits: 1 },
    { name: 'interrupt', bits: 1, doc: 'The vector is raised when this packet has egressed.' },
    { bits: 32 },
  ],
};

const creditReturn: StructTable = {
  name: 'credit-return',
  doc: 'Word that a send context writes to guest memory, in one 8-byte store.',
  source: 'US 2015/0378953 abstract; docs/DOCUMENTS.md decision 9',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'freeCounter', bits: 11, doc: 'Absolute count of blocks freed, modulo 2048.' },
    { name: 'status', bits: 1, doc: 'The context is halted.' },
    { name: 'dueRequest', bits: 1, doc: 'Returned because a packet requested it.' },
    { name: 'dueThreshold', bits: 1, doc: 'Returned because more blocks than the threshold were free.' },
    { name: 'dueError', bits: 1, doc: 'Returned because the context halted.' },
    { name: 'dueForce', bits: 1, doc: 'Returned because software forced it.' },
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
