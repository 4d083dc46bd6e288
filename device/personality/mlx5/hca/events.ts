// SPDX-License-Identifier: Apache-2.0
/** The event queues of a function, and events that go to those which asked for their type. */
import { setCommandEqeVector } from '../../../../protocol/mlx5/gen/command-eqe.gen.ts';
import { setCqErrorEqeCqn, setCqErrorEqeSyndrome } from '../../../../protocol/mlx5/gen/cq-error-eqe.gen.ts';
import { setPortEqePort } from '../../../../protocol/mlx5/gen/port-eqe.gen.ts';
import { setQueueEqeKind, setQueueEqeNumber } from '../../../../protocol/mlx5/gen/queue-eqe.gen.ts';
import {
  type CqErrorSyndrome,
  EventQueueKind,
  EventType,
  type PortChange,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { EventQueue } from '../queues/event-queue.ts';
import { LOG_EVENT_QUEUES } from './capabilities.ts';

export class Events {
  /** Asynchronous events whose type no queue takes. */
  unwanted = 0;
  readonly #queues = new Map<number, EventQueue>();
  /** Queues that take the ends of commands. Another list as soon as one comes or goes. */
  commandQueues: readonly EventQueue[] = [];
  /** Entries and lost events of queues that no longer exist, for reports. */
  readonly #retired = { posted: 0, lost: 0 };

  get size(): number {
    return this.#queues.size;
  }

  /** Entries of queues that no longer exist. */
  get retired(): number {
    return this.#retired.posted;
  }

  /** Events that a queue could not take. */
  get lost(): number {
    return [...this.values()].reduce((sum, { lost }) => sum + lost, this.#retired.lost);
  }

  get(number: number): EventQueue | undefined {
    return this.#queues.get(number);
  }

  values(): Iterable<EventQueue> {
    return this.#queues.values();
  }

  /** The lowest number that is free, or undefined when there is none. */
  findNumber(): number | undefined {
    for (let number = 0; number < 2 ** LOG_EVENT_QUEUES; number++) if (!this.#queues.has(number)) return number;
    return undefined;
  }

  add(queue: EventQueue): void {
    this.#queues.set(queue.number, queue);
    this.#collect();
  }

  remove(queue: EventQueue): void {
    this.#retire(queue);
    this.#queues.delete(queue.number);
    this.#collect();
  }

  reset(): void {
    for (const queue of this.values()) this.#retire(queue);
    this.#queues.clear();
    this.unwanted = 0;
    this.#collect();
  }

  /** The command of entry `index` has ended. `queues`: those that took such events before it. */
  postCommand(queues: readonly EventQueue[], index: number): void {
    for (const queue of queues) {
      setCommandEqeVector(queue.begin(), 0, (1 << index) >>> 0);
      queue.post(EventType.COMMAND);
    }
  }

  /** A port has changed. */
  postPort(portNumber: number, change: PortChange): void {
    this.#post(EventType.PORT_CHANGE, change, (entry) => setPortEqePort(entry, 0, portNumber));
  }

  /** An event of a QP or of a shared receive queue. */
  postObject(type: EventType, number: number): void {
    this.#post(type, 0, (entry) => {
      setQueueEqeKind(entry, 0, EventQueueKind.QP);
      setQueueEqeNumber(entry, 0, number);
    });
  }

  /** A CQ has an error. */
  postCompletionError(cqn: number, syndrome: CqErrorSyndrome): void {
    this.#post(EventType.CQ_ERROR, 0, (entry) => {
      setCqErrorEqeCqn(entry, 0, cqn);
      setCqErrorEqeSyndrome(entry, 0, syndrome);
    });
  }

  /** Posts an event to the queues that take its type; `fill` says what it is about. */
  #post(type: EventType, subType: number, fill: (entry: DataView) => void): void {
    let isTaken = false;
    for (const queue of this.#queues.values()) {
      if (!queue.takes(type)) continue;
      fill(queue.begin());
      queue.post(type, subType);
      isTaken = true;
    }
    if (!isTaken) this.unwanted++;
  }

  #retire({ posted, lost }: EventQueue): void {
    this.#retired.posted += posted;
    this.#retired.lost += lost;
  }

  #collect(): void {
    this.commandQueues = [...this.#queues.values()].filter((queue) => queue.takes(EventType.COMMAND));
  }
}
