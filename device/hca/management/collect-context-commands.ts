// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands of collect contexts: which collect pages a user process has, and so which
 * queue pairs and completion queues it reaches without system calls (US 8,484,392 par. 95-98;
 * docs/FEATURES.md, Collect contexts).
 */
import {
  setCollectContextAttributesPages,
  setCollectContextAttributesQueues,
  setCollectContextAttributesRefused,
} from '../../../protocol/layout/gen/collect-context-attributes.gen.ts';
import { MANAGEMENT_COMMAND_MODIFIER_OFFSET } from '../../../protocol/layout/gen/management-command.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { CollectContext } from '../queues/collect-context.ts';
import type { CommandContext } from './command-context.ts';

/** CREATE_COLLECT_CONTEXT: allocates a context without pages. */
export function createCollectContext(context: CommandContext): ManagementStatus {
  const { adapter, issuer } = context;
  const created = adapter.tables.collectContexts.add(issuer, (number) => new CollectContext(number, issuer));
  if (created === undefined) return ManagementStatus.NO_RESOURCES;
  context.label(created);
  context.objectNumber = created.number;
  return ManagementStatus.OK;
}

/**
 * ASSIGN_COLLECT_PAGE: gives a page of the collect BAR to a context, or takes it back (object
 * number 0). A page goes from one context to another by way of the kernel.
 */
export function assignCollectPage(context: CommandContext): ManagementStatus {
  const { managed, header } = context;
  const assignee = find(context);
  if (assignee === undefined && header.objectNumber !== 0) return context.badObject();
  const page = header.modifier;
  if (page >= managed.collect.pageCount) {
    context.badOffset = MANAGEMENT_COMMAND_MODIFIER_OFFSET;
    context.limit = managed.collect.pageCount - 1;
    return ManagementStatus.BAD_FIELD;
  }
  const present = managed.collect.getContext(page);
  if (present !== undefined && assignee !== undefined && present !== assignee) {
    context.badOffset = MANAGEMENT_COMMAND_MODIFIER_OFFSET;
    return ManagementStatus.IN_USE;
  }
  managed.collect.assign(page, assignee);
  return ManagementStatus.OK;
}

/** QUERY_COLLECT_CONTEXT: counts pages, queues and refused stores. */
export function queryCollectContext(context: CommandContext): ManagementStatus {
  const found = find(context);
  if (found === undefined) return context.badObject();
  setCollectContextAttributesPages(context.responseView, 0, found.pages);
  setCollectContextAttributesQueues(context.responseView, 0, found.queues);
  setCollectContextAttributesRefused(context.responseView, 0, found.refused);
  return ManagementStatus.OK;
}

/** DESTROY_COLLECT_CONTEXT: frees a context without pages and queues. */
export function destroyCollectContext(context: CommandContext): ManagementStatus {
  const found = find(context);
  if (found === undefined) return context.badObject();
  if (found.pages > 0 || found.queues > 0) return ManagementStatus.IN_USE;
  context.adapter.tables.collectContexts.remove(found);
  return ManagementStatus.OK;
}

function find(context: CommandContext): CollectContext | undefined {
  return context.own(context.adapter.tables.collectContexts.get(context.header.objectNumber));
}
