// SPDX-License-Identifier: Apache-2.0
/**
 * Counts the objects that an mthca device has for drivers and processes: what is left when all of
 * them are gone was leaked. The control command `objects` returns it (ObjectTables.counts of our
 * own adapters).
 */
import type { MthcaAdapter } from '../../personality/mthca/mthca-adapter.ts';

/** Objects that the HCA owns, by kind. */
export type ObjectCounts = Readonly<Record<'qps' | 'cqs' | 'srqs' | 'eqs' | 'mrs' | 'groups' | 'icmPages', number>>;

export function countObjects(hca: MthcaAdapter['hca']): ObjectCounts {
  return {
    qps: hca.queuePairs.count,
    cqs: hca.completionQueues.count,
    srqs: hca.sharedReceiveQueues.count,
    eqs: hca.eventQueues.count,
    mrs: hca.regions.table.count,
    groups: hca.groups.count,
    icmPages: hca.icm.mappedPages,
  };
}
