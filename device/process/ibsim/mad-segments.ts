// SPDX-License-Identifier: Apache-2.0
/**
 * The part of the reliable multi-packet protocol (RMPP, IBTA 13.6) that the host door needs. The
 * clients of ibsim's protocol have room for one datagram only: their own responses are transfers of
 * one segment, and of others they get the first segment. `mad-exchange.ts` calls it.
 */
import {
  getMadHeaderManagementClass,
  getMadHeaderMethod,
  setMadHeaderMethod,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  encodeRmppHeader,
  getRmppHeaderIsActive,
  getRmppHeaderIsLast,
  getRmppHeaderPayloadLength,
  getRmppHeaderSegmentNumber,
  getRmppHeaderType,
  newRmppHeader,
  type RmppHeader,
} from '../../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import { MadClass, RmppType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import {
  MAD_BYTES,
  RESPONSE_BIT,
  RMPP_OFFSET,
  SA_HEADER_OFFSET,
} from '../../../protocol/infiniband/mad/mad-headers.ts';

/** Role of a datagram in the protocol: not part of a transfer, a segment, or anything else. */
export const SegmentKind = { NONE: 0, DATA: 1, CONTROL: 2 } as const;
export type SegmentKind = (typeof SegmentKind)[keyof typeof SegmentKind];

/** Classes of vendors whose datagrams have the header (IBTA 16.5). */
const VENDOR_FIRST = 0x30;
const VENDOR_LAST = 0x4f;
const VERSION = 1;
/** No time is given (IBTA 13.6.2.1). */
const NO_RESPONSE_TIME = 31;
/** Bytes that ibsim's library keeps of a datagram. */
const CLIENT_BYTES = 224;
/** Segments that a sender may send ahead. */
const WINDOW = 64;

export function readSegment(view: DataView): SegmentKind {
  if (!hasHeader(view) || getRmppHeaderIsActive(view, RMPP_OFFSET) === 0) return SegmentKind.NONE;
  const type = getRmppHeaderType(view, RMPP_OFFSET);
  if (type === RmppType.NONE) return SegmentKind.NONE;
  return type === RmppType.DATA ? SegmentKind.DATA : SegmentKind.CONTROL;
}

export function readSegmentNumber(view: DataView): { readonly number: number; readonly isLast: boolean } {
  return {
    number: getRmppHeaderSegmentNumber(view, RMPP_OFFSET),
    isLast: getRmppHeaderIsLast(view, RMPP_OFFSET) === 1,
  };
}

/**
 * Bytes of a datagram that a client of ibsim's library may read. The library keeps 224 bytes and
 * gives its programs what lies behind them in memory; so records that a transfer has beyond are
 * left out.
 */
export function readableBytes(view: DataView): number {
  if (readSegment(view) !== SegmentKind.DATA) return MAD_BYTES;
  const { isLast } = readSegmentNumber(view);
  const used = isLast ? SA_HEADER_OFFSET + getRmppHeaderPayloadLength(view, RMPP_OFFSET) : MAD_BYTES;
  return Math.min(used, CLIENT_BYTES);
}

/**
 * Makes a response of a client that uses the protocol a transfer of one segment, as the kernel does
 * with a response that fits. `lengthBytes` of the datagram are in use.
 */
export function makeOnlySegment(view: DataView, lengthBytes: number): void {
  if (!hasHeader(view) || getRmppHeaderIsActive(view, RMPP_OFFSET) === 0) return;
  const payloadLength = Math.max(0, Math.min(lengthBytes, MAD_BYTES) - SA_HEADER_OFFSET);
  const type = RmppType.DATA;
  encodeHeader(view, { type, isFirst: 1, isLast: 1, segmentNumber: 1, payloadLength });
}

/** The acknowledgement of a segment: all segments up to `number` have come. */
export function makeAcknowledge(segment: Uint8Array, number: number): Uint8Array {
  const mad = new Uint8Array(MAD_BYTES);
  mad.set(segment.subarray(0, RMPP_OFFSET));
  const view = new DataView(mad.buffer);
  setMadHeaderMethod(view, 0, getMadHeaderMethod(view, 0) ^ RESPONSE_BIT);
  encodeHeader(view, { type: RmppType.ACK, segmentNumber: number, payloadLength: number + WINDOW });
  return mad;
}

function encodeHeader(view: DataView, fields: Partial<RmppHeader>): void {
  const fixed = { version: VERSION, responseTime: NO_RESPONSE_TIME, isActive: 1 };
  encodeRmppHeader(view, RMPP_OFFSET, { ...newRmppHeader(), ...fixed, ...fields });
}

function hasHeader(view: DataView): boolean {
  const managementClass = getMadHeaderManagementClass(view, 0);
  if (managementClass === MadClass.SUBNET_ADMINISTRATION) return true;
  return managementClass >= VENDOR_FIRST && managementClass <= VENDOR_LAST;
}
