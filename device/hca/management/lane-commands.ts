// SPDX-License-Identifier: Apache-2.0
/**
 * Management command that queries the state of a transmit virtual lane: its execution and
 * completion credits (US 8,484,392 par. 42).
 */
import { encodeLaneAttributes, newLaneAttributes } from '../../../protocol/layout/gen/lane-attributes.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { PHYSICAL_FUNCTION } from '../function/underlying-function.ts';
import { NO_OWNER } from '../shares/share-plan.ts';
import type { CommandContext } from './command-context.ts';
import { blameObject } from './share-commands.ts';

/** QUERY_LANE: a virtual function may query only lanes allocated to it. */
export function queryLane(context: CommandContext): ManagementStatus {
  const { adapter, issuer } = context;
  const number = context.header.objectNumber;
  const { plan } = adapter.shareManager;
  const { lanes } = adapter;
  const share = plan.lanes[number];
  if (share === undefined) return blameObject(context, ManagementStatus.BAD_OBJECT, plan.lanes.length - 1);
  if (issuer.number !== PHYSICAL_FUNCTION && share.owner !== issuer.number)
    return blameObject(context, ManagementStatus.NOT_PERMITTED, 0);
  const lane = lanes.lanes[number];
  const record = newLaneAttributes();
  record.state = lanes.map.getState(number);
  record.function = share.owner === NO_OWNER ? 0 : share.owner;
  record.weight = share.weight;
  record.sharedCredits = share.sharedCredits;
  record.executionCredits = share.executionCredits;
  record.executionCreditsUsed = lanes.execution.lanes[number].privateUsed;
  record.executionSharedUsed = lanes.execution.lanes[number].sharedUsed;
  record.completionCredits = share.completionCredits;
  record.completionCreditsUsed = lanes.completion.lanes[number].privateUsed;
  record.completionSharedUsed = lanes.completion.lanes[number].sharedUsed;
  record.listLength = lane.length;
  record.listSize = share.listSize;
  record.launches = lane.launches;
  encodeLaneAttributes(context.responseView, 0, record);
  return ManagementStatus.OK;
}
