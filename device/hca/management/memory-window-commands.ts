// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that allocate, query and deallocate memory windows (IBTA 11.2.8.9 to
 * 11.2.8.11); binding is a work request.
 */
import {
  decodeMwAttributes,
  encodeMwAttributes,
  MW_ATTRIBUTES_KIND_OFFSET,
  MW_ATTRIBUTES_PD_OFFSET,
  type MwAttributes,
  newMwAttributes,
} from '../../../protocol/layout/gen/mw-attributes.gen.ts';
import { ManagementStatus, MwKind } from '../../../protocol/layout/gen/values.gen.ts';
import { MemoryWindow } from '../protection/memory-window.ts';
import type { CommandContext } from './command-context.ts';

const request: MwAttributes = newMwAttributes();

/** CREATE_MW: allocates an unbound window of type 1 or 2. */
export function createMemoryWindow(context: CommandContext): ManagementStatus {
  decodeMwAttributes(context.command, context.payload, request);
  const { tables } = context.adapter;
  const pd = context.own(tables.protectionDomains.get(request.pd));
  if (pd === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, MW_ATTRIBUTES_PD_OFFSET);
  if (request.kind !== MwKind.TYPE_1 && request.kind !== MwKind.TYPE_2)
    return context.badField(MW_ATTRIBUTES_KIND_OFFSET, MwKind.TYPE_2);
  const { kind } = request;
  const window = tables.memoryWindows.add(context.issuer, (number) => new MemoryWindow(number, pd, kind));
  if (window === undefined) return ManagementStatus.NO_RESOURCES;
  context.objectNumber = window.number;
  describe(context, window);
  return ManagementStatus.OK;
}

/** QUERY_MW: returns the attributes of the window and of its binding. */
export function queryMemoryWindow(context: CommandContext): ManagementStatus {
  const window = find(context);
  if (window === undefined) return context.badObject();
  describe(context, window);
  return ManagementStatus.OK;
}

/** DESTROY_MW: unbinds and frees the window. */
export function destroyMemoryWindow(context: CommandContext): ManagementStatus {
  const window = find(context);
  if (window === undefined) return context.badObject();
  window.release();
  context.adapter.tables.memoryWindows.remove(window);
  return ManagementStatus.OK;
}

function find(context: CommandContext): MemoryWindow | undefined {
  return context.own(context.adapter.tables.memoryWindows.get(context.header.objectNumber));
}

function describe(context: CommandContext, window: MemoryWindow): void {
  request.pd = window.pd.number;
  request.kind = window.kind;
  request.rkey = window.key;
  request.startAddress = window.startAddress;
  request.length = window.length;
  request.access = window.access;
  request.region = window.region?.number ?? 0;
  request.qpn = window.holder?.number ?? 0;
  encodeMwAttributes(context.responseView, 0, request);
}
