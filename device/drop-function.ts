// SPDX-License-Identifier: Apache-2.0
/** What is left of a function when it is reset: nothing. Called by the adapter. */
import type { Adapter } from './adapter.ts';
import type { AdapterFunction } from './pci/function.ts';

/** Destroys all objects of a function and drops its commands, dependents before what they depend on. */
export function dropFunction(adapter: Adapter, owner: AdapterFunction): void {
  const { resources } = adapter;
  adapter.lanes.drop(owner);
  adapter.sendContexts.dropFunction(owner);
  owner.doorbells.reset();
  resources.queuePairs.forEach((qp) => {
    if (qp.owner === owner) adapter.destroyQueuePair(qp);
  });
  resources.completionQueues.forEach((queue) => {
    if (queue.owner !== owner) return;
    queue.detach();
    resources.completionQueues.remove(queue);
  });
  resources.eventQueues.forEach((queue) => {
    if (queue.owner === owner) resources.eventQueues.remove(queue);
  });
  resources.memoryWindows.forEach((window) => {
    if (window.owner !== owner) return;
    window.release();
    resources.memoryWindows.remove(window);
  });
  resources.sharedReceiveQueues.forEach((queue) => {
    if (queue.owner === owner) resources.sharedReceiveQueues.remove(queue);
  });
  resources.memoryRegions.forEach((region) => {
    if (region.owner === owner) resources.memoryRegions.remove(region);
  });
  resources.protectionDomains.forEach((pd) => {
    if (pd.owner === owner) resources.protectionDomains.remove(pd);
  });
}
