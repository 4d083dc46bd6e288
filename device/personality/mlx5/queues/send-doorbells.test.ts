// SPDX-License-Identifier: Apache-2.0
/** What a send doorbell tells a timeline, and what it announces to a check of orders. */
import t from 'tap';
import type { AnnouncedMemory } from '../../../hca/function/announced-memory.ts';
import { Step, type Timeline } from '../../../hca/function/timeline.ts';
import { DoorbellSource } from '../../../hca/function/timeline-values.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { RequestBlock } from '../../shared/request-block.ts';
import { compareAnnounced, observeDoorbell } from './send-doorbells.ts';

const QPN = 9;
const FUNCTION = 3;
const BLOCK_BYTES = 64;

/** A send queue of 4 blocks, the last of which crosses pages after 16 bytes. */
function makeQueue(posted: number, isChecked: boolean) {
  const steps: unknown[] = [];
  const looked: number[] = [];
  const noted: unknown[] = [];
  const taken: unknown[] = [];
  const timeline: Timeline = { note: (...step) => void steps.push(step) };
  const announced = {
    // A block that cannot be read is not announced.
    look: (lengthBytes: number) => (looked.push(lengthBytes) === 2 ? undefined : new Uint8Array(lengthBytes)),
    note: (_kind: string, { number }: QueuePair, block: number, lengthBytes: number) =>
      noted.push([number, block, lengthBytes]),
    take: (_kind: string, { number }: QueuePair, block: number, bytes: Uint8Array, lengthBytes: number) =>
      taken.push([number, block, bytes[0], lengthBytes]),
  } as unknown as AnnouncedMemory;
  const owner = { number: FUNCTION, dma: {}, timeline, announced: isChecked ? announced : undefined };
  const qp = { number: QPN, nextSequence: 5, owner } as unknown as QueuePair;
  const locate = (_dma: unknown, offset: number, length: number) => (offset === 3 * BLOCK_BYTES ? 16 : length);
  const place = { memory: { locate }, offsetOf: (block: number) => (block % 4) * BLOCK_BYTES };
  return { queue: { qp, posted, place }, announced, steps, looked, noted, taken };
}

t.test('a doorbell tells from where to where it moves the counter', async (t) => {
  const { queue, steps, looked } = makeQueue(0x0002, false);
  observeDoorbell(queue, 0xffff);
  t.same(steps, [[Step.DOORBELL, FUNCTION, QPN, 5, DoorbellSource.SOFTWARE, 0xffff, 2]]);
  t.same(looked, [], 'without a check no memory is read');
});

t.test('it announces the blocks that it names, as far as they lie in one page', async (t) => {
  const { queue, looked, noted } = makeQueue(2, true);
  observeDoorbell(queue, 0xfffe);
  t.same(looked, [64, 16, 64, 64]);
  t.same(noted, [
    [QPN, 0xfffe, 64],
    [QPN, 0, 64],
    [QPN, 1, 64],
  ]);
});

t.test('a request is compared block by block, up to its end', async (t) => {
  const { queue, announced, taken } = makeQueue(0, true);
  const request = new RequestBlock();
  for (let block = 0; block < 3; block++) request.bytes[block * BLOCK_BYTES] = 10 + block;
  compareAnnounced(queue.qp, announced, 0xffff, 2 * BLOCK_BYTES + 16, request);
  t.same(taken, [
    [QPN, 0xffff, 10, 64],
    [QPN, 0, 11, 64],
    [QPN, 1, 12, 16],
  ]);
  taken.length = 0;
  compareAnnounced(queue.qp, announced, 4, BLOCK_BYTES, request);
  t.same(taken, [[QPN, 4, 10, 64]], 'the block behind it is of the next request');
});
