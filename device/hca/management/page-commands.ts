// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands on pages of on-demand regions (docs/FEATURES.md, On-demand paging): make
 * pages present, refuse faults, take pages back. Data moves within one step of the adapter and
 * looks its pages up then, so no access is in flight when INVALIDATE_PAGES is answered.
 */
import { highDword, lowDword } from '../../../protocol/layout/dwords.ts';
import {
  decodePageRange,
  newPageRange,
  PAGE_RANGE_ADDRESS_OFFSET,
  PAGE_RANGE_LENGTH_OFFSET,
  PAGE_RANGE_PAGE_LIST_ADDRESS_OFFSET,
  type PageRange,
} from '../../../protocol/layout/gen/page-range.gen.ts';
import { ManagementStatus, PageFlag } from '../../../protocol/layout/gen/values.gen.ts';
import { Step } from '../function/timeline.ts';
import { readPageList } from '../memory/page-list.ts';
import { OnDemandRegion } from '../protection/on-demand-region.ts';
import type { CommandContext } from './command-context.ts';

const LIST_ALIGNMENT = 8;
/** Pages of one RESOLVE_PAGES: the list is read within one step. */
export const RESOLVED_PAGES_MAX = 4096;
const FLAGS = PageFlag.PRESENT | PageFlag.WRITABLE;

const request: PageRange = newPageRange();

/** RESOLVE_PAGES: the pages are present, or the faults on them are refused. */
export function resolvePages(context: CommandContext): ManagementStatus {
  const region = find(context);
  if (region === undefined) return context.badObject();
  decodePageRange(context.command, context.payload, request);
  const status = checkRange(context, region, RESOLVED_PAGES_MAX);
  if (status !== ManagementStatus.OK) return status;
  const first = region.pageOf(request.address);
  const count = region.pageOf(request.length);
  const resolved = request.refuse === 1 ? 0 : setPages(context, region, first, count);
  if (resolved === undefined)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, PAGE_RANGE_PAGE_LIST_ADDRESS_OFFSET);
  note(context, Step.PAGES_RESOLVED, resolved, request.refuse);
  context.issuer.counters.pagesResolved += resolved;
  context.adapter.tables.keys.pageFaults.answer(region, first, count, request.refuse === 1);
  return ManagementStatus.OK;
}

/** INVALIDATE_PAGES: the pages are no longer present. Faults on them stay to be answered. */
export function invalidatePages(context: CommandContext): ManagementStatus {
  const region = find(context);
  if (region === undefined) return context.badObject();
  decodePageRange(context.command, context.payload, request);
  const status = checkRange(context, region, Number.MAX_SAFE_INTEGER);
  if (status !== ManagementStatus.OK) return status;
  const taken = region.directory.clear(region.pageOf(request.address), region.pageOf(request.length));
  note(context, Step.PAGES_INVALIDATED, taken, 0);
  context.issuer.counters.pagesInvalidated += taken;
  return ManagementStatus.OK;
}

function find(context: CommandContext): OnDemandRegion | undefined {
  const region = context.own(context.adapter.tables.memoryRegions.get(context.header.objectNumber));
  return region instanceof OnDemandRegion ? region : undefined;
}

/** The range consists of whole pages, some of which the region has. */
function checkRange(context: CommandContext, region: OnDemandRegion, pagesMax: number): ManagementStatus {
  const pageBytes = 2 ** region.pageShift;
  const { address, length } = request;
  const lastPage = region.pageOf(region.startAddress + region.length - 1) * pageBytes;
  const isInside = address >= region.pageOf(region.startAddress) * pageBytes && address <= lastPage;
  if (address % pageBytes !== 0 || !isInside) return context.badField(PAGE_RANGE_ADDRESS_OFFSET, lastPage);
  const longest = Math.min(lastPage + pageBytes - address, pagesMax * pageBytes);
  if (length === 0 || length % pageBytes !== 0 || length > longest)
    return context.badField(PAGE_RANGE_LENGTH_OFFSET, longest);
  return ManagementStatus.OK;
}

/** Returns the number of pages that the list makes present; undefined when it is bad. */
function setPages(context: CommandContext, region: OnDemandRegion, first: number, count: number): number | undefined {
  if (request.pageListAddress % LIST_ALIGNMENT !== 0) return undefined;
  const list = readPageList(context.issuer.dma, request.pageListAddress, count);
  const pageBytes = 2 ** region.pageShift;
  if (list?.every((entry) => entry === 0 || isGood(entry, pageBytes)) !== true) return undefined;
  let resolved = 0;
  list.forEach((entry, index) => {
    if (entry === 0) return;
    region.directory.set(first + index, entry);
    resolved++;
  });
  return resolved;
}

function isGood(entry: number, pageBytes: number): boolean {
  return (entry % pageBytes) - (entry % (FLAGS + 1)) === 0 && (entry & PageFlag.PRESENT) !== 0;
}

function note({ issuer, header }: CommandContext, step: Step, pages: number, refused: number): void {
  const { address } = request;
  issuer.timeline?.note(
    step,
    issuer.number,
    header.objectNumber,
    lowDword(address),
    highDword(address),
    pages,
    refused,
  );
}
