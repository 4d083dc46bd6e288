// SPDX-License-Identifier: Apache-2.0
/**
 * InfiniBand captures in the form that Wireshark reads: ERF records of type 21 in a pcap file of
 * link type 197. Each record holds one packet from LRH to VCRC, its time in units of 2^-32 s, and
 * the tap: port and direction. The capture of a running adapter and tests call these functions.
 */
import {
  ERF_HEADER_SIZE,
  encodeErfHeader,
  getErfHeaderInterfaceNumber,
  getErfHeaderType,
  getErfHeaderWireLength,
  newErfHeader,
} from './gen/erf-header.gen.ts';
import {
  ERF_TIMESTAMP_SIZE,
  encodeErfTimestamp,
  getErfTimestampFraction,
  getErfTimestampSeconds,
  newErfTimestamp,
} from './gen/erf-timestamp.gen.ts';
import { PCAP_RECORD_HEADER_SIZE, PcapLinkType, writePcapFileHeader, writePcapRecordHeader } from './pcap.ts';

/** ERF record type of InfiniBand packets. */
const ERF_TYPE_INFINIBAND = 21;

/** Bytes before the packet in an ERF record. */
const ERF_RECORD_HEADER_SIZE = ERF_TIMESTAMP_SIZE + ERF_HEADER_SIZE;

/** Direction in which a packet crossed the port. */
export const CaptureDirection = { SENT: 0, RECEIVED: 1 } as const;

const NS_PER_SECOND = 1e9;
const FRACTIONS_PER_SECOND = 2 ** 32;

const timestamp = newErfTimestamp();
const header = newErfHeader();

/** Writes the header of an ERF capture file; returns the bytes written. */
export function writeErfFileHeader(view: DataView, offset: number): number {
  return writePcapFileHeader(view, offset, PcapLinkType.ERF);
}

/** Bytes that `writeErfRecord` writes for a packet of this length. */
export function erfRecordBytes(packetLengthBytes: number): number {
  return PCAP_RECORD_HEADER_SIZE + ERF_RECORD_HEADER_SIZE + packetLengthBytes;
}

/** Interface number, 0 to 3, of port 1 or 2 and a `CaptureDirection`. */
export function erfInterface(port: number, direction: number): number {
  return ((port - 1) & 1) * 2 + direction;
}

/**
 * Writes one record at `offset`: pcap record header, ERF header, and the `lengthBytes` packet bytes
 * at `packetOffset` of `packet`. `damaged` (0 or 1) marks a packet that was received with an error.
 * `wireLengthBytes` is the original length of a truncated packet. Returns the bytes written.
 */
export function writeErfRecord(
  view: DataView,
  offset: number,
  timeNs: number,
  interfaceNumber: number,
  damaged: number,
  packet: DataView,
  packetOffset: number,
  lengthBytes: number,
  wireLengthBytes = lengthBytes,
): number {
  const recordLength = ERF_RECORD_HEADER_SIZE + lengthBytes;
  let at = offset + writePcapRecordHeader(view, offset, timeNs, recordLength);
  const seconds = Math.floor(timeNs / NS_PER_SECOND);
  timestamp.seconds = seconds;
  timestamp.fraction = Math.floor(((timeNs - seconds * NS_PER_SECOND) / NS_PER_SECOND) * FRACTIONS_PER_SECOND);
  encodeErfTimestamp(view, at, timestamp);
  header.type = ERF_TYPE_INFINIBAND;
  header.receiveError = damaged;
  header.varyingLength = 1;
  header.interfaceNumber = interfaceNumber;
  header.recordLength = recordLength;
  header.wireLength = wireLengthBytes;
  encodeErfHeader(view, at + ERF_TIMESTAMP_SIZE, header);
  at += ERF_RECORD_HEADER_SIZE;
  for (let index = 0; index < lengthBytes; index++) view.setUint8(at + index, packet.getUint8(packetOffset + index));
  return at + lengthBytes - offset;
}

/** Position and time of a packet in an ERF record. */
interface ErfRecord {
  readonly timeNs: number;
  readonly interfaceNumber: number;
  readonly offset: number;
  readonly lengthBytes: number;
}

/** Reads the ERF record at `offset`; undefined if it is truncated or no InfiniBand packet. */
export function readErfRecord(view: DataView, offset: number, capturedBytes: number): ErfRecord | undefined {
  if (capturedBytes < ERF_RECORD_HEADER_SIZE) return undefined;
  const second = offset + ERF_TIMESTAMP_SIZE;
  const lengthBytes = getErfHeaderWireLength(view, second);
  if (getErfHeaderType(view, second) !== ERF_TYPE_INFINIBAND) return undefined;
  if (ERF_RECORD_HEADER_SIZE + lengthBytes > capturedBytes) return undefined;
  const fraction = getErfTimestampFraction(view, offset) / FRACTIONS_PER_SECOND;
  return {
    timeNs: (getErfTimestampSeconds(view, offset) + fraction) * NS_PER_SECOND,
    interfaceNumber: getErfHeaderInterfaceNumber(view, second),
    offset: offset + ERF_RECORD_HEADER_SIZE,
    lengthBytes,
  };
}
