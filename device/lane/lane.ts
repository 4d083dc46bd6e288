// SPDX-License-Identifier: Apache-2.0
/**
 * A transmit virtual lane (US8484392: TVL) and its virtual kick list: kicked commands, first in, first out. The list is linked through the PCBs themselves, so that
 * it takes any number and costs nothing; its maximum is a limit of admission. Its credits are in `credit-accounts`.
 */
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { ReadyQueue } from '../transport/ready-queue.ts';

export class Lane {
  readonly number: number;
  /** Commands, and packets by the quantum, per turn. */
  weight = 1;
  /** Commands the list takes. */
  listSize: number;
  length = 0;
  launches = 0;
  head: PhysicalCollectBuffer | undefined = undefined;
  /** QPs that found the list full. */
  readonly waiters = new ReadyQueue<QueuePair>();
  #tail: PhysicalCollectBuffer | undefined = undefined;

  constructor(number: number, listSize: number) {
    this.number = number;
    this.listSize = listSize;
  }

  get hasRoom(): boolean {
    return this.length < this.listSize;
  }

  append(buffer: PhysicalCollectBuffer): void {
    buffer.nextKicked = undefined;
    if (this.#tail === undefined) this.head = buffer;
    else this.#tail.nextKicked = buffer;
    this.#tail = buffer;
    this.length++;
  }

  /** Takes the first command, which there must be, off the list. */
  shift(): PhysicalCollectBuffer {
    const buffer = this.head as PhysicalCollectBuffer;
    this.head = buffer.nextKicked;
    if (this.head === undefined) this.#tail = undefined;
    buffer.nextKicked = undefined;
    this.length--;
    return buffer;
  }
}
