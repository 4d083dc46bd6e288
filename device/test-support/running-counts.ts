// SPDX-License-Identifier: Apache-2.0
/**
 * Queues whose 32-bit running counts are near their wrap, without 2^32 entries before. For tests.
 */
import type { DriverCompletionQueue } from '../hosts/in-process/driver/completion-queue.ts';
import type { DriverEventQueue } from '../hosts/in-process/driver/event-queue.ts';
import type { AdapterFixture } from './adapter-fixture.ts';

/** Sets a CQ and its driver to the state after `count` entries were posted and taken. */
export function startCompletionsAt(fixture: AdapterFixture, queue: DriverCompletionQueue, count: number): void {
  const device = fixture.machine.device.tables.completionQueues.get(queue.cqn);
  if (device === undefined) throw new Error(`there is no CQ ${queue.cqn}`);
  device.producerCount = count;
  device.consumed = count;
  queue.consumed = count;
  queue.giveBack();
}

/** Sets an EQ and its driver to the state after `count` entries were posted and taken. */
export function startEventsAt(fixture: AdapterFixture, queue: DriverEventQueue, count: number): void {
  const device = fixture.machine.device.tables.eventQueues.get(queue.eqn);
  if (device === undefined) throw new Error(`there is no EQ ${queue.eqn}`);
  device.producerCount = count;
  device.consumed = count;
  queue.consumed = count;
  queue.returned = count;
}
