// SPDX-License-Identifier: Apache-2.0
/**
 * Long page lists of few guest pages: every entry of a list names one page, and every list page of
 * an indirect list is the same one. Tests of the bounds of management commands use it.
 */
import { PAGE_BYTES } from '../../protocol/layout/gen/constants.gen.ts';
import type { MrAttributes } from '../../protocol/layout/gen/mr-attributes.gen.ts';
import { MrKind } from '../../protocol/layout/gen/values.gen.ts';
import type { Driver } from '../hosts/in-process/driver/driver.ts';

const ENTRY_BYTES = 8;
/** Entries in a page of a list. */
export const LIST_ENTRIES = PAGE_BYTES / ENTRY_BYTES;
const PAGE_SHIFT = 12;

/** A list of `count` entries that all name `page`. Returns its address. */
export function writeSameList(driver: Driver, count: number, page: number): number {
  const list = driver.allocator.allocate(count * ENTRY_BYTES, PAGE_BYTES);
  const view = driver.access.view(list, count * ENTRY_BYTES);
  for (let index = 0; index < count; index++) view.setBigUint64(index * ENTRY_BYTES, BigInt(page), true);
  return list;
}

/** Attributes of a region of up to 2^20 pages: each of them is one page, and so is its list. */
export class SamePages {
  /** The page that all entries name, and the list page that all entries of the directory name. */
  readonly page: number;
  readonly list: number;
  readonly directory: number;

  constructor(driver: Driver) {
    this.page = driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
    this.list = writeSameList(driver, LIST_ENTRIES, this.page);
    this.directory = writeSameList(driver, 2 ** 20 / LIST_ENTRIES, this.list);
  }

  region(pd: number, pageCount: number): Partial<MrAttributes> {
    return {
      pd,
      kind: MrKind.PAGED,
      access: 0,
      startAddress: 0,
      length: pageCount * PAGE_BYTES,
      pageShift: PAGE_SHIFT,
      pageCount,
      pageListAddress: this.directory,
      indirect: 1,
    };
  }
}
