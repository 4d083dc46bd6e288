// SPDX-License-Identifier: Apache-2.0
/**
 * Headers of management datagrams as tables: the common header, the directed-route SMP, the RMPP
 * header, and that of subnet administration (IBTA chapters 13 to 15). A datagram has 256 bytes.
 * `npm run generate` emits the accessors in `gen/`.
 */
import type { FieldRow, StructTable } from '../../layout/table.ts';

/** The first 24 bytes, up to the fields that a directed route shares. */
const IDENTITY: readonly FieldRow[] = [
  { name: 'baseVersion', bits: 8, doc: 'Version of the datagram, 1.' },
  { name: 'managementClass', bits: 8, doc: 'Management class.', values: 'mad-class' },
  { name: 'classVersion', bits: 8, doc: 'Version of the class: 1, for subnet administration 2.' },
  { name: 'method', bits: 8, doc: 'Method; the upper bit is set in a response.', values: 'mad-method' },
];

const TRANSACTION: readonly FieldRow[] = [
  { name: 'transactionId', bits: 64, at: 8, opaque: true, doc: 'Chosen by the requester; a response repeats it.' },
  { name: 'attributeId', bits: 16, at: 16, doc: 'Attribute, in the numbers of the class.' },
  { bits: 16 },
  { name: 'attributeModifier', bits: 32, at: 20, doc: 'Further scope of the attribute: a port, a block.' },
];

const MAD_HEADER: StructTable = {
  name: 'mad-header',
  doc: 'Common header of a management datagram.',
  source: 'IBTA 13.4.2',
  endian: 'big',
  sizeBytes: 24,
  fields: [
    ...IDENTITY,
    { name: 'status', bits: 16, at: 4, doc: 'Status of a response; bits 8 to 14 belong to the class.' },
    { name: 'classSpecific', bits: 16, at: 6, doc: 'Belongs to the class.' },
    ...TRANSACTION,
  ],
};

const DIRECTED_ROUTE_SMP: StructTable = {
  name: 'directed-route-smp',
  doc: 'Subnet management packet with a directed route; the LID-routed one has no DrSLID, DrDLID and paths.',
  source: 'IBTA 14.2.1.2',
  endian: 'big',
  sizeBytes: 256,
  fields: [
    ...IDENTITY,
    { name: 'isReturning', bits: 1, at: 4, doc: 'D bit: the packet is on its way back.' },
    { name: 'status', bits: 15, doc: 'Status of a response.' },
    { name: 'hopPointer', bits: 8, at: 6, doc: 'Position on the directed part of the route.' },
    { name: 'hopCount', bits: 8, doc: 'Hops of the directed part of the route, 0 to 63.' },
    ...TRANSACTION,
    { name: 'mKey', bits: 64, at: 24, opaque: true, doc: 'Management key.' },
    { name: 'drSlid', bits: 16, at: 32, doc: 'LID of the source of the LID-routed part, or 0xffff.' },
    { name: 'drDlid', bits: 16, doc: 'LID of the destination of the LID-routed part, or 0xffff.' },
    { bytes: 28 },
    { name: 'data', bytes: 64, at: 64, doc: 'The attribute.' },
    { name: 'initialPath', bytes: 64, at: 128, doc: 'Output port of each hop, from index 1.' },
    { name: 'returnPath', bytes: 64, at: 192, doc: 'Input port of each hop, from index 1; the way back.' },
  ],
};

const RMPP_HEADER: StructTable = {
  name: 'rmpp-header',
  doc: 'Header of the reliable multi-packet protocol, after the common header.',
  source: 'IBTA 13.6.2.1',
  endian: 'big',
  sizeBytes: 12,
  fields: [
    { name: 'version', bits: 8, doc: 'Version of the protocol, 1; 0 when it is not used.' },
    { name: 'type', bits: 8, doc: 'Type of the packet.', values: 'rmpp-type' },
    { name: 'responseTime', bits: 5, doc: 'Code of the time that the receiver needs; 31: none is given.' },
    { name: 'isLast', bits: 1, doc: 'The last segment of a transfer.' },
    { name: 'isFirst', bits: 1, doc: 'The first segment of a transfer.' },
    { name: 'isActive', bits: 1, doc: 'The protocol is in use for this packet.' },
    { name: 'status', bits: 8, doc: 'Reason why a transfer stops or is aborted; otherwise 0.', values: 'rmpp-status' },
    { name: 'segmentNumber', bits: 32, at: 4, doc: 'Segment of a DATA packet, from 1; the last one that an ACK has.' },
    {
      name: 'payloadLength',
      bits: 32,
      doc: 'DATA: bytes of the transfer (first segment) or of this segment (last). ACK: last segment of the window.',
    },
  ],
};

const SA_HEADER: StructTable = {
  name: 'sa-header',
  doc: 'Header of subnet administration, after the RMPP header; 200 bytes of records follow.',
  source: 'IBTA 15.2.1.1',
  endian: 'big',
  sizeBytes: 20,
  fields: [
    { name: 'smKey', bits: 64, opaque: true, doc: 'Key of the subnet manager for trusted requests; 0: not trusted.' },
    { name: 'attributeOffset', bits: 16, at: 8, doc: 'Distance from one record to the next, in units of 8 bytes.' },
    { bits: 16 },
    {
      name: 'componentMask',
      bits: 64,
      at: 12,
      opaque: true,
      doc: 'One bit for each component of the record that a query compares.',
    },
  ],
};

/** Bytes of a management datagram (IBTA 13.4.2). */
export const MAD_BYTES = 256;
/** The bit of a method that distinguishes a response from its request (IBTA 13.4.5). */
export const RESPONSE_BIT = 0x80;
/** Offset of the attribute in datagrams of subnet management and performance management. */
export const ATTRIBUTE_OFFSET = 64;
/** Bytes of an attribute of subnet management. */
export const ATTRIBUTE_BYTES = 64;
/** Offset of the RMPP header. */
export const RMPP_OFFSET = 24;
/** Offset of the header of subnet administration, and of its records. */
export const SA_HEADER_OFFSET = 36;
export const SA_DATA_OFFSET = 56;

export const madHeaders: readonly StructTable[] = [MAD_HEADER, DIRECTED_ROUTE_SMP, RMPP_HEADER, SA_HEADER];
