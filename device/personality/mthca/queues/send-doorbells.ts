// SPDX-License-Identifier: Apache-2.0
/** A send doorbell, as the queue that it names takes it. `DataPath` calls it. */
import type { SendDoorbell } from '../../../../protocol/mthca/gen/send-doorbell.gen.ts';
import { Step } from '../../../hca/function/timeline.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { COUNTER_MASK } from '../../shared/receive-queue.ts';
import type { SendQueues } from '../../shared/send-queues.ts';
import type { SendQueue } from './send-queue.ts';

/** Takes a doorbell for a queue. Returns false when it names no new requests. */
export function ringSends(sends: SendQueues<SendQueue>, queue: SendQueue, doorbell: Readonly<SendDoorbell>): boolean {
  if (!queue.ring(doorbell)) return false;
  if (queue.qp.owner.timeline !== undefined) noteDoorbell(queue.qp, doorbell);
  announceRequests(queue, doorbell);
  sends.makeReady(queue);
  return true;
}

/** Keeps the requests that a doorbell names, while the option `orderCheck` is on. */
function announceRequests({ qp, place }: SendQueue, { head, count }: Readonly<SendDoorbell>): void {
  const { announced } = qp.owner;
  if (announced === undefined) return;
  for (let index = 0; index < count; index++) {
    const number = (head + index) & COUNTER_MASK;
    const lengthBytes = place.buffer.locate(qp, place.offsetOf(number), place.strideBytes);
    if (lengthBytes > 0 && announced.look(lengthBytes) !== undefined)
      announced.note('work request', qp, number, lengthBytes);
  }
}

/** The doorbell is a step of each request that it names. */
function noteDoorbell({ owner, number }: QueuePair, { head, count }: Readonly<SendDoorbell>): void {
  for (let index = 0; index < count; index++)
    owner.timeline?.note(Step.DOORBELL, owner.number, number, (head + index) & COUNTER_MASK);
}
