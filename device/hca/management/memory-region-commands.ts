// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that register, re-register, query and deregister memory regions (IBTA
 * 11.2.8).
 */
import {
  decodeMrAttributes,
  encodeMrAttributes,
  MR_ATTRIBUTES_ACCESS_OFFSET,
  MR_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  MR_ATTRIBUTES_DEVICE_MEMORY_OFFSET,
  MR_ATTRIBUTES_DEVICE_MEMORY_OFFSET_OFFSET,
  MR_ATTRIBUTES_KIND_OFFSET,
  MR_ATTRIBUTES_LENGTH_OFFSET,
  MR_ATTRIBUTES_PAGE_COUNT_OFFSET,
  MR_ATTRIBUTES_PAGE_LIST_ADDRESS_OFFSET,
  MR_ATTRIBUTES_PAGE_SHIFT_OFFSET,
  MR_ATTRIBUTES_PD_OFFSET,
  MR_ATTRIBUTES_START_ADDRESS_OFFSET,
  type MrAttributes,
  newMrAttributes,
} from '../../../protocol/layout/gen/mr-attributes.gen.ts';
import { AccessFlag, ManagementStatus, MrKind, MrMask } from '../../../protocol/layout/gen/values.gen.ts';
import { PAGE_SHIFT_MAX, PAGE_SHIFT_MIN } from '../memory/page-list.ts';
import type { DeviceMemoryRange } from '../protection/device-memory-range.ts';
import { DeviceMemoryRegion } from '../protection/device-memory-region.ts';
import { ALL_ACCESS, MemoryRegion, REMOTE_CHANGES } from '../protection/memory-region.ts';
import { OnDemandRegion } from '../protection/on-demand-region.ts';
import { reservedEntries } from '../protection/page-directory.ts';
import type { ProtectionDomain } from '../protection/protection-domain.ts';
import { capacities } from '../queues/object-tables.ts';
import type { CommandContext } from './command-context.ts';

const ALL_MASK = Object.values(MrMask).reduce((all, bit) => all | bit, 0);
const LIST_ALIGNMENT = 8;
/** Virtual addresses are exact Numbers. */
const ADDRESS_LIMIT = Number.MAX_SAFE_INTEGER;
/** Pages of a region registered by work request (max_fast_reg_page_list_len). */
export const FAST_PAGES_MAX = 512;
const NO_PAGES = new Float64Array(0);

const request: MrAttributes = newMrAttributes();
let requestedPages = NO_PAGES;

/** CREATE_MR: checks access rights and translation, and allocates the region with its keys. */
export function createMemoryRegion(context: CommandContext): ManagementStatus {
  decodeMrAttributes(context.command, context.payload, request);
  const pd = findDomain(context);
  if (pd === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, MR_ATTRIBUTES_PD_OFFSET);
  const status = checkAccess(context) || checkTranslation(context);
  if (status !== ManagementStatus.OK) return status;
  const region = addRegion(context, pd);
  if (region === undefined) return ManagementStatus.NO_RESOURCES;
  pd.references++;
  region.access = request.access;
  region.keyByte = request.keyByte;
  applyTranslation(region);
  context.objectNumber = region.number;
  describe(context, region);
  return ManagementStatus.OK;
}

/** IBTA 11.2.8.6: every attribute is checked before any is changed. */
export function modifyMemoryRegion(context: CommandContext): ManagementStatus {
  const region = find(context);
  if (region === undefined) return context.badObject();
  if (region.windows > 0) return ManagementStatus.IN_USE;
  decodeMrAttributes(context.command, context.payload, request);
  const mask = request.attributeMask;
  if ((mask & ~ALL_MASK) !== 0) return context.badField(MR_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, ALL_MASK);
  // Pages of an on-demand region are changed by commands of their own, and device memory stays.
  const isFixed = region instanceof OnDemandRegion || region instanceof DeviceMemoryRegion;
  if (isFixed && (mask & MrMask.TRANSLATION) !== 0) return ManagementStatus.UNSUPPORTED;
  const pd = mask & MrMask.PD ? findDomain(context) : region.pd;
  if (pd === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, MR_ATTRIBUTES_PD_OFFSET);
  if (mask & MrMask.ACCESS) {
    const status = checkAccess(context) || checkSameKind(context, region);
    if (status !== ManagementStatus.OK) return status;
  }
  if (mask & MrMask.TRANSLATION) {
    if (request.kind > MrKind.FAST) return context.badField(MR_ATTRIBUTES_KIND_OFFSET, MrKind.FAST);
    const status = checkTranslation(context);
    if (status !== ManagementStatus.OK) return status;
    context.issuer.translations.give(region.translationEntries);
    applyTranslation(region);
  }
  if (mask & MrMask.ACCESS) region.access = request.access;
  if (region instanceof OnDemandRegion) context.adapter.tables.keys.pageFaults.dropRegion(region);
  region.pd.references--;
  region.pd = pd;
  pd.references++;
  describe(context, region);
  return ManagementStatus.OK;
}

/** QUERY_MR: returns the attributes of the region. */
export function queryMemoryRegion(context: CommandContext): ManagementStatus {
  const region = find(context);
  if (region === undefined) return context.badObject();
  describe(context, region);
  return ManagementStatus.OK;
}

/** DESTROY_MR: frees a region to which no window is bound. */
export function destroyMemoryRegion(context: CommandContext): ManagementStatus {
  const region = find(context);
  if (region === undefined) return context.badObject();
  if (region.windows > 0) return ManagementStatus.IN_USE;
  region.pd.references--;
  const { memoryRegions, keys } = context.adapter.tables;
  memoryRegions.remove(region);
  if (region instanceof OnDemandRegion) keys.pageFaults.dropRegion(region);
  if (region instanceof DeviceMemoryRegion) region.release();
  return ManagementStatus.OK;
}

/** Allocates a region of the kind that was requested; undefined: there are no more. */
function addRegion(context: CommandContext, pd: ProtectionDomain): MemoryRegion | undefined {
  const { memoryRegions, keys } = context.adapter.tables;
  const range = findRange(context);
  return memoryRegions.add(context.issuer, (number) => {
    if (request.access & AccessFlag.ON_DEMAND) return new OnDemandRegion(number, pd, keys.pageFaults, reserve());
    return range === undefined
      ? new MemoryRegion(number, pd)
      : new DeviceMemoryRegion(number, pd, range, request.deviceMemoryOffset);
  });
}

/** The range of device memory of a region of kind DEVICE. */
function findRange(context: CommandContext): DeviceMemoryRange | undefined {
  if (request.kind !== MrKind.DEVICE) return undefined;
  return context.own(context.adapter.tables.deviceMemory.get(request.deviceMemory));
}

function find(context: CommandContext): MemoryRegion | undefined {
  return context.own(context.adapter.tables.memoryRegions.get(context.header.objectNumber));
}

function findDomain(context: CommandContext): ProtectionDomain | undefined {
  return context.own(context.adapter.tables.protectionDomains.get(request.pd));
}

function checkAccess(context: CommandContext): ManagementStatus {
  const { access } = request;
  if ((access & ~ALL_ACCESS) !== 0) return context.badField(MR_ATTRIBUTES_ACCESS_OFFSET, ALL_ACCESS);
  // Remote change without local write makes no sense and is refused (IBTA 10.6.3.1).
  if ((access & REMOTE_CHANGES) !== 0 && (access & AccessFlag.LOCAL_WRITE) === 0)
    return context.badField(MR_ATTRIBUTES_ACCESS_OFFSET);
  // Faults name virtual addresses.
  if ((access & AccessFlag.ON_DEMAND) !== 0 && (access & AccessFlag.ZERO_BASED) !== 0)
    return context.badField(MR_ATTRIBUTES_ACCESS_OFFSET);
  return ManagementStatus.OK;
}

/** A region stays on demand, or stays as it is. */
function checkSameKind(context: CommandContext, region: MemoryRegion): ManagementStatus {
  const isOnDemand = (request.access & AccessFlag.ON_DEMAND) !== 0;
  if (isOnDemand === region instanceof OnDemandRegion) return ManagementStatus.OK;
  return context.badField(MR_ATTRIBUTES_ACCESS_OFFSET);
}

function checkTranslation(context: CommandContext): ManagementStatus {
  requestedPages = NO_PAGES;
  if (request.access & AccessFlag.ON_DEMAND) return checkOnDemand(context);
  if (request.kind === MrKind.PHYSICAL) return ManagementStatus.OK;
  if (request.kind === MrKind.FAST) {
    if (request.pageCount < 1 || request.pageCount > FAST_PAGES_MAX)
      return context.badField(MR_ATTRIBUTES_PAGE_COUNT_OFFSET, FAST_PAGES_MAX);
    return context.takeTranslations(request.pageCount, MR_ATTRIBUTES_PAGE_COUNT_OFFSET);
  }
  if (request.kind === MrKind.DEVICE) return checkDeviceMemory(context);
  if (request.kind !== MrKind.PAGED) return context.badField(MR_ATTRIBUTES_KIND_OFFSET, MrKind.DEVICE);
  if (request.pageShift < PAGE_SHIFT_MIN || request.pageShift > PAGE_SHIFT_MAX)
    return context.badField(MR_ATTRIBUTES_PAGE_SHIFT_OFFSET, PAGE_SHIFT_MAX);
  if (request.pageCount === 0 || request.pageCount > capacities.pagesPerRegion)
    return context.badField(MR_ATTRIBUTES_PAGE_COUNT_OFFSET, capacities.pagesPerRegion);
  const pageBytes = 2 ** request.pageShift;
  const room = request.pageCount * pageBytes - (request.startAddress % pageBytes);
  if (request.length === 0 || request.length > room) return context.badField(MR_ATTRIBUTES_LENGTH_OFFSET, room);
  const status = checkStart(context);
  if (status !== ManagementStatus.OK) return status;
  if (request.pageListAddress % LIST_ALIGNMENT !== 0)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, MR_ATTRIBUTES_PAGE_LIST_ADDRESS_OFFSET);
  const pages = context.fetchPages(MR_ATTRIBUTES_PAGE_LIST_ADDRESS_OFFSET, MR_ATTRIBUTES_PAGE_COUNT_OFFSET, {
    address: request.pageListAddress,
    count: request.pageCount,
    pageShift: request.pageShift,
    indirect: request.indirect === 1,
  });
  if (typeof pages === 'number') return pages;
  requestedPages = pages;
  return ManagementStatus.OK;
}

/** An on-demand region begins without pages: there is no list. */
function checkOnDemand(context: CommandContext): ManagementStatus {
  if (request.kind !== MrKind.PAGED) return context.badField(MR_ATTRIBUTES_KIND_OFFSET, MrKind.PAGED);
  if (request.pageShift < PAGE_SHIFT_MIN || request.pageShift > PAGE_SHIFT_MAX)
    return context.badField(MR_ATTRIBUTES_PAGE_SHIFT_OFFSET, PAGE_SHIFT_MAX);
  if (request.length === 0 || request.length > ADDRESS_LIMIT)
    return context.badField(MR_ATTRIBUTES_LENGTH_OFFSET, ADDRESS_LIMIT);
  return checkStart(context) || context.takeTranslations(reserve(), MR_ATTRIBUTES_LENGTH_OFFSET);
}

/** Translation entries that the requested on-demand region has in any case. */
function reserve(): number {
  const pageBytes = 2 ** request.pageShift;
  const lastAddress = request.startAddress + request.length - 1;
  return reservedEntries(Math.floor(request.startAddress / pageBytes), Math.floor(lastAddress / pageBytes));
}

/** The region lies in a range of the function. It may be empty: pyverbs registers no bytes. */
function checkDeviceMemory(context: CommandContext): ManagementStatus {
  const range = findRange(context);
  if (range === undefined) return context.badPayload(ManagementStatus.BAD_OBJECT, MR_ATTRIBUTES_DEVICE_MEMORY_OFFSET);
  if (request.deviceMemoryOffset > range.lengthBytes)
    return context.badField(MR_ATTRIBUTES_DEVICE_MEMORY_OFFSET_OFFSET, range.lengthBytes);
  const room = range.lengthBytes - request.deviceMemoryOffset;
  if (request.length > room) return context.badField(MR_ATTRIBUTES_LENGTH_OFFSET, room);
  return checkStart(context);
}

function checkStart(context: CommandContext): ManagementStatus {
  const lastStart = ADDRESS_LIMIT - request.length;
  if (request.startAddress <= lastStart) return ManagementStatus.OK;
  return context.badField(MR_ATTRIBUTES_START_ADDRESS_OFFSET, lastStart);
}

function applyTranslation(region: MemoryRegion): void {
  region.kind = request.kind;
  region.startAddress = request.startAddress;
  region.length = request.length;
  region.pageShift = request.pageShift;
  region.pages = requestedPages;
  region.maxPages = request.kind === MrKind.FAST ? request.pageCount : 0;
  region.valid = request.kind !== MrKind.FAST;
}

function describe(context: CommandContext, region: MemoryRegion): void {
  request.pd = region.pd.number;
  request.kind = region.kind;
  request.access = region.access;
  request.startAddress = region.startAddress;
  request.length = region.length;
  request.pageListAddress = 0;
  request.deviceMemory = region instanceof DeviceMemoryRegion ? region.range.number : 0;
  request.deviceMemoryOffset = region instanceof DeviceMemoryRegion ? region.offset : 0;
  request.indirect = 0;
  request.pageCount = region.kind === MrKind.FAST ? region.maxPages : region.pages.length;
  request.pageShift = region.pageShift;
  request.keyByte = region.keyByte;
  request.lkey = region.key;
  request.rkey = region.key;
  request.attributeMask = 0;
  encodeMrAttributes(context.responseView, 0, request);
}
