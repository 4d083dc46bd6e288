// SPDX-License-Identifier: Apache-2.0
/** The objects of the adapter, of all functions: numbers are unique in the adapter because packets name QPs by number alone. */
import type { CompletionQueue } from './queues/completion-queue.ts';
import type { EventQueue } from './queues/event-queue.ts';
import { KeyCheck } from './queues/key-check.ts';
import type { MemoryRegion } from './queues/memory-region.ts';
import { FIRST_WINDOW, type MemoryWindow } from './queues/memory-window.ts';
import { ObjectTable } from './queues/object-table.ts';
import type { ProtectionDomain } from './queues/protection-domain.ts';
import type { QueuePair } from './queues/queue-pair.ts';
import type { SharedReceiveQueue } from './queues/shared-receive-queue.ts';

/** QP0 and QP1 are special in every port. */
const FIRST_QUEUE_PAIR = 2;

/** Capacities of the adapter; query adapter reports them. */
export const capacities = {
  protectionDomains: 32768,
  memoryRegions: 32767,
  memoryWindows: 32767,
  sharedReceiveQueues: 65535,
  completionQueues: 65535,
  eventQueues: 256,
  queuePairs: 65534,
  /** Pages of one memory region. */
  pagesPerRegion: 1 << 20,
  /** Outstanding RDMA READs and atomics of a QP, either way. */
  readsPerQueuePair: 16,
} as const;

export class Resources {
  readonly protectionDomains = new ObjectTable<ProtectionDomain>(capacities.protectionDomains, 1);
  readonly memoryRegions = new ObjectTable<MemoryRegion>(capacities.memoryRegions, 1);
  readonly completionQueues = new ObjectTable<CompletionQueue>(capacities.completionQueues, 1);
  readonly eventQueues = new ObjectTable<EventQueue>(capacities.eventQueues, 1);
  readonly queuePairs = new ObjectTable<QueuePair>(capacities.queuePairs, FIRST_QUEUE_PAIR);
  /** Regions and windows share the space of keys: windows have the upper half of it. */
  readonly memoryWindows = new ObjectTable<MemoryWindow>(capacities.memoryWindows, FIRST_WINDOW);
  readonly sharedReceiveQueues = new ObjectTable<SharedReceiveQueue>(capacities.sharedReceiveQueues, 1);
  readonly keys = new KeyCheck(this.memoryRegions, this.memoryWindows);
}
