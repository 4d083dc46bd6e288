// SPDX-License-Identifier: Apache-2.0
/**
 * Receives in the mlx5 layout: pieces of data (IBTA 10.2.6), in entries of SRQs behind a piece that
 * names the next entry. The list ends with the key 0x100, or with the entry.
 */
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
import type { ReceiveList } from '../../../hca/queues/receive-source.ts';
import { LIST_END_KEY, ReceiveElements } from '../../shared/receive-elements.ts';
import type { ReceiveFormat } from '../../shared/receive-queue.ts';
import type { LinkedFormat } from '../../shared/shared-receive-ring.ts';
import { WHOLE_PIECE_BYTES } from '../memory/queue-memory.ts';

const elements = new ReceiveElements();

/** Appends the piece at `at`. Returns false when it is inline, or the list is full. */
function addPiece(view: DataView, at: number): boolean {
  if (getDataSegInline(view, at) === 1) return false;
  return elements.add(
    getDataSegAddressHigh(view, at) | 0,
    getDataSegAddressLow(view, at) | 0,
    getDataSegByteCount(view, at) || WHOLE_PIECE_BYTES,
    getDataSegLkey(view, at) | 0,
  );
}

/** Appends the elements from `from` on. Returns NONE or RECEIVE_ENTRY. */
function loadPieces(view: DataView, from: number, sizeBytes: number, list: ReceiveList): FaultKind {
  elements.begin();
  for (let at = from; at + DATA_SEG_SIZE <= sizeBytes; at += DATA_SEG_SIZE) {
    if (getDataSegLkey(view, at) === LIST_END_KEY) break;
    if (!addPiece(view, at)) return FaultKind.RECEIVE_ENTRY;
  }
  elements.addTo(list);
  return FaultKind.NONE;
}

const note: ReceiveFormat['note'] = (owner, qpn, number) => elements.note(owner, qpn, number);

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
