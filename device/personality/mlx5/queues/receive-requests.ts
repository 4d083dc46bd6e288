// SPDX-License-Identifier: Apache-2.0
/**
 * Receives in the mlx5 layout: pieces of data (IBTA 10.2.6), in entries of SRQs behind a piece that
 * names the next entry. The list ends with the key 0x100, or with the entry.
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
  DATA_SEG_SIZE,
  getDataSegAddressHigh,
  getDataSegAddressLow,
  getDataSegByteCount,
  getDataSegInline,
  getDataSegLkey,
} from '../../../../protocol/mlx5/gen/data-seg.gen.ts';
import { getSrqNextSegNextWqeIndex, SRQ_NEXT_SEG_SIZE } from '../../../../protocol/mlx5/gen/srq-next-seg.gen.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { noteEntry } from '../../../hca/queues/receive-ring.ts';
import type { ReceiveList } from '../../../hca/queues/receive-source.ts';
import type { ReceiveFormat } from '../../shared/receive-queue.ts';
import type { LinkedFormat } from '../../shared/shared-receive-ring.ts';

/** A key that ends the list. */
const LIST_END_KEY = 0x100;
/** Bytes of a piece of data whose length is 0. */
const WHOLE_BYTES = 2 ** 31;

const elements = new DataView(new ArrayBuffer(SGE_MAX * SGE_SIZE));
/** Elements of the list that was loaded last. */
let loaded = 0;

/** Appends the elements from `from` on. Returns NONE or RECEIVE_ENTRY. */
function loadPieces(view: DataView, from: number, sizeBytes: number, list: ReceiveList): FaultKind {
  let count = 0;
  for (let at = from; at + DATA_SEG_SIZE <= sizeBytes; at += DATA_SEG_SIZE) {
    if (getDataSegLkey(view, at) === LIST_END_KEY) break;
    if (getDataSegInline(view, at) === 1 || count === SGE_MAX) return FaultKind.RECEIVE_ENTRY;
    const base = count * SGE_SIZE;
    setSgeAddressHigh(elements, base, getDataSegAddressHigh(view, at));
    setSgeAddressLow(elements, base, getDataSegAddressLow(view, at));
    setSgeLength(elements, base, getDataSegByteCount(view, at) || WHOLE_BYTES);
    setSgeLkey(elements, base, getDataSegLkey(view, at));
    count++;
  }
  list.addFrom(elements, 0, count);
  loaded = count;
  return FaultKind.NONE;
}

/** The receive that was loaded last goes to the timeline. */
function note(owner: UnderlyingFunction, qpn: number, number: number): void {
  noteEntry(owner, qpn, number, elements, 0, loaded);
}

/** Receives of a QP's own queue. */
export const receiveFormat: ReceiveFormat = {
  load: (view, sizeBytes, list) => loadPieces(view, 0, sizeBytes, list),
  note,
};

/** Entries of SRQs. */
export const linkedFormat: LinkedFormat = {
  load: (view, sizeBytes, list) => loadPieces(view, SRQ_NEXT_SEG_SIZE, sizeBytes, list),
  note,
  nextOf: (view) => getSrqNextSegNextWqeIndex(view, 0),
};
