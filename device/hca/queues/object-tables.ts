// SPDX-License-Identifier: Apache-2.0
/**
 * Tables of the objects of all functions (IBTA 10.2). Numbers are unique in the adapter because
 * packets name QPs by number alone. Management creates the objects; other units look them up.
 */
import { FUNCTION_MAX, VCB_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import type { EventQueue } from '../events/event-queue.ts';
import { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { DeviceMemoryRange } from '../protection/device-memory-range.ts';
import { KeyCheck } from '../protection/key-check.ts';
import type { MemoryRegion } from '../protection/memory-region.ts';
import { FIRST_WINDOW, type MemoryWindow } from '../protection/memory-window.ts';
import type { ProtectionDomain } from '../protection/protection-domain.ts';
import type { CollectContext } from './collect-context.ts';
import type { CompletionQueue } from './completion-queue.ts';
import { MulticastGroups } from './multicast-groups.ts';
import type { QueuePair } from './queue-pair.ts';
import type { SharedReceiveQueue } from './shared-receive-queue.ts';
import { SpecialQueuePairs } from './special-queue-pairs.ts';
import type { XrcDomain } from './xrc-domain.ts';

/** First QPN for software: QP0 and QP1 have special functions in every port. */
const FIRST_QUEUE_PAIR = 2;

/**
 * Capacities of the adapter. Every function has an equal quota of each kind; query adapter reports
 * it.
 */
export const capacities = {
  protectionDomains: 32768,
  memoryRegions: 32767,
  memoryWindows: 32767,
  sharedReceiveQueues: 65535,
  completionQueues: 65535,
  xrcDomains: 32768,
  /** Ranges of device memory. */
  deviceMemory: 32768,
  /** 64 for each function of an adapter with the largest number of functions. */
  eventQueues: 64 * FUNCTION_MAX,
  /** QPN 0xffffff stands for the members of a multicast group: the last index is not given. */
  queuePairs: 65533,
  /** One for each page of the collect BARs. */
  collectContexts: VCB_MAX,
  /** Pages of memory regions and queues (`TranslationEntries`): 128 MiB of the adapter's memory. */
  translationEntries: 1 << 24,
  /** Pages of one memory region. */
  pagesPerRegion: 1 << 20,
  /** Attachments of queue pairs to multicast groups. */
  multicastAttachments: 8192,
  /** Queue pairs of one function in a multicast group: each costs a copy of every packet. */
  queuePairsPerGroup: 64,
  /** Outstanding RDMA READs and atomics of a QP, in each direction. */
  readsPerQueuePair: 16,
} as const;

/** An object that holds translation entries of its function. */
export interface TranslationHolder {
  readonly owner: UnderlyingFunction;
  readonly translationEntries: number;
}

function freeTranslations({ owner, translationEntries }: TranslationHolder): void {
  owner.translations.give(translationEntries);
}

export class ObjectTables {
  readonly protectionDomains: ObjectTable<ProtectionDomain>;
  readonly memoryRegions: ObjectTable<MemoryRegion>;
  readonly completionQueues: ObjectTable<CompletionQueue>;
  readonly eventQueues: ObjectTable<EventQueue>;
  readonly queuePairs: ObjectTable<QueuePair>;
  /** Those of them that are QP0 or QP1 of a port. */
  readonly specialQueuePairs = new SpecialQueuePairs();
  readonly multicastGroups: MulticastGroups;
  /** Regions and windows share one key space; windows have its upper half. */
  readonly memoryWindows: ObjectTable<MemoryWindow>;
  readonly sharedReceiveQueues: ObjectTable<SharedReceiveQueue>;
  readonly collectContexts: ObjectTable<CollectContext>;
  readonly xrcDomains: ObjectTable<XrcDomain>;
  readonly deviceMemory: ObjectTable<DeviceMemoryRange>;
  readonly keys: KeyCheck;

  constructor(functionCount: number) {
    this.protectionDomains = new ObjectTable(capacities.protectionDomains, 1, functionCount);
    this.memoryRegions = new ObjectTable<MemoryRegion>(capacities.memoryRegions, 1, functionCount, freeTranslations);
    this.completionQueues = new ObjectTable<CompletionQueue>(
      capacities.completionQueues,
      1,
      functionCount,
      freeTranslations,
    );
    this.eventQueues = new ObjectTable<EventQueue>(capacities.eventQueues, 1, functionCount, freeTranslations);
    this.queuePairs = new ObjectTable<QueuePair>(
      capacities.queuePairs,
      FIRST_QUEUE_PAIR,
      functionCount,
      freeTranslations,
    );
    this.multicastGroups = new MulticastGroups(
      Math.floor(capacities.multicastAttachments / functionCount),
      capacities.queuePairsPerGroup,
      functionCount,
    );
    this.memoryWindows = new ObjectTable(capacities.memoryWindows, FIRST_WINDOW, functionCount);
    this.sharedReceiveQueues = new ObjectTable<SharedReceiveQueue>(
      capacities.sharedReceiveQueues,
      1,
      functionCount,
      freeTranslations,
    );
    this.collectContexts = new ObjectTable(capacities.collectContexts, 1, functionCount);
    this.xrcDomains = new ObjectTable(capacities.xrcDomains, 1, functionCount);
    this.deviceMemory = new ObjectTable(capacities.deviceMemory, 1, functionCount);
    this.keys = new KeyCheck(this.memoryRegions, this.memoryWindows);
  }

  /** Takes a queue pair, which all units have dropped, out of every table. */
  removeQueuePair(qp: QueuePair): void {
    if (qp.boundWindows > 0)
      this.memoryWindows.forEach((window) => {
        if (window.holder === qp) window.unbind();
      });
    this.specialQueuePairs.remove(qp);
    this.multicastGroups.drop(qp);
    this.queuePairs.remove(qp);
  }

  /**
   * Destroys all objects of a function except its queue pairs, which other units hold as well and
   * which the caller has destroyed before.
   */
  drop(owner: UnderlyingFunction): void {
    this.completionQueues.forEach((queue) => {
      if (queue.owner !== owner) return;
      queue.detach();
      this.completionQueues.remove(queue);
    });
    this.eventQueues.forEach((queue) => {
      if (queue.owner === owner) this.eventQueues.remove(queue);
    });
    this.memoryWindows.forEach((window) => {
      if (window.owner !== owner) return;
      window.release();
      this.memoryWindows.remove(window);
    });
    this.sharedReceiveQueues.forEach((queue) => {
      if (queue.owner === owner) this.sharedReceiveQueues.remove(queue);
    });
    this.xrcDomains.forEach((domain) => {
      if (domain.owner === owner) this.xrcDomains.remove(domain);
    });
    this.keys.pageFaults.drop(owner);
    this.memoryRegions.forEach((region) => {
      if (region.owner === owner) this.memoryRegions.remove(region);
    });
    this.deviceMemory.forEach((range) => {
      if (range.owner === owner) this.deviceMemory.remove(range);
    });
    this.collectContexts.forEach((context) => {
      if (context.owner === owner) this.collectContexts.remove(context);
    });
    this.protectionDomains.forEach((pd) => {
      if (pd.owner === owner) this.protectionDomains.remove(pd);
    });
  }
  /** Numbers of objects, of all functions: what is left when they are gone was leaked. */
  get counts(): Readonly<Record<string, number>> {
    return {
      protectionDomains: this.protectionDomains.size,
      memoryRegions: this.memoryRegions.size,
      memoryWindows: this.memoryWindows.size,
      completionQueues: this.completionQueues.size,
      eventQueues: this.eventQueues.size,
      queuePairs: this.queuePairs.size,
      sharedReceiveQueues: this.sharedReceiveQueues.size,
      xrcDomains: this.xrcDomains.size,
      deviceMemory: this.deviceMemory.size,
      collectContexts: this.collectContexts.size,
    };
  }
}
