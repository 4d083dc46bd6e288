// SPDX-License-Identifier: Apache-2.0
/**
 * Headers of InfiniBand packets as tables, most significant bit first, as chapters 7 (link),
 * 8 (network) and 9 (transport) of the InfiniBand Architecture Specification, volume 1, draw them.
 * `npm run generate` emits the accessors in `gen/`; `packet.ts` and `packet-builder.ts` use them.
 */
import type { StructTable } from '../layout/table.ts';

/** Local route header. */
const LRH: StructTable = {
  name: 'lrh',
  doc: 'Local route header: routes a packet within its subnet.',
  source: 'IBTA 7.7',
  endian: 'big',
  sizeBytes: 8,
  fields: [
    { name: 'virtualLane', bits: 4, doc: 'Virtual lane of the packet; may change at each link.' },
    { name: 'linkVersion', bits: 4, doc: 'Link protocol version, 0.' },
    { name: 'serviceLevel', bits: 4, doc: 'Service level.' },
    { bits: 2 },
    { name: 'linkNextHeader', bits: 2, doc: 'Header that follows the LRH.', values: 'link-next-header' },
    { name: 'dlid', bits: 16, at: 2, doc: 'Destination local identifier.' },
    { bits: 5 },
    { name: 'packetLength', bits: 11, doc: 'Dwords from the first byte of the LRH to the last byte before the VCRC.' },
    { name: 'slid', bits: 16, at: 6, doc: 'Source local identifier.' },
  ],
};

/** Global route header. */
const GRH: StructTable = {
  name: 'grh',
  doc: 'Global route header: routes a packet between subnets; has the layout of an IPv6 header.',
  source: 'IBTA 8.3',
  endian: 'big',
  sizeBytes: 40,
  fields: [
    { name: 'ipVersion', bits: 4, doc: 'IP version, 6.' },
    { name: 'trafficClass', bits: 8, doc: 'Traffic class.' },
    { name: 'flowLabel', bits: 20, doc: 'Flow label.' },
    { name: 'payloadLength', bits: 16, at: 4, doc: 'Bytes from the end of the GRH to the last byte before the VCRC.' },
    { name: 'nextHeader', bits: 8, doc: 'Next header, 0x1b for an InfiniBand transport header.' },
    { name: 'hopLimit', bits: 8, doc: 'Most routers that the packet may still cross.' },
    { name: 'sgid', bytes: 16, at: 8, doc: 'Source global identifier.' },
    { name: 'dgid', bytes: 16, at: 24, doc: 'Destination global identifier.' },
  ],
};

/** Base transport header. */
const BTH: StructTable = {
  name: 'bth',
  doc: 'Base transport header, in every InfiniBand transport packet.',
  source: 'IBTA 9.2',
  endian: 'big',
  sizeBytes: 12,
  fields: [
    { name: 'opcode', bits: 8, doc: 'Transport (upper 3 bits) and operation.', values: 'bth-opcode' },
    { name: 'solicited', bits: 1, doc: 'The responder raises a solicited event.' },
    { name: 'migration', bits: 1, doc: 'Path migration state: 1 when migrated.' },
    { name: 'padCount', bits: 2, doc: 'Bytes added to align the payload to 4.' },
    { name: 'transportVersion', bits: 4, doc: 'Transport header version, 0.' },
    { name: 'pKey', bits: 16, at: 2, doc: 'Partition key.' },
    { name: 'fecn', bits: 1, at: 4, doc: 'The packet encountered congestion.' },
    { name: 'becn', bits: 1, doc: 'The packet answers one that encountered congestion.' },
    { name: 'reserved6', bits: 6, doc: 'Sent as 0; not covered by the ICRC.' },
    { name: 'destQpn', bits: 24, at: 5, doc: 'Destination queue pair number.' },
    { name: 'ackRequest', bits: 1, at: 8, doc: 'The responder schedules an acknowledgement.' },
    { name: 'reserved7', bits: 7, doc: 'Sent as 0.' },
    { name: 'psn', bits: 24, at: 9, doc: 'Packet sequence number.' },
  ],
};

/** Reliable datagram extended transport header. */
export const RDETH: StructTable = {
  name: 'rdeth',
  doc: 'Reliable datagram extended transport header.',
  source: 'IBTA 9.3.1',
  endian: 'big',
  sizeBytes: 4,
  fields: [{ bits: 8 }, { name: 'eeContext', bits: 24, doc: 'End-to-end context number.' }],
};

/** Datagram extended transport header. */
export const DETH: StructTable = {
  name: 'deth',
  doc: 'Datagram extended transport header.',
  source: 'IBTA 9.3.2',
  endian: 'big',
  sizeBytes: 8,
  fields: [
    { name: 'qKey', bits: 32, doc: 'Queue key, compared with that of the destination QP.' },
    { bits: 8 },
    { name: 'srcQpn', bits: 24, at: 5, doc: 'Source queue pair number.' },
  ],
};

/** Extended reliable connection transport header. */
export const XRCETH: StructTable = {
  name: 'xrceth',
  doc: 'XRC extended transport header.',
  source: 'IBTA annex A14',
  endian: 'big',
  sizeBytes: 4,
  fields: [{ bits: 8 }, { name: 'xrcSrqn', bits: 24, doc: 'Shared receive queue at the destination.' }],
};

/** FLUSH extended transport header. */
export const FETH: StructTable = {
  name: 'feth',
  doc: 'FLUSH extended transport header. The layout is that of soft-RoCE (docs/COMPLIANCE.md).',
  source: 'IBTA annex A19',
  endian: 'big',
  sizeBytes: 4,
  fields: [
    { bits: 26 },
    { name: 'selectivity', bits: 2, doc: 'Memory to flush: `FlushSelectivity`.' },
    { name: 'placementType', bits: 4, doc: 'Required placement of the data: `PlacementType` (bits).' },
  ],
};

/** RDMA extended transport header. */
export const RETH: StructTable = {
  name: 'reth',
  doc: 'RDMA extended transport header.',
  source: 'IBTA 9.3.3',
  endian: 'big',
  sizeBytes: 16,
  fields: [
    { name: 'virtualAddress', bits: 64, opaque: true, doc: 'Remote virtual address.' },
    { name: 'rKey', bits: 32, at: 8, doc: 'R_Key of the remote memory.' },
    { name: 'dmaLength', bits: 32, at: 12, doc: 'Bytes of the whole RDMA operation.' },
  ],
};

/** Atomic extended transport header. */
export const ATOMIC_ETH: StructTable = {
  name: 'atomic-eth',
  doc: 'Atomic extended transport header.',
  source: 'IBTA 9.3.4',
  endian: 'big',
  sizeBytes: 28,
  fields: [
    { name: 'virtualAddress', bits: 64, opaque: true, doc: 'Remote virtual address, a multiple of 8.' },
    { name: 'rKey', bits: 32, at: 8, doc: 'R_Key of the remote memory.' },
    { name: 'swapOrAdd', bits: 64, at: 12, opaque: true, doc: 'Value to swap in, or to add.' },
    { name: 'compare', bits: 64, at: 20, opaque: true, doc: 'Value the memory must hold for a swap.' },
  ],
};

/** ACK extended transport header. */
export const AETH: StructTable = {
  name: 'aeth',
  doc: 'ACK extended transport header.',
  source: 'IBTA 9.3.5',
  endian: 'big',
  sizeBytes: 4,
  fields: [
    { bits: 1 },
    { name: 'syndromeKind', bits: 2, doc: 'ACK, RNR NAK or NAK.', values: 'aeth-kind' },
    { name: 'syndromeValue', bits: 5, doc: 'Credit count of an ACK, timer of an RNR NAK, code of a NAK.' },
    { name: 'msn', bits: 24, at: 1, doc: 'Message sequence number: messages completed by the responder.' },
  ],
};

/** Atomic ACK extended transport header. */
export const ATOMIC_ACK_ETH: StructTable = {
  name: 'atomic-ack-eth',
  doc: 'Atomic ACK extended transport header.',
  source: 'IBTA 9.5.3',
  endian: 'big',
  sizeBytes: 8,
  fields: [{ name: 'original', bits: 64, opaque: true, doc: 'Value in memory before the operation.' }],
};

/** Immediate data. */
export const IMM_DT: StructTable = {
  name: 'imm-dt',
  doc: 'Immediate data.',
  source: 'IBTA 9.3.6',
  endian: 'big',
  sizeBytes: 4,
  fields: [{ name: 'immediate', bits: 32, doc: 'Immediate data for the completion of the receive request.' }],
};

/** Invalidate extended transport header. */
export const IETH: StructTable = {
  name: 'ieth',
  doc: 'Invalidate extended transport header.',
  source: 'IBTA 9.3.7',
  endian: 'big',
  sizeBytes: 4,
  fields: [{ name: 'rKey', bits: 32, doc: 'R_Key that the responder invalidates.' }],
};

/** Extension headers in the order in which a packet may carry them. */
export const EXTENSION_HEADERS = [
  RDETH,
  XRCETH,
  DETH,
  FETH,
  RETH,
  ATOMIC_ETH,
  AETH,
  ATOMIC_ACK_ETH,
  IMM_DT,
  IETH,
] as const;

/** All tables of this file. */
export const headers: readonly StructTable[] = [LRH, GRH, BTH, ...EXTENSION_HEADERS];
