// SPDX-License-Identifier: Apache-2.0
/**
 * Named values of the wire formats: opcodes, parser errors, MTU codes, acknowledgement syndromes,
 * capture files. `npm run generate` emits them as constants.
 */
import type { ValueTable } from '../layout/table.ts';
import { opcodeValues } from './operations.ts';

const PACKET_ERROR: ValueTable = {
  name: 'packet-error',
  doc: 'Reasons of the parser to reject a packet: the first one in the order of a receiving port.',
  values: [
    { name: 'none', value: 0, doc: 'The packet is well formed.' },
    { name: 'truncated', value: 1, doc: 'Fewer bytes than LRH, BTH and CRCs.' },
    { name: 'bad-link-version', value: 2, doc: 'LRH LVer is not 0.', source: 'IBTA 7.7.2' },
    {
      name: 'bad-link-next-header',
      value: 3,
      doc: 'LNH is that of a raw packet, not of an InfiniBand transport packet.',
      source: 'IBTA 7.7.5',
    },
    { name: 'bad-packet-length', value: 4, doc: 'LRH PktLen differs from the bytes received.', source: 'IBTA 7.7.8' },
    {
      name: 'bad-vcrc',
      value: 5,
      doc: 'The variant CRC is wrong: the last link damaged the packet.',
      source: 'IBTA 7.8.2',
    },
    {
      name: 'bad-icrc',
      value: 6,
      doc: 'The invariant CRC is wrong: the packet was damaged on its way.',
      source: 'IBTA 7.8.1',
    },
    { name: 'bad-ip-version', value: 7, doc: 'GRH IPVer is not 6.', source: 'IBTA 8.3' },
    { name: 'bad-next-header', value: 8, doc: 'GRH NxtHdr is not 0x1b.', source: 'IBTA 8.3' },
    { name: 'bad-payload-length', value: 9, doc: 'GRH PayLen differs from LRH PktLen.', source: 'IBTA 8.3' },
    { name: 'bad-transport-version', value: 10, doc: 'BTH TVer is not 0.', source: 'IBTA 9.6.1.1' },
    { name: 'unknown-opcode', value: 11, doc: 'BTH OpCode is reserved.', source: 'IBTA 9.2.1' },
    { name: 'missing-header', value: 12, doc: 'The packet ends inside the headers that its opcode requires.' },
    {
      name: 'bad-pad',
      value: 13,
      doc: 'More pad bytes than payload bytes, or pad bytes without payload.',
      source: 'IBTA 9.2.4',
    },
    { name: 'unexpected-payload', value: 14, doc: 'A payload after an opcode that carries none.', source: 'IBTA 9.4' },
  ],
};

const LINK_NEXT_HEADER: ValueTable = {
  name: 'link-next-header',
  doc: 'Header that follows the LRH.',
  source: 'IBTA 7.7.5',
  values: [
    { name: 'raw', value: 0, doc: 'A raw packet with an Ethertype.' },
    { name: 'raw-ipv6', value: 1, doc: 'A raw IPv6 packet.' },
    { name: 'bth', value: 2, doc: 'Base transport header: a local packet.' },
    { name: 'grh', value: 3, doc: 'Global route header: a global packet.' },
  ],
};

const MTU_CODE: ValueTable = {
  name: 'mtu-code',
  doc: 'Codes of the largest payload in PortInfo, path records and QP attributes.',
  source: 'IBTA 14.2.5.6',
  values: [
    { name: 'mtu-256', value: 1, doc: '256 bytes.' },
    { name: 'mtu-512', value: 2, doc: '512 bytes.' },
    { name: 'mtu-1024', value: 3, doc: '1024 bytes.' },
    { name: 'mtu-2048', value: 4, doc: '2048 bytes.' },
    { name: 'mtu-4096', value: 5, doc: '4096 bytes.' },
  ],
};

const AETH_KIND: ValueTable = {
  name: 'aeth-kind',
  doc: 'Kinds of acknowledgement.',
  source: 'IBTA 9.7.5.1.1',
  values: [
    { name: 'ack', value: 0, doc: 'Acknowledged; the value is a credit count.' },
    { name: 'rnr-nak', value: 1, doc: 'Receiver not ready; the value is a timer.' },
    { name: 'nak', value: 3, doc: 'Rejected; the value is a NAK code.' },
  ],
};

const NAK_CODE: ValueTable = {
  name: 'nak-code',
  doc: 'Reasons to reject a request.',
  source: 'IBTA 9.7.5.2',
  values: [
    { name: 'psn-sequence-error', value: 0, doc: 'A packet before this one is missing.' },
    { name: 'invalid-request', value: 1, doc: 'The QP does not serve this request.' },
    { name: 'remote-access-error', value: 2, doc: 'Key, bounds or access rights do not allow the access.' },
    { name: 'remote-operational-error', value: 3, doc: 'The responder failed.' },
    { name: 'invalid-rd-request', value: 4, doc: 'Q_Key or RDD violation of a reliable datagram.' },
  ],
};

const BTH_OPCODE: ValueTable = {
  name: 'bth-opcode',
  doc: 'Transport service and operation of a packet.',
  source: 'IBTA 9.2.1',
  values: opcodeValues,
};

const PCAP_MAGIC: ValueTable = {
  name: 'pcap-magic',
  doc: 'First word of a capture file.',
  values: [
    { name: 'microseconds', value: 0xa1b2c3d4, doc: 'Times in microseconds.' },
    { name: 'nanoseconds', value: 0xa1b23c4d, doc: 'Times in nanoseconds.' },
  ],
};

const PCAP_LINK_TYPE: ValueTable = {
  name: 'pcap-link-type',
  doc: 'Types of the records in a capture file.',
  values: [
    { name: 'ethernet', value: 1, doc: 'Ethernet frames.' },
    { name: 'erf', value: 197, doc: 'ERF records.' },
  ],
};

/** All tables of this file. */
export const wireValues: readonly ValueTable[] = [
  BTH_OPCODE,
  PACKET_ERROR,
  LINK_NEXT_HEADER,
  MTU_CODE,
  AETH_KIND,
  NAK_CODE,
  PCAP_MAGIC,
  PCAP_LINK_TYPE,
];
