// SPDX-License-Identifier: Apache-2.0
/**
 * Headers of capture files as tables: those of pcap, and those of the ERF record that carries an
 * InfiniBand packet with its time and interface. `pcap.ts` and `erf.ts` use the accessors.
 */
import type { StructTable } from '../layout/table.ts';

const PCAP_FILE: StructTable = {
  name: 'pcap-file-header',
  doc: 'First bytes of a capture file.',
  source: 'draft-ietf-opsawg-pcap',
  endian: 'little',
  sizeBytes: 24,
  fields: [
    { name: 'magic', bits: 32, doc: 'Gives the byte order and the unit of time.', values: 'pcap-magic' },
    { name: 'versionMajor', bits: 16, doc: 'Format version, 2.' },
    { name: 'versionMinor', bits: 16, doc: 'Format version, 4.' },
    { bits: 64, at: 8 },
    { name: 'snapLength', bits: 32, at: 16, doc: 'Longest record in bytes.' },
    { name: 'linkType', bits: 32, at: 20, doc: 'Type of the records.', values: 'pcap-link-type' },
  ],
};

const PCAP_RECORD: StructTable = {
  name: 'pcap-record-header',
  doc: 'Header of each record of a capture file.',
  source: 'draft-ietf-opsawg-pcap',
  endian: 'little',
  sizeBytes: 16,
  fields: [
    { name: 'seconds', bits: 32, doc: 'Time in seconds.' },
    { name: 'fraction', bits: 32, doc: 'Microseconds or nanoseconds, depending on the magic.' },
    { name: 'capturedLength', bits: 32, doc: 'Bytes of the record in the file.' },
    { name: 'originalLength', bits: 32, doc: 'Bytes of the original packet.' },
  ],
};

const ERF_TIMESTAMP: StructTable = {
  name: 'erf-timestamp',
  doc: 'First half of an ERF record: the time, little-endian.',
  source: 'ERF types reference, Endace',
  endian: 'little',
  sizeBytes: 8,
  fields: [
    { name: 'fraction', bits: 32, doc: 'Fraction of a second in units of 2^-32 s.' },
    { name: 'seconds', bits: 32, doc: 'Seconds since 1970.' },
  ],
};

const ERF_HEADER: StructTable = {
  name: 'erf-header',
  doc: 'Second half of an ERF record: type, flags and lengths, big-endian.',
  source: 'ERF types reference, Endace',
  endian: 'big',
  sizeBytes: 8,
  fields: [
    { name: 'type', bits: 8, doc: 'Record type, 21 for InfiniBand.' },
    { bits: 3 },
    { name: 'receiveError', bits: 1, doc: 'The packet was received with an error.' },
    { name: 'truncated', bits: 1, doc: 'The packet was cut.' },
    { name: 'varyingLength', bits: 1, doc: 'Records vary in length.' },
    { name: 'interfaceNumber', bits: 2, doc: 'Tap that captured the packet, 0 to 3.' },
    { name: 'recordLength', bits: 16, at: 2, doc: 'Bytes of the record with its header of 16 bytes.' },
    { name: 'lossCounter', bits: 16, doc: 'Packets lost before this one.' },
    { name: 'wireLength', bits: 16, at: 6, doc: 'Bytes of the packet on the wire.' },
  ],
};

/** All tables of this file. */
export const captureHeaders: readonly StructTable[] = [PCAP_FILE, PCAP_RECORD, ERF_TIMESTAMP, ERF_HEADER];
