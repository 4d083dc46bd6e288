// SPDX-License-Identifier: Apache-2.0
/**
 * Set and Delete of GUIDInfoRecord (IBTA 15.2.5.18): further GUIDs of a port, for virtual machines.
 * The manager writes the block to the port before it answers. `Administration` runs the jobs.
 */

import {
  GUID_INFO_RECORD_ENTRIES_OFFSET,
  GUID_INFO_RECORD_SIZE,
  getGuidInfoRecordBlockNumber,
  getGuidInfoRecordRecordLid,
  setGuidInfoRecordBlockNumber,
  setGuidInfoRecordRecordLid,
} from '../../../../protocol/infiniband/mad/gen/guid-info-record.gen.ts';
import { getPortInfoGuidCapacity } from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { MadMethod, MadStatus, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { type Guid, NO_GUID, readGuid, writeGuid } from '../guid.ts';
import { get, type SmpJob, set } from '../smp-client.ts';
import type { Subnet, SubnetPort } from '../subnet.ts';
import { componentsOf, hasBit } from './components.ts';
import type { RecordReply, RecordRequest } from './request.ts';

const GUIDS_PER_BLOCK = 8;
const GUID_BYTES = 8;
/** GUIDs that the manager gives out begin so, and a counter follows. */
const GIVEN_PREFIX = '0200';

/** Gives out GUIDs for requests that leave the choice to the manager. */
export class GivenGuids {
  #last = 0;

  next(port: SubnetPort): Guid {
    this.#last++;
    return GIVEN_PREFIX + port.guid.slice(8) + this.#last.toString(16).padStart(4, '0');
  }
}

/** Writes the GUIDs that a request names, and returns the block as it is afterwards. */
export function* changeGuids(
  subnet: Subnet,
  { method, mask, data }: RecordRequest,
  given: GivenGuids,
): SmpJob<RecordReply> {
  const view = viewOf(data);
  const port = subnet.portOfLid(getGuidInfoRecordRecordLid(view, 0));
  const number = getGuidInfoRecordBlockNumber(view, 0);
  if (port === undefined || number * GUIDS_PER_BLOCK >= getPortInfoGuidCapacity(port.view, 0))
    return { status: MadStatus.REQUEST_INVALID, records: [] };
  const [before] = yield [get(port.path, SubnetAttribute.GUID_INFO, number)];
  if (before.status !== MadStatus.SUCCESS) return { status: MadStatus.NO_RESOURCES, records: [] };
  const block = before.data.slice();
  const blockView = viewOf(block);
  for (const [index, bit] of entryBits().entries()) {
    const isFixed = number === 0 && index === 0;
    if (!hasBit(mask, bit) || isFixed) continue;
    const wanted = readGuid(view, GUID_INFO_RECORD_ENTRIES_OFFSET + index * GUID_BYTES);
    const guid = method === MadMethod.DELETE ? NO_GUID : wanted === NO_GUID ? given.next(port) : wanted;
    writeGuid(blockView, index * GUID_BYTES, guid);
  }
  const [after] = yield [set(port.path, SubnetAttribute.GUID_INFO, number, block)];
  if (after.status !== MadStatus.SUCCESS) return { status: MadStatus.NO_RESOURCES, records: [] };
  port.guids.set(number, after.data);
  const record = new Uint8Array(GUID_INFO_RECORD_SIZE);
  setGuidInfoRecordRecordLid(viewOf(record), 0, port.lid);
  setGuidInfoRecordBlockNumber(viewOf(record), 0, number);
  record.set(after.data, GUID_INFO_RECORD_ENTRIES_OFFSET);
  return { status: MadStatus.SUCCESS, records: [record] };
}

/** Bits of the eight GUIDs in the component mask. */
function entryBits(): number[] {
  return [...componentsOf('guid-info-record').entries()]
    .filter(([, { name }]) => name === 'entries')
    .map(([bit]) => bit);
}
