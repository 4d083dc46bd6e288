// SPDX-License-Identifier: Apache-2.0
/** The event queues of a function, and events that go to those which asked for their type. */
import { setCommandEqeVector } from '../../../../protocol/mlx5/gen/command-eqe.gen.ts';
import { EventType } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { EventQueue } from '../queues/event-queue.ts';
import { LOG_EVENT_QUEUES } from './capabilities.ts';

export class Events {
  readonly #queues = new Map<number, EventQueue>();
  /** Queues that take the ends of commands. Another list as soon as one comes or goes. */
  commandQueues: readonly EventQueue[] = [];

  get size(): number {
    return this.#queues.size;
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
    this.#queues.delete(queue.number);
    this.#collect();
  }

  reset(): void {
    this.#queues.clear();
    this.#collect();
  }

  /** The command of entry `index` has ended. `queues`: those that took such events before it. */
  postCommand(queues: readonly EventQueue[], index: number): void {
    for (const queue of queues) {
      setCommandEqeVector(queue.begin(), 0, (1 << index) >>> 0);
      queue.post(EventType.COMMAND);
    }
  }

  #collect(): void {
    this.commandQueues = [...this.#queues.values()].filter((queue) => queue.takes(EventType.COMMAND));
  }
}
