// SPDX-License-Identifier: Apache-2.0
/**
 * The data segments of a receive, as elements of a scatter/gather list (IBTA 10.2.6). The list ends
 * with a segment of the key 0x100, or with the entry. Receive queues and SRQs call it.
 */
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  DATA_SEGMENT_SIZE,
  getDataSegmentAddressHigh,
  getDataSegmentAddressLow,
  getDataSegmentByteCount,
  getDataSegmentIsInline,
  getDataSegmentKey,
} from '../../../../protocol/mthca/gen/data-segment.gen.ts';
import { getNextSegmentNextRequest, NEXT_SEGMENT_SIZE } from '../../../../protocol/mthca/gen/next-segment.gen.ts';
import type { ReceiveList } from '../../../hca/queues/receive-source.ts';
import { LIST_END_KEY, ReceiveElements } from '../../shared/receive-elements.ts';
import type { LinkedFormat } from '../../shared/shared-receive-ring.ts';

/** Unit of the offset of the next entry. */
const NEXT_UNIT_BYTES = 64;

const elements = new ReceiveElements();

/** Appends the data segment at `at`. Returns false when it is inline, or the list is full. */
function addSegment(view: DataView, at: number, byteCount: number): boolean {
  if (getDataSegmentIsInline(view, at) === 1) return false;
  return elements.add(
    getDataSegmentAddressHigh(view, at) | 0,
    getDataSegmentAddressLow(view, at) | 0,
    byteCount,
    getDataSegmentKey(view, at) | 0,
  );
}

/** Appends the elements of a receive of `sizeBytes`. Returns NONE or RECEIVE_ENTRY. */
function loadReceive(view: DataView, sizeBytes: number, list: ReceiveList): FaultKind {
  elements.begin();
  for (let at = NEXT_SEGMENT_SIZE; at < sizeBytes; at += DATA_SEGMENT_SIZE) {
    if (getDataSegmentKey(view, at) === LIST_END_KEY) break;
    const byteCount = getDataSegmentByteCount(view, at);
    if (byteCount === 0) continue;
    if (!addSegment(view, at, byteCount)) return FaultKind.RECEIVE_ENTRY;
  }
  elements.addTo(list);
  return FaultKind.NONE;
}

function nextOf(view: DataView, strideBytes: number): number {
  return Math.floor((getNextSegmentNextRequest(view, 0) * NEXT_UNIT_BYTES) / strideBytes);
}

/** Receives in the mthca layout, for receive queues and SRQs. */
export const receiveFormat: LinkedFormat = {
  load: loadReceive,
  note: (owner, qpn, number) => elements.note(owner, qpn, number),
  nextOf,
};
