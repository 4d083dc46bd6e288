// SPDX-License-Identifier: Apache-2.0
/**
 * The present pages of an on-demand region (docs/FEATURES.md, On-demand paging): tables of 512
 * entries, made when their first page becomes present. A directory is a cache of what software
 * knows, so it is bounded: when it is full, or when the function has no translation entries for
 * another table, the oldest table goes and its pages fault again. An entry is a page address with
 * page-flag bits; 0 is a page that is not present.
 */
import type { TranslationEntries } from '../function/translation-entries.ts';

const TABLE_ENTRIES = 512;
/** As many pages as a region with a list of pages may have: 4 GiB in pages of 4 KiB. */
export const TABLES_MAX = 2048;
/**
 * Tables for which every region has translation entries: an access of one packet finds its pages in
 * two, and must find them together.
 */
const TABLES_RESERVED = 2;

/** Translation entries of a region that has not more than these: they are never too few. */
export function reservedEntries(firstPage: number, lastPage: number): number {
  const tables = Math.floor(lastPage / TABLE_ENTRIES) - Math.floor(firstPage / TABLE_ENTRIES) + 1;
  return Math.min(tables, TABLES_RESERVED) * TABLE_ENTRIES;
}

export class PageDirectory {
  readonly #tables = new Map<number, Float64Array>();
  readonly #translations: TranslationEntries;
  readonly #reserved: number;

  /** `reserved`: translation entries that were taken for the directory, as `reservedEntries`. */
  constructor(translations: TranslationEntries, reserved: number) {
    this.#translations = translations;
    this.#reserved = reserved;
  }

  /** Translation entries that it holds. */
  get entries(): number {
    return Math.max(this.#reserved, this.size * TABLE_ENTRIES);
  }

  /** Tables in use. */
  get size(): number {
    return this.#tables.size;
  }

  /** Returns the entry of a page, which is numbered by its virtual address. */
  get(page: number): number {
    const table = this.#tables.get(Math.floor(page / TABLE_ENTRIES));
    return table === undefined ? 0 : table[page % TABLE_ENTRIES];
  }

  set(page: number, entry: number): void {
    const index = Math.floor(page / TABLE_ENTRIES);
    let table = this.#tables.get(index);
    if (table === undefined) {
      this.#makeRoom();
      table = new Float64Array(TABLE_ENTRIES);
      this.#tables.set(index, table);
    }
    table[page % TABLE_ENTRIES] = entry;
  }

  /** Takes `count` pages from `first` on back. Returns how many of them were present. */
  clear(first: number, count: number): number {
    const end = first + count;
    let cleared = 0;
    for (const [index, table] of this.#tables) {
      const base = index * TABLE_ENTRIES;
      const from = Math.max(first - base, 0);
      const to = Math.min(end - base, TABLE_ENTRIES);
      if (from >= to) continue;
      for (let place = from; place < to; place++) if (table[place] !== 0) cleared++;
      if (from === 0 && to === TABLE_ENTRIES) this.#drop(index);
      else table.fill(0, from, to);
    }
    return cleared;
  }

  /** Room for one more table, for which translation entries are reserved, taken, or given up. */
  #makeRoom(): void {
    const isReserved = (this.size + 1) * TABLE_ENTRIES <= this.#reserved;
    if (isReserved || (this.size < TABLES_MAX && this.#translations.take(TABLE_ENTRIES))) return;
    for (const index of this.#tables.keys()) {
      this.#tables.delete(index);
      return;
    }
  }

  #drop(index: number): void {
    const before = this.entries;
    this.#tables.delete(index);
    this.#translations.give(before - this.entries);
  }
}
