// SPDX-License-Identifier: Apache-2.0
/**
 * The classes of a driver that a test may replace, for example by those with planted bugs
 * (device/rig/sanitize).
 */
import { CollectPagePool } from './collect-page-pool.ts';
import { DriverCompletionQueue } from './completion-queue.ts';
import { EventPoller } from './event-poller.ts';
import { DriverEventQueue } from './event-queue.ts';
import { OutstandingWork } from './outstanding-work.ts';
import { DriverQueuePair } from './queue-pair.ts';
import { DriverSendContext } from './send-context.ts';

/** The classes without defects. */
export const driverClasses = {
  CompletionQueue: DriverCompletionQueue,
  EventQueue: DriverEventQueue,
  EventPoller,
  QueuePair: DriverQueuePair,
  SendContext: DriverSendContext,
  OutstandingWork,
  CollectPagePool,
};

export type DriverClasses = typeof driverClasses;
