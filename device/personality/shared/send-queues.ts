// SPDX-License-Identifier: Apache-2.0
/**
 * Reads send queues that doorbells have named, and admits their requests to the lanes (US 8,484,392
 * par. 102-107 with the doorbells of a personality). Queues take turns. A queue that has to wait
 * for its lane, its QP or a collect buffer is looked at again when that is there.
 */
import { QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { PcbAllocator } from '../../hca/collect/pcb-allocator.ts';
import type { PhysicalCollectBuffer } from '../../hca/collect/physical-collect-buffer.ts';
import { Step } from '../../hca/function/timeline.ts';
import { ReadyQueue } from '../../hca/lane/ready-queue.ts';
import type { TransmitVirtualLanes } from '../../hca/lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import type { SendSource } from '../../hca/queues/send-source.ts';

/** Requests read from one queue per turn. */
const QUANTUM = 16;

/** The send queue of a QP in guest memory. */
export interface PostedSends {
  readonly qp: QueuePair;
  /** Doorbells have named requests that are not admitted to a lane. */
  readonly isWaiting: boolean;
  /** The queue waits for its turn. */
  ready: boolean;
  /** Place of a request in the queue, as its doorbells count; for timelines. */
  counterOf(number: number): number;
}

/** Turns requests of a personality into send commands. */
export interface RequestLoader<Queue extends PostedSends> {
  /** Makes request `number` of the queue the command in `buffer`, with its fault if it has one. */
  load(queue: Queue, number: number, buffer: PhysicalCollectBuffer): void;
}

export class SendQueues<Queue extends PostedSends = PostedSends> implements SendSource {
  readonly #queues = new Map<QueuePair, Queue>();
  readonly #ready = new ReadyQueue<Queue>();
  readonly #buffers: PcbAllocator;
  readonly #lanes: TransmitVirtualLanes;
  readonly #requests: RequestLoader<Queue>;
  /** No buffer was free; a release ends it. */
  #starved = false;

  constructor(buffers: PcbAllocator, lanes: TransmitVirtualLanes, requests: RequestLoader<Queue>) {
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

  add(queue: Queue): void {
    this.#queues.set(queue.qp, queue);
  }

  /** A doorbell has named requests of the queue. */
  makeReady(queue: Queue): void {
    if (queue.ready) return;
    queue.ready = true;
    this.#ready.push(queue);
  }

  schedule(qp: QueuePair): void {
    const queue = this.#queues.get(qp);
    if (queue?.isWaiting) this.makeReady(queue);
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
      const queue = this.#ready.shift() as Queue;
      queue.ready = false;
      done += this.#serveQueue(queue, Math.min(QUANTUM, limit - done));
    }
    return done;
  }

  #serveQueue(queue: Queue, limit: number): number {
    const { qp } = queue;
    let done = 0;
    for (; done < limit; done++) {
      if (!queue.isWaiting || !takesRequests(qp) || !this.#lanes.hasRoom(qp)) return done;
      const buffer = this.#buffers.bind(qp.owner.number, 0, -1);
      if (buffer === undefined) {
        this.#starved = true;
        break;
      }
      this.#requests.load(queue, qp.nextSequence, buffer);
      if (qp.owner.timeline !== undefined) noteFetch(queue);
      this.#lanes.admit(qp, buffer);
    }
    if (queue.isWaiting) this.makeReady(queue);
    return done;
  }
}

function noteFetch(queue: PostedSends): void {
  const { owner, number, nextSequence } = queue.qp;
  owner.timeline?.note(Step.FETCH, owner.number, number, nextSequence, queue.counterOf(nextSequence));
}

/** True when the queue may be read now. A QP that takes no requests is scheduled when it does. */
function takesRequests(qp: QueuePair): boolean {
  return !qp.destroyed && qp.sendsAreTaken && (qp.state !== QpState.RTS || qp.acceptsCommands);
}
