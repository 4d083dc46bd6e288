// SPDX-License-Identifier: Apache-2.0
/**
 * Common parts of the sender and the receiver of the reliable multi-packet protocol (IBTA 13.6):
 * the peer of a transfer, and the packets ACK and ABORT.
 */

import {
  getMadHeaderMethod,
  MAD_HEADER_MANAGEMENT_CLASS_OFFSET,
  MAD_HEADER_TRANSACTION_ID_OFFSET,
  setMadHeaderMethod,
} from '../../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  setRmppHeaderIsActive,
  setRmppHeaderIsFirst,
  setRmppHeaderIsLast,
  setRmppHeaderPayloadLength,
  setRmppHeaderResponseTime,
  setRmppHeaderSegmentNumber,
  setRmppHeaderStatus,
  setRmppHeaderType,
  setRmppHeaderVersion,
} from '../../../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import { RmppType } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { RESPONSE_BIT, RMPP_OFFSET, SA_DATA_OFFSET } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import type { MadAddress } from '../../agents/mad-packet.ts';
import { readGuid } from '../guid.ts';

/** Bytes of records in a packet, and of the header of subnet administration before them. */
export const SEGMENT_BYTES = 200;
export const SEGMENT_HEADER_BYTES = 20;
const NO_RESPONSE_TIME = 31;
/** Packets that a receiver allows on the way. */
export const WINDOW = 64;

export type SendMad = (address: Readonly<MadAddress>, mad: Uint8Array) => boolean;

/** Tells transfers apart: the other side, the management class and the transaction. */
export function transferKey({ slid, sourceQpn }: Readonly<MadAddress>, mad: Uint8Array): string {
  return `${slid} ${sourceQpn} ${mad[MAD_HEADER_MANAGEMENT_CLASS_OFFSET]} ${readGuid(viewOf(mad), MAD_HEADER_TRANSACTION_ID_OFFSET)}`;
}

/** An ACK or ABORT for a packet that was received: its headers, the method turned round. */
export function controlPacket(
  received: Uint8Array,
  type: RmppType,
  status: number,
  segment: number,
  newWindow: number,
): Uint8Array {
  const mad = new Uint8Array(received.length);
  mad.set(received.subarray(0, SA_DATA_OFFSET));
  const view = viewOf(mad);
  setMadHeaderMethod(view, 0, getMadHeaderMethod(view, 0) ^ RESPONSE_BIT);
  writeRmppHeader(view, type, status, segment, newWindow, false, false);
  return mad;
}

export function writeRmppHeader(
  view: DataView,
  type: RmppType,
  status: number,
  segment: number,
  lengthOrWindow: number,
  isFirst: boolean,
  isLast: boolean,
): void {
  setRmppHeaderVersion(view, RMPP_OFFSET, 1);
  setRmppHeaderType(view, RMPP_OFFSET, type);
  setRmppHeaderResponseTime(view, RMPP_OFFSET, type === RmppType.DATA ? NO_RESPONSE_TIME : 0);
  setRmppHeaderIsActive(view, RMPP_OFFSET, 1);
  setRmppHeaderIsFirst(view, RMPP_OFFSET, isFirst ? 1 : 0);
  setRmppHeaderIsLast(view, RMPP_OFFSET, isLast ? 1 : 0);
  setRmppHeaderStatus(view, RMPP_OFFSET, status);
  setRmppHeaderSegmentNumber(view, RMPP_OFFSET, segment);
  setRmppHeaderPayloadLength(view, RMPP_OFFSET, lengthOrWindow);
}
