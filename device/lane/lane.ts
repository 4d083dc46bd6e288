// SPDX-License-Identifier: Apache-2.0
/**
 * A transmit virtual lane (US8484392: TVL) and its virtual kick list: kicked commands, first in, first out. The list is linked through the PCBs themselves, so that
 * it takes any number and costs nothing. Its maximum is a limit of admission, for each function and QoS level by itself: what others have in the list of a shared lane refuses nobody. Its credits are in `credit-accounts`.
 */
import { FUNCTION_MAX, QOS_LEVELS } from '../../protocol/layout/gen/constants.gen.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { ReadyQueue } from './ready-queue.ts';

const CLASSES = FUNCTION_MAX * QOS_LEVELS;

/** What a lane has; what is left out stays. */
export interface LaneSettings {
  readonly executionCredits?: number;
  readonly completionCredits?: number;
  readonly sharedExecution?: boolean;
  readonly sharedCompletion?: boolean;
  readonly listSize?: number;
  readonly weight?: number;
}

export class Lane {
  readonly number: number;
  /** Commands, and packets by the quantum, per turn. */
  weight = 1;
  /** Commands the list takes of each function and QoS level. */
  listSize: number;
  length = 0;
  /** By function and QoS level (`classOf`): commands in the list. */
  readonly lengths = new Uint16Array(CLASSES);
  launches = 0;
  head: PhysicalCollectBuffer | undefined = undefined;
  /** QPs that found the list full: how many, and which, by function and QoS level. */
  waiting = 0;
  readonly #waiters = new Array<ReadyQueue<QueuePair> | undefined>(CLASSES).fill(undefined);
  #tail: PhysicalCollectBuffer | undefined = undefined;

  constructor(number: number, listSize: number) {
    this.number = number;
    this.listSize = listSize;
  }

  hasRoomFor(qp: QueuePair): boolean {
    return this.lengths[classOf(qp)] < this.listSize;
  }

  /** The QP found the list full. */
  wait(qp: QueuePair): void {
    const index = classOf(qp);
    this.#waiters[index] ??= new ReadyQueue<QueuePair>();
    this.#waiters[index].push(qp);
    this.waiting++;
  }

  /** The next QP of a class to try again when `woken` were told already: as many as there is room for; all when none of the class is left in the list, for then nobody would come to wake the others. */
  takeWaiter(index: number, woken: number): QueuePair | undefined {
    const length = this.lengths[index];
    if (length > 0 && length + woken >= this.listSize) return undefined;
    const qp = this.#waiters[index]?.shift();
    if (qp !== undefined) this.waiting--;
    return qp;
  }

  append(buffer: PhysicalCollectBuffer): void {
    this.lengths[classOf(buffer.queuePair as QueuePair)]++;
    buffer.nextKicked = undefined;
    if (this.#tail === undefined) this.head = buffer;
    else this.#tail.nextKicked = buffer;
    this.#tail = buffer;
    this.length++;
  }

  /** Takes the first command, which there must be, off the list. */
  shift(): PhysicalCollectBuffer {
    const buffer = this.head as PhysicalCollectBuffer;
    this.lengths[classOf(buffer.queuePair as QueuePair)]--;
    this.head = buffer.nextKicked;
    if (this.head === undefined) this.#tail = undefined;
    buffer.nextKicked = undefined;
    this.length--;
    return buffer;
  }
}

/** Number of a queue pair's function and QoS level. */
export function classOf({ owner, qosLevel }: QueuePair): number {
  return owner.number * QOS_LEVELS + qosLevel;
}
