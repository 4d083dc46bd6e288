// SPDX-License-Identifier: Apache-2.0
/**
 * A send doorbell as timelines and the option `orderCheck` see it (docs/HAZARDS.md, "What a
 * doorbell announces"): it names a QP alone, so the blocks between the counter before and the
 * counter in the record are those that it announces. `QueuePairs` calls it, and `SendQueue` when it
 * has read a request.
 */
import { SEND_BLOCK_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import type { AnnouncedMemory } from '../../../hca/function/announced-memory.ts';
import { Step } from '../../../hca/function/timeline.ts';
import { DoorbellSource } from '../../../hca/function/timeline-values.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { COUNTER_MASK } from '../../shared/receive-queue.ts';
import type { RequestBlock } from '../../shared/request-block.ts';
import type { QueueMemory } from '../memory/queue-memory.ts';

const KIND = 'work request';

/** A send queue, as far as doorbells name its blocks. */
interface BlockQueue {
  readonly qp: QueuePair;
  /** Blocks that software has posted, modulo 2^16. */
  readonly posted: number;
  readonly place: { readonly memory: Pick<QueueMemory, 'locate'>; offsetOf(block: number): number };
}

/** A doorbell has moved the counter of a queue from `before` to `posted`. */
export function observeDoorbell(queue: BlockQueue, before: number): void {
  const { owner, number, nextSequence } = queue.qp;
  const { timeline, announced } = owner;
  // Tracing reads no guest memory, so the lengths of the requests in these blocks are unknown.
  timeline?.note(Step.DOORBELL, owner.number, number, nextSequence, DoorbellSource.SOFTWARE, before, queue.posted);
  if (announced !== undefined) announceBlocks(queue, before, announced);
}

/**
 * Compares a request of `lengthBytes` from block `first` on with what its doorbell announced. Bytes
 * behind the request in its last block are nobody's.
 */
export function compareAnnounced(
  qp: QueuePair,
  announced: AnnouncedMemory,
  first: number,
  lengthBytes: number,
  request: RequestBlock,
): void {
  for (let at = 0; at < lengthBytes; at += SEND_BLOCK_BYTES) {
    const block = (first + at / SEND_BLOCK_BYTES) & COUNTER_MASK;
    announced.take(KIND, qp, block, request.bytes.subarray(at), Math.min(lengthBytes - at, SEND_BLOCK_BYTES));
  }
}

/** Keeps the blocks that the doorbell names. */
function announceBlocks({ qp, place, posted }: BlockQueue, before: number, announced: AnnouncedMemory): void {
  for (let block = before; block !== posted; block = (block + 1) & COUNTER_MASK) {
    const lengthBytes = place.memory.locate(qp.owner.dma, place.offsetOf(block), SEND_BLOCK_BYTES);
    if (announced.look(lengthBytes) !== undefined) announced.note(KIND, qp, block, lengthBytes);
  }
}
