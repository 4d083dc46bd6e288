// SPDX-License-Identifier: Apache-2.0
/**
 * Reports granted resource requests to oracles at the moment of the grant; a guest learns of it
 * later. Used by `AdapterLoad`.
 */
import type { ResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import type { Adapter } from '../../hca/adapter/adapter.ts';

/** Calls `note` for each change of each granted request. */
export function watchGrants({ shareManager }: Adapter, note: (change: ResourceChange) => void): void {
  const request = shareManager.request.bind(shareManager);
  shareManager.request = (requester, changes) => {
    const refusal = request(requester, changes);
    if (refusal === undefined) for (const change of changes) note(change);
    return refusal;
  };
}
