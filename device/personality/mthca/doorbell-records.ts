// SPDX-License-Identifier: Apache-2.0
/**
 * Doorbell records: 8 bytes each, in pages of context memory that belong to a user access region.
 * Commands check the numbers of records with it; the data path will read the records.
 */
import { ICM_PAGE_BYTES } from '../../../protocol/mthca/gen/constants.gen.ts';
import { DOORBELL_RECORD_SIZE } from '../../../protocol/mthca/gen/doorbell-record.gen.ts';
import type { Hca } from './hca.ts';

/** True when the region exists and the record lies in a mapped page of it. */
export function checkRecord(hca: Hca, uar: number, record: number): boolean {
  const address = recordAddress(hca, uar, record);
  return address !== undefined && hca.icm.isMapped(address, DOORBELL_RECORD_SIZE);
}

/** Address of a record in context memory; undefined when there is no such record. */
function recordAddress({ setup }: Hca, uar: number, record: number): number | undefined {
  if (setup === undefined || uar >= 2 ** setup.logUars) return undefined;
  const regionBytes = ICM_PAGE_BYTES * 2 ** setup.logUarContextPages;
  const offset = record * DOORBELL_RECORD_SIZE;
  return offset < regionBytes ? setup.uarContextBase + uar * regionBytes + offset : undefined;
}
