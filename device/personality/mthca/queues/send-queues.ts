// SPDX-License-Identifier: Apache-2.0
/**
 * Reads send queues that doorbells have named, and admits their requests to the lanes (US 8,484,392
 * par. 102-107 with the doorbells of this personality). Queues take turns. A queue that has to wait
 * for its lane, its QP or a collect buffer is looked at again when that is there.
 */

import { QpState } from '../../../../protocol/layout/gen/values.gen.ts';
import type { SendDoorbell } from '../../../../protocol/mthca/gen/send-doorbell.gen.ts';
import type { PcbAllocator } from '../../../hca/collect/pcb-allocator.ts';
import type { PhysicalCollectBuffer } from '../../../hca/collect/physical-collect-buffer.ts';
import { Step } from '../../../hca/function/timeline.ts';
import { ReadyQueue } from '../../../hca/lane/ready-queue.ts';
import type { TransmitVirtualLanes } from '../../../hca/lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import type { SendSource } from '../../../hca/queues/send-source.ts';
import { COUNTER_MASK } from './receive-queue.ts';
import type { SendQueue } from './send-queue.ts';
import type { SendRequests } from './send-requests.ts';

/** Requests read from one queue per turn. */
const QUANTUM = 16;

export class SendQueues implements SendSource {
  readonly #queues = new Map<QueuePair, SendQueue>();
  readonly #ready = new ReadyQueue<SendQueue>();
  readonly #buffers: PcbAllocator;
  readonly #lanes: TransmitVirtualLanes;
  readonly #requests: SendRequests;
  /** No buffer was free; a release ends it. */
  #starved = false;

  constructor(buffers: PcbAllocator, lanes: TransmitVirtualLanes, requests: SendRequests) {
    this.#buffers = buffers;
    this.#lanes = lanes;
    this.#requests = requests;
    buffers.onFree = () => {
      this.#starved = false;
    };
  }

  /** Collect buffers of all queues. */
  get buffers(): readonly PhysicalCollectBuffer[] {
    return this.#buffers.buffers;
  }

  /** Collect buffers that hold a command. */
  get busyBuffers(): number {
    return this.#buffers.buffers.length - this.#buffers.freeCount;
  }

  add(queue: SendQueue): void {
    this.#queues.set(queue.qp, queue);
  }

  /** Takes a doorbell for a queue. Returns false when it names no new requests. */
  ring(queue: SendQueue, doorbell: Readonly<SendDoorbell>): boolean {
    if (!queue.ring(doorbell)) return false;
    if (queue.qp.owner.timeline !== undefined) noteDoorbell(queue.qp, doorbell);
    announceRequests(queue, doorbell);
    this.#makeReady(queue);
    return true;
  }

  schedule(qp: QueuePair): void {
    const queue = this.#queues.get(qp);
    if (queue !== undefined && queue.waiting > 0) this.#makeReady(queue);
  }

  /** A queue that is ready and may not send loses its turn when that comes. */
  unschedule(): void {}

  restart(): void {}

  forget(qp: QueuePair): void {
    this.#queues.delete(qp);
  }

  /** Admits up to `limit` requests; returns how many. */
  serve(limit: number): number {
    let done = 0;
    for (let turns = this.#ready.length; turns > 0 && done < limit && !this.#starved; turns--) {
      const queue = this.#ready.shift() as SendQueue;
      queue.ready = false;
      done += this.#serveQueue(queue, Math.min(QUANTUM, limit - done));
    }
    return done;
  }

  #makeReady(queue: SendQueue): void {
    if (queue.ready) return;
    queue.ready = true;
    this.#ready.push(queue);
  }

  #serveQueue(queue: SendQueue, limit: number): number {
    const { qp } = queue;
    let done = 0;
    for (; done < limit; done++) {
      if (queue.waiting === 0 || !takesRequests(qp) || !this.#lanes.hasRoom(qp)) return done;
      const buffer = this.#buffers.bind(qp.owner.number, 0, -1);
      if (buffer === undefined) {
        this.#starved = true;
        break;
      }
      this.#requests.load(queue, qp.nextSequence, buffer);
      qp.owner.timeline?.note(Step.FETCH, qp.owner.number, qp.number, qp.nextSequence);
      this.#lanes.admit(qp, buffer);
    }
    if (queue.waiting > 0) this.#makeReady(queue);
    return done;
  }
}

/** True when the queue may be read now. A QP that takes no requests is scheduled when it does. */
function takesRequests(qp: QueuePair): boolean {
  return !qp.destroyed && qp.sendsAreTaken && (qp.state !== QpState.RTS || qp.acceptsCommands);
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
