// SPDX-License-Identifier: Apache-2.0
/**
 * MultiPathRecord: paths from any of several ports to any of several others (IBTA 15.2.5.20). The
 * query becomes one path query for each pair of GIDs.
 */

import { GID_SIZE } from '../../../../protocol/infiniband/addresses.ts';
import {
  getMultiPathRecordDgidCount,
  getMultiPathRecordPathCount,
  getMultiPathRecordSgidCount,
  MULTI_PATH_RECORD_SIZE,
} from '../../../../protocol/infiniband/mad/gen/multi-path-record.gen.ts';
import {
  PATH_RECORD_DGID_OFFSET,
  PATH_RECORD_SGID_OFFSET,
  PATH_RECORD_SIZE,
} from '../../../../protocol/infiniband/mad/gen/path-record.gen.ts';
import { MadStatus } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import type { Subnet } from '../subnet.ts';
import { asksFor, type ComponentMask, componentsOf, hasBit } from './components.ts';
import { type PathOptions, pathRecords } from './paths.ts';
import type { RecordReply } from './request.ts';

const MULTI = 'multi-path-record';
const PATH = 'path-record';
/** Components that both records have, from the flow label to the life time, at these bytes. */
const SHARED_START = 0;
const SHARED_BYTES = 13;
const PATH_SHARED_START = 44;

export function multiPathRecords(
  subnet: Subnet,
  options: PathOptions,
  data: Uint8Array,
  mask: ComponentMask,
): RecordReply {
  const view = viewOf(data);
  const sources = getMultiPathRecordSgidCount(view, 0);
  const targets = getMultiPathRecordDgidCount(view, 0);
  const isComplete = asksFor(MULTI, mask, 'sgidCount') && asksFor(MULTI, mask, 'dgidCount');
  if (!isComplete) return { status: MadStatus.INSUFFICIENT_COMPONENTS, records: [] };
  const end = MULTI_PATH_RECORD_SIZE + GID_SIZE * (sources + targets);
  if (sources === 0 || targets === 0 || data.length < end) return { status: MadStatus.REQUEST_INVALID, records: [] };
  const gidAt = (index: number) => {
    const start = MULTI_PATH_RECORD_SIZE + GID_SIZE * index;
    return data.subarray(start, start + GID_SIZE);
  };
  const pathMask = maskOfPaths(mask);
  const limit = asksFor(MULTI, mask, 'pathCount') ? getMultiPathRecordPathCount(view, 0) : Infinity;
  const records: Uint8Array[] = [];
  for (let source = 0; source < sources; source++) {
    for (let target = 0; target < targets && records.length < limit; target++) {
      const query = new Uint8Array(PATH_RECORD_SIZE);
      query.set(data.subarray(SHARED_START, SHARED_START + SHARED_BYTES), PATH_SHARED_START);
      query.set(gidAt(source), PATH_RECORD_SGID_OFFSET);
      query.set(gidAt(sources + target), PATH_RECORD_DGID_OFFSET);
      records.push(...pathRecords(subnet, options, query, pathMask, Infinity));
    }
  }
  return { status: MadStatus.SUCCESS, records: records.slice(0, limit) };
}

/** The same components of a path record, with both GIDs. */
function maskOfPaths(mask: ComponentMask): ComponentMask {
  const multi = componentsOf(MULTI);
  const names = new Set(['sgid', 'dgid']);
  for (const [bit, { name, offsetBits }] of multi.entries())
    if (name !== 'pathCount' && offsetBits < 8 * SHARED_BYTES && hasBit(mask, bit)) names.add(name);
  let low = 0;
  for (const [bit, { name }] of componentsOf(PATH).entries()) if (name !== '' && names.has(name)) low |= 1 << bit;
  return { high: 0, low: low >>> 0 };
}
