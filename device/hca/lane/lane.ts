// SPDX-License-Identifier: Apache-2.0
/**
 * A transmit virtual lane and its virtual kick list, a FIFO of kicked commands (US 8,484,392 par.
 * 45-46, 115). The list is linked through the PCBs, so it holds any number without memory of its
 * own. Its maximum limits admission, for each function and QoS level separately, so commands of
 * other functions on a shared lane refuse none. Credits are in credit-accounts.ts. Called by
 * `TransmitVirtualLanes`.
 */
import { FUNCTION_MAX, QOS_LEVELS } from '../../../protocol/layout/gen/constants.gen.ts';
import { getSendCommandSequence } from '../../../protocol/layout/gen/send-command.gen.ts';
import type { KickedCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { ReadyQueue } from './ready-queue.ts';

const { CREDIT_WAIT } = Step;
const CLASSES = FUNCTION_MAX * QOS_LEVELS;

/** Settings of a lane. An omitted setting stays as it is. */
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
  /** Launches per turn; for packets of connections, quanta per turn. */
  weight = 1;
  /** Maximum of commands in the list for each function and QoS level. */
  listSize: number;
  length = 0;
  /** Commands in the list by function and QoS level (`classOf`). */
  readonly lengths = new Uint16Array(CLASSES);
  launches = 0;
  head: KickedCollectBuffer | undefined = undefined;
  /** QPs that found the list full, and the same QPs by function and QoS level. */
  waiting = 0;
  readonly #waiters = new Array<ReadyQueue<QueuePair> | undefined>(CLASSES).fill(undefined);
  #tail: KickedCollectBuffer | undefined = undefined;
  /** The last command whose wait for a credit the timeline has. */
  #noted: KickedCollectBuffer | undefined = undefined;

  constructor(number: number, listSize: number) {
    this.number = number;
    this.listSize = listSize;
  }

  /** True when the list takes a further command of the function and QoS level. */
  hasRoomFor(laneClass: number): boolean {
    return this.lengths[laneClass] < this.listSize;
  }

  /** Adds a QP that found the list full. The caller keeps it from being added twice. */
  wait(qp: QueuePair): void {
    const index = classOf(qp.owner.number, qp.qosLevel);
    this.#waiters[index] ??= new ReadyQueue<QueuePair>();
    this.#waiters[index].push(qp);
    this.waiting++;
  }

  /**
   * The next QP of a class to wake when `woken` have been woken: as many as there is room for. All
   * of them when the list holds no command of the class, because no later launch would wake the
   * rest.
   */
  takeWaiter(index: number, woken: number): QueuePair | undefined {
    const length = this.lengths[index];
    if (length > 0 && length + woken >= this.listSize) return undefined;
    const qp = this.#waiters[index]?.shift();
    if (qp !== undefined) this.waiting--;
    return qp;
  }

  append(buffer: KickedCollectBuffer): void {
    this.lengths[buffer.laneClass]++;
    buffer.nextKicked = undefined;
    if (this.#tail === undefined) this.head = buffer;
    else this.#tail.nextKicked = buffer;
    this.#tail = buffer;
    this.length++;
  }

  /** The lane lacks a credit: notes that for each command that has come since the last note. */
  noteWaits(timeline: Timeline, credit: number): void {
    let buffer = this.#noted === undefined ? this.head : this.#noted.nextKicked;
    for (; buffer !== undefined; buffer = buffer.nextKicked) {
      const { owner, number } = buffer.queuePair;
      timeline.note(CREDIT_WAIT, owner.number, number, getSendCommandSequence(buffer.view, 0), this.number, credit);
      this.#noted = buffer;
    }
  }

  /** Removes and returns the first command, which must exist. */
  shift(): KickedCollectBuffer {
    const buffer = this.head as KickedCollectBuffer;
    this.lengths[buffer.laneClass]--;
    this.head = buffer.nextKicked;
    if (this.#noted === buffer) this.#noted = undefined;
    if (this.head === undefined) this.#tail = undefined;
    buffer.nextKicked = undefined;
    this.length--;
    return buffer;
  }
}

/** Index of a function and QoS level. */
export function classOf(functionNumber: number, qosLevel: number): number {
  return functionNumber * QOS_LEVELS + qosLevel;
}
