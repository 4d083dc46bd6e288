// SPDX-License-Identifier: Apache-2.0
/** What is left of a function when it is reset: nothing. Called by the adapter's functions. */
import type { Adapter } from './adapter.ts';
import type { AdapterFunction } from './pcie-function.ts';

/** Destroys all objects of a function and drops its commands. */
export function dropFunction(adapter: Adapter, owner: AdapterFunction): void {
  const { resources } = adapter;
  adapter.lanes.drop(owner);
  adapter.sendContexts.dropFunction(owner);
  owner.doorbells.reset();
  resources.queuePairs.forEach((qp) => {
    if (qp.owner === owner) adapter.destroyQueuePair(qp);
  });
  resources.drop(owner);
}
