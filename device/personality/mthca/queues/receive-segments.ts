// SPDX-License-Identifier: Apache-2.0
/**
 * The data segments of a receive, as elements of a scatter/gather list (IBTA 10.2.6). The list ends
 * with a segment of the key 0x100, or with the entry. Receive queues and SRQs call it.
 */
import { SGE_MAX } from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  SGE_SIZE,
  setSgeAddressHigh,
  setSgeAddressLow,
  setSgeLength,
  setSgeLkey,
} from '../../../../protocol/layout/gen/sge.gen.ts';
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
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { noteEntry } from '../../../hca/queues/receive-ring.ts';
import type { ReceiveList } from '../../../hca/queues/receive-source.ts';
import type { LinkedFormat } from '../../shared/shared-receive-ring.ts';

/** Unit of the offset of the next entry. */
const NEXT_UNIT_BYTES = 64;
/** A key that ends the list. */
export const LIST_END_KEY = 0x100;

const elements = new DataView(new ArrayBuffer(SGE_MAX * SGE_SIZE));
/** Elements of the list that was loaded last. */
let loaded = 0;

/** Writes one data segment as element `index` of a list at `base`. */
function copySegment(view: DataView, at: number, target: DataView, base: number): void {
  setSgeAddressHigh(target, base, getDataSegmentAddressHigh(view, at));
  setSgeAddressLow(target, base, getDataSegmentAddressLow(view, at));
  setSgeLength(target, base, getDataSegmentByteCount(view, at));
  setSgeLkey(target, base, getDataSegmentKey(view, at));
}

/** Appends the elements of a receive of `sizeBytes`. Returns NONE or RECEIVE_ENTRY. */
function loadReceive(view: DataView, sizeBytes: number, list: ReceiveList): FaultKind {
  let count = 0;
  for (let at = NEXT_SEGMENT_SIZE; at < sizeBytes; at += DATA_SEGMENT_SIZE) {
    if (getDataSegmentKey(view, at) === LIST_END_KEY) break;
    if (getDataSegmentByteCount(view, at) === 0) continue;
    if (getDataSegmentIsInline(view, at) === 1 || count === SGE_MAX) return FaultKind.RECEIVE_ENTRY;
    copySegment(view, at, elements, count * SGE_SIZE);
    count++;
  }
  list.addFrom(elements, 0, count);
  loaded = count;
  return FaultKind.NONE;
}

/** The receive that was loaded last goes to the timeline. */
function noteReceive(owner: UnderlyingFunction, qpn: number, number: number): void {
  noteEntry(owner, qpn, number, elements, 0, loaded);
}

function nextOf(view: DataView, strideBytes: number): number {
  return Math.floor((getNextSegmentNextRequest(view, 0) * NEXT_UNIT_BYTES) / strideBytes);
}

/** Receives in the mthca layout, for receive queues and SRQs. */
export const receiveFormat: LinkedFormat = { load: loadReceive, note: noteReceive, nextOf };
