// SPDX-License-Identifier: Apache-2.0
/**
 * A request to subnet administration, taken apart, and the datagrams of its response (IBTA 15.2.1
 * and 15.4). `Administration` builds both for every request.
 */

import {
  getMadHeaderAttributeId,
  getMadHeaderMethod,
  setMadHeaderMethod,
  setMadHeaderStatus,
} from '../../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { RMPP_HEADER_SIZE } from '../../../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import {
  getSaHeaderComponentMaskHigh,
  getSaHeaderComponentMaskLow,
  setSaHeaderAttributeOffset,
} from '../../../../protocol/infiniband/mad/gen/sa-header.gen.ts';
import { MadMethod } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import {
  MAD_BYTES,
  RESPONSE_BIT,
  RMPP_OFFSET,
  SA_DATA_OFFSET,
  SA_HEADER_OFFSET,
} from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import type { MadAddress } from '../../agents/mad-packet.ts';
import { type Guid, readGuid } from '../guid.ts';
import type { ComponentMask } from './components.ts';

export interface RecordRequest {
  readonly from: Readonly<MadAddress>;
  /** The first datagram of the request; its headers become those of the response. */
  readonly mad: Uint8Array;
  readonly method: number;
  readonly attribute: number;
  readonly mask: ComponentMask;
  /** The attribute. */
  readonly data: Uint8Array;
  /** The requester knows the key of the subnet manager. */
  readonly isTrusted: boolean;
}

/** A response: its status and records. */
export interface RecordReply {
  readonly status: number;
  readonly records: readonly Uint8Array[];
}

/** Records of a table begin at multiples of 8 bytes. */
const UNIT_BYTES = 8;

export function readRecordRequest(
  from: Readonly<MadAddress>,
  mad: Uint8Array,
  data: Uint8Array,
  smKey: Guid,
): RecordRequest {
  const view = viewOf(mad);
  const high = getSaHeaderComponentMaskHigh(view, SA_HEADER_OFFSET);
  const low = getSaHeaderComponentMaskLow(view, SA_HEADER_OFFSET);
  return {
    from: { ...from },
    mad: mad.slice(),
    method: getMadHeaderMethod(view, 0),
    attribute: getMadHeaderAttributeId(view, 0),
    mask: { high, low },
    data,
    isTrusted: readGuid(view, SA_HEADER_OFFSET) === smKey,
  };
}

/** Headers of the response, and room for one record. */
export function responseHead({ mad, method }: RecordRequest, status: number, recordBytes: number): Uint8Array {
  const head = new Uint8Array(MAD_BYTES);
  head.set(mad.subarray(0, SA_DATA_OFFSET));
  head.fill(0, RMPP_OFFSET, RMPP_OFFSET + RMPP_HEADER_SIZE);
  const view = viewOf(head);
  setMadHeaderMethod(view, 0, method === MadMethod.SET ? MadMethod.GET_RESPONSE : method | RESPONSE_BIT);
  setMadHeaderStatus(view, 0, status);
  setSaHeaderAttributeOffset(view, SA_HEADER_OFFSET, Math.ceil(recordBytes / UNIT_BYTES));
  return head;
}

/** Records one after the other, each from a multiple of 8 bytes. */
export function tableOf(records: readonly Uint8Array[]): Uint8Array {
  const size = UNIT_BYTES * Math.ceil((records[0]?.length ?? 0) / UNIT_BYTES);
  const table = new Uint8Array(size * records.length);
  for (const [index, record] of records.entries()) table.set(record, index * size);
  return table;
}
