// SPDX-License-Identifier: Apache-2.0
/**
 * Capture files in the classic pcap format: writes headers into a buffer, and reads whole files of
 * both byte orders and both units of time. `erf.ts` puts InfiniBand packets into such a file; tests
 * read reference captures.
 */
import { encodePcapFileHeader, newPcapFileHeader, PCAP_FILE_HEADER_SIZE } from './gen/pcap-file-header.gen.ts';
import {
  encodePcapRecordHeader,
  getPcapRecordHeaderCapturedLength,
  newPcapRecordHeader,
  PCAP_RECORD_HEADER_SIZE,
} from './gen/pcap-record-header.gen.ts';
import { PcapMagic } from './gen/values.gen.ts';

export { PCAP_FILE_HEADER_SIZE } from './gen/pcap-file-header.gen.ts';
export { PCAP_RECORD_HEADER_SIZE } from './gen/pcap-record-header.gen.ts';
export { PcapLinkType } from './gen/values.gen.ts';

/** Longest record that the file header announces. */
const SNAP_LENGTH = 65535;

const NS_PER_SECOND = 1e9;

const fileHeader = newPcapFileHeader();
const recordHeader = newPcapRecordHeader();

/** Writes the file header (24 bytes, nanosecond times); returns its size. */
export function writePcapFileHeader(view: DataView, offset: number, linkType: number): number {
  fileHeader.magic = PcapMagic.NANOSECONDS;
  fileHeader.versionMajor = 2;
  fileHeader.versionMinor = 4;
  fileHeader.snapLength = SNAP_LENGTH;
  fileHeader.linkType = linkType;
  encodePcapFileHeader(view, offset, fileHeader);
  return PCAP_FILE_HEADER_SIZE;
}

/** Writes the header (16 bytes) of a record of `lengthBytes`; returns its size. */
export function writePcapRecordHeader(view: DataView, offset: number, timeNs: number, lengthBytes: number): number {
  const seconds = Math.floor(timeNs / NS_PER_SECOND);
  recordHeader.seconds = seconds;
  recordHeader.fraction = timeNs - seconds * NS_PER_SECOND;
  recordHeader.capturedLength = lengthBytes;
  recordHeader.originalLength = lengthBytes;
  encodePcapRecordHeader(view, offset, recordHeader);
  return PCAP_RECORD_HEADER_SIZE;
}

/** Number and end of the whole records between `start` and `end` of a file that we write. */
export function findWholeRecords(view: DataView, start: number, end: number): { count: number; end: number } {
  let count = 0;
  for (let at = start; ; count++) {
    const next = at + PCAP_RECORD_HEADER_SIZE;
    if (next > end || next + getPcapRecordHeaderCapturedLength(view, at) > end) return { count, end: at };
    at = next + getPcapRecordHeaderCapturedLength(view, at);
  }
}

/** Position and time of a record in the bytes of a file. */
interface PcapRecord {
  readonly timeNs: number;
  readonly offset: number;
  readonly lengthBytes: number;
}

/** Link type and records of a capture file. */
export interface PcapFile {
  readonly linkType: number;
  readonly records: readonly PcapRecord[];
}

/** Reads a whole file; omits a truncated last record. Throws Error if it is not a pcap file. */
export function readPcap(view: DataView): PcapFile {
  if (view.byteLength < PCAP_FILE_HEADER_SIZE)
    throw new Error(`pcap: ${view.byteLength} bytes are too few for a header`);
  const little = isMagic(view.getUint32(0, true));
  if (!little && !isMagic(view.getUint32(0, false)))
    throw new Error(`pcap: unknown magic 0x${view.getUint32(0).toString(16)}`);
  const unitNs = view.getUint32(0, little) === PcapMagic.NANOSECONDS ? 1 : 1000;
  const records: PcapRecord[] = [];
  let at = PCAP_FILE_HEADER_SIZE;
  while (at + PCAP_RECORD_HEADER_SIZE <= view.byteLength) {
    const timeNs = view.getUint32(at, little) * NS_PER_SECOND + view.getUint32(at + 4, little) * unitNs;
    const lengthBytes = view.getUint32(at + 8, little);
    const offset = at + PCAP_RECORD_HEADER_SIZE;
    if (offset + lengthBytes > view.byteLength) break;
    records.push({ timeNs, offset, lengthBytes });
    at = offset + lengthBytes;
  }
  return { linkType: view.getUint32(20, little) & 0xffff, records };
}

function isMagic(word: number): boolean {
  return word === PcapMagic.MICROSECONDS || word === PcapMagic.NANOSECONDS;
}
