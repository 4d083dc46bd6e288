// SPDX-License-Identifier: Apache-2.0
/**
 * Every management command with the payload that it takes and the handler that executes it. The
 * management processor refuses opcodes that are not in it (US 8,484,392 par. 65, 77).
 */

import { ADAPTER_CHANGES_SIZE } from '../../../protocol/layout/gen/adapter-changes.gen.ts';
import { RESOURCE_CHANGES_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import { CQ_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import { DEVICE_MEMORY_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/device-memory-attributes.gen.ts';
import { EQ_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import { GID_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/gid-attributes.gen.ts';
import { MAD_REQUEST_SIZE } from '../../../protocol/layout/gen/mad-request.gen.ts';
import { MR_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/mr-attributes.gen.ts';
import { MULTICAST_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/multicast-attributes.gen.ts';
import { MW_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/mw-attributes.gen.ts';
import { PAGE_RANGE_SIZE } from '../../../protocol/layout/gen/page-range.gen.ts';
import { PD_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/pd-attributes.gen.ts';
import { PORT_CHANGES_SIZE } from '../../../protocol/layout/gen/port-changes.gen.ts';
import { QP_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import { QP_CREATION_SIZE } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { RESOURCE_CHANGE_SIZE } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { SEND_CONTEXT_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/send-context-attributes.gen.ts';
import { SRQ_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/srq-attributes.gen.ts';
import { TRACE_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/trace-attributes.gen.ts';
import { ManagementOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { queryAdapter, queryPort } from './adapter-commands.ts';
import {
  assignCollectPage,
  createCollectContext,
  destroyCollectContext,
  queryCollectContext,
} from './collect-context-commands.ts';
import type { CommandHandler } from './command-context.ts';
import {
  createCompletionQueue,
  destroyCompletionQueue,
  modifyCompletionQueue,
  queryCompletionQueue,
} from './completion-queue-commands.ts';
import { createDeviceMemory, destroyDeviceMemory, queryDeviceMemory } from './device-memory-commands.ts';
import { createEventQueue, destroyEventQueue, modifyEventQueue, queryEventQueue } from './event-queue-commands.ts';
import { modifyGid, queryGid } from './gid-commands.ts';
import { queryLane } from './lane-commands.ts';
import { executeMad } from './mad-commands.ts';
import {
  createMemoryRegion,
  destroyMemoryRegion,
  modifyMemoryRegion,
  queryMemoryRegion,
} from './memory-region-commands.ts';
import { createMemoryWindow, destroyMemoryWindow, queryMemoryWindow } from './memory-window-commands.ts';
import { attachMulticast, detachMulticast, queryMulticast } from './multicast-commands.ts';
import { invalidatePages, resolvePages } from './page-commands.ts';
import { modifyAdapter, modifyPort } from './port-commands.ts';
import { queryGids, queryPkeys } from './port-table-commands.ts';
import {
  createProtectionDomain,
  destroyProtectionDomain,
  modifyProtectionDomain,
  queryProtectionDomain,
} from './protection-domain-commands.ts';
import { destroyQueuePair, modifyQueuePair, queryQueuePair } from './queue-pair-commands.ts';
import { createQueuePair } from './queue-pair-creation.ts';
import { createSendContext, destroySendContext, modifySendContext, querySendContext } from './send-context-commands.ts';
import { queryResources, requestResources } from './share-commands.ts';
import {
  createSharedReceiveQueue,
  destroySharedReceiveQueue,
  modifySharedReceiveQueue,
  querySharedReceiveQueue,
} from './shared-receive-queue-commands.ts';
import { modifyTrace, queryTrace, readTrace } from './trace-commands.ts';
import { createXrcDomain, destroyXrcDomain } from './xrc-domain-commands.ts';

/** Payload and handler of one opcode. */
interface CommandEntry {
  readonly payloadBytes: number;
  readonly handler: CommandHandler;
  /** The modifier holds the number of payloads, from 1 to this maximum; 0: there is exactly one. */
  readonly countMax: number;
}

const rows: [ManagementOpcode, number, CommandHandler, number?][] = [
  [ManagementOpcode.MODIFY_ADAPTER, ADAPTER_CHANGES_SIZE, modifyAdapter],
  [ManagementOpcode.QUERY_ADAPTER, 0, queryAdapter],
  [ManagementOpcode.MODIFY_PORT, PORT_CHANGES_SIZE, modifyPort],
  [ManagementOpcode.QUERY_PORT, 0, queryPort],
  [ManagementOpcode.MODIFY_GID, GID_ATTRIBUTES_SIZE, modifyGid],
  [ManagementOpcode.QUERY_GID, 0, queryGid],
  [ManagementOpcode.EXECUTE_MAD, MAD_REQUEST_SIZE, executeMad],
  [ManagementOpcode.CREATE_PD, PD_ATTRIBUTES_SIZE, createProtectionDomain],
  [ManagementOpcode.MODIFY_PD, PD_ATTRIBUTES_SIZE, modifyProtectionDomain],
  [ManagementOpcode.QUERY_PD, 0, queryProtectionDomain],
  [ManagementOpcode.DESTROY_PD, 0, destroyProtectionDomain],
  [ManagementOpcode.CREATE_MR, MR_ATTRIBUTES_SIZE, createMemoryRegion],
  [ManagementOpcode.MODIFY_MR, MR_ATTRIBUTES_SIZE, modifyMemoryRegion],
  [ManagementOpcode.QUERY_MR, 0, queryMemoryRegion],
  [ManagementOpcode.DESTROY_MR, 0, destroyMemoryRegion],
  [ManagementOpcode.RESOLVE_PAGES, PAGE_RANGE_SIZE, resolvePages],
  [ManagementOpcode.INVALIDATE_PAGES, PAGE_RANGE_SIZE, invalidatePages],
  [ManagementOpcode.CREATE_CQ, CQ_ATTRIBUTES_SIZE, createCompletionQueue],
  [ManagementOpcode.MODIFY_CQ, CQ_ATTRIBUTES_SIZE, modifyCompletionQueue],
  [ManagementOpcode.QUERY_CQ, 0, queryCompletionQueue],
  [ManagementOpcode.DESTROY_CQ, 0, destroyCompletionQueue],
  [ManagementOpcode.CREATE_EQ, EQ_ATTRIBUTES_SIZE, createEventQueue],
  [ManagementOpcode.MODIFY_EQ, EQ_ATTRIBUTES_SIZE, modifyEventQueue],
  [ManagementOpcode.QUERY_EQ, 0, queryEventQueue],
  [ManagementOpcode.DESTROY_EQ, 0, destroyEventQueue],
  [ManagementOpcode.CREATE_QP, QP_CREATION_SIZE, createQueuePair],
  [ManagementOpcode.MODIFY_QP, QP_ATTRIBUTES_SIZE, modifyQueuePair],
  [ManagementOpcode.QUERY_QP, 0, queryQueuePair],
  [ManagementOpcode.DESTROY_QP, 0, destroyQueuePair],
  [ManagementOpcode.CREATE_MW, MW_ATTRIBUTES_SIZE, createMemoryWindow],
  [ManagementOpcode.QUERY_MW, 0, queryMemoryWindow],
  [ManagementOpcode.DESTROY_MW, 0, destroyMemoryWindow],
  [ManagementOpcode.CREATE_SEND_CONTEXT, SEND_CONTEXT_ATTRIBUTES_SIZE, createSendContext],
  [ManagementOpcode.MODIFY_SEND_CONTEXT, SEND_CONTEXT_ATTRIBUTES_SIZE, modifySendContext],
  [ManagementOpcode.QUERY_SEND_CONTEXT, 0, querySendContext],
  [ManagementOpcode.DESTROY_SEND_CONTEXT, 0, destroySendContext],
  [ManagementOpcode.CREATE_SRQ, SRQ_ATTRIBUTES_SIZE, createSharedReceiveQueue],
  [ManagementOpcode.MODIFY_SRQ, SRQ_ATTRIBUTES_SIZE, modifySharedReceiveQueue],
  [ManagementOpcode.QUERY_SRQ, 0, querySharedReceiveQueue],
  [ManagementOpcode.DESTROY_SRQ, 0, destroySharedReceiveQueue],
  [ManagementOpcode.CREATE_XRC_DOMAIN, 0, createXrcDomain],
  [ManagementOpcode.DESTROY_XRC_DOMAIN, 0, destroyXrcDomain],
  [ManagementOpcode.CREATE_DEVICE_MEMORY, DEVICE_MEMORY_ATTRIBUTES_SIZE, createDeviceMemory],
  [ManagementOpcode.QUERY_DEVICE_MEMORY, 0, queryDeviceMemory],
  [ManagementOpcode.DESTROY_DEVICE_MEMORY, 0, destroyDeviceMemory],
  [ManagementOpcode.REQUEST_RESOURCES, RESOURCE_CHANGE_SIZE, requestResources, RESOURCE_CHANGES_MAX],
  [ManagementOpcode.QUERY_RESOURCES, 0, queryResources],
  [ManagementOpcode.ATTACH_MULTICAST, MULTICAST_ATTRIBUTES_SIZE, attachMulticast],
  [ManagementOpcode.QUERY_MULTICAST, 0, queryMulticast],
  [ManagementOpcode.DETACH_MULTICAST, MULTICAST_ATTRIBUTES_SIZE, detachMulticast],
  [ManagementOpcode.QUERY_LANE, 0, queryLane],
  [ManagementOpcode.QUERY_PKEYS, 0, queryPkeys],
  [ManagementOpcode.QUERY_GIDS, 0, queryGids],
  [ManagementOpcode.CREATE_COLLECT_CONTEXT, 0, createCollectContext],
  [ManagementOpcode.ASSIGN_COLLECT_PAGE, 0, assignCollectPage],
  [ManagementOpcode.QUERY_COLLECT_CONTEXT, 0, queryCollectContext],
  [ManagementOpcode.DESTROY_COLLECT_CONTEXT, 0, destroyCollectContext],
  [ManagementOpcode.MODIFY_TRACE, TRACE_ATTRIBUTES_SIZE, modifyTrace],
  [ManagementOpcode.QUERY_TRACE, 0, queryTrace],
  [ManagementOpcode.READ_TRACE, TRACE_ATTRIBUTES_SIZE, readTrace],
];

export const commandTable: ReadonlyMap<number, CommandEntry> = new Map(
  rows.map(([opcode, payloadBytes, handler, countMax = 0]) => [opcode, { payloadBytes, handler, countMax }]),
);
