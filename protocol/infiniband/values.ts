// SPDX-License-Identifier: Apache-2.0
/** Named values of the wire formats: opcodes, causes for refusing a packet, MTU codes, acknowledgement syndromes. */
import type { ValueTable } from '../layout/table.ts';
import { opcodeValues } from './operations.ts';

const PACKET_ERROR: ValueTable = {
  name: 'packet-error',
  doc: 'Why the parser refuses a packet; the first cause in the order of a receiving port.',
  values: [
    { name: 'none', value: 0, doc: 'The packet is well formed.' },
    { name: 'truncated', value: 1, doc: 'Fewer bytes than an LRH, a BTH and the CRCs take.' },
    { name: 'bad-link-version', value: 2, doc: 'LRH LVer is not 0.', source: 'IBA 7.7.2' },
    {
      name: 'bad-link-next-header',
      value: 3,
      doc: 'LNH says raw packet: not an InfiniBand transport packet.',
      source: 'IBA 7.7.5',
    },
    { name: 'bad-packet-length', value: 4, doc: 'LRH PktLen disagrees with the bytes received.', source: 'IBA 7.7.8' },
    { name: 'bad-vcrc', value: 5, doc: 'Variant CRC wrong: damaged on the last link.', source: 'IBA 7.8.2' },
    { name: 'bad-icrc', value: 6, doc: 'Invariant CRC wrong: damaged on the way.', source: 'IBA 7.8.1' },
    { name: 'bad-ip-version', value: 7, doc: 'GRH IPVer is not 6.', source: 'IBA 8.3' },
    { name: 'bad-next-header', value: 8, doc: 'GRH NxtHdr is not 0x1b.', source: 'IBA 8.3' },
    { name: 'bad-payload-length', value: 9, doc: 'GRH PayLen disagrees with LRH PktLen.', source: 'IBA 8.3' },
    { name: 'bad-transport-version', value: 10, doc: 'BTH TVer is not 0.', source: 'IBA 9.6.1.1' },
    { name: 'unknown-opcode', value: 11, doc: 'BTH OpCode is reserved.', source: 'IBA 9.2.1' },
    { name: 'missing-header', value: 12, doc: 'The packet ends inside the headers its opcode demands.' },
    {
      name: 'bad-pad',
      value: 13,
      doc: 'More pad bytes than payload, or pad where the opcode allows no payload.',
      source: 'IBA 9.2.4',
    },
    { name: 'unexpected-payload', value: 14, doc: 'Payload behind an opcode that carries none.', source: 'IBA 9.4' },
  ],
};

const LINK_NEXT_HEADER: ValueTable = {
  name: 'link-next-header',
  doc: 'What follows the LRH.',
  source: 'IBA 7.7.5',
  values: [
    { name: 'raw', value: 0, doc: 'A raw packet with an Ethertype.' },
    { name: 'raw-ipv6', value: 1, doc: 'A raw IPv6 packet.' },
    { name: 'bth', value: 2, doc: 'Base transport header: a local packet.' },
    { name: 'grh', value: 3, doc: 'Global route header: a global packet.' },
  ],
};

const MTU_CODE: ValueTable = {
  name: 'mtu-code',
  doc: 'Code of a maximum payload in PortInfo, path records and QP attributes.',
  source: 'IBA 14.2.5.6',
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
  doc: 'What an acknowledgement says.',
  source: 'IBA 9.7.5.1.1',
  values: [
    { name: 'ack', value: 0, doc: 'Done; the value is a credit count.' },
    { name: 'rnr-nak', value: 1, doc: 'Receiver not ready; the value is a timer.' },
    { name: 'nak', value: 3, doc: 'Refused; the value is a NAK code.' },
  ],
};

const NAK_CODE: ValueTable = {
  name: 'nak-code',
  doc: 'Why a request was refused.',
  source: 'IBA 9.7.5.2',
  values: [
    { name: 'psn-sequence-error', value: 0, doc: 'A packet before this one is missing.' },
    { name: 'invalid-request', value: 1, doc: 'The request is not one this QP serves.' },
    { name: 'remote-access-error', value: 2, doc: 'Key, bounds or rights do not allow the access.' },
    { name: 'remote-operational-error', value: 3, doc: 'The responder failed.' },
    { name: 'invalid-rd-request', value: 4, doc: 'Q_Key or RDD violation of a reliable datagram.' },
  ],
};

const BTH_OPCODE: ValueTable = {
  name: 'bth-opcode',
  doc: 'Transport and operation of a packet.',
  source: 'IBA 9.2.1',
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
  doc: 'What the records of a capture file are.',
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
