// SPDX-License-Identifier: Apache-2.0
/**
 * Memory regions: the memory protection table, and translation through the entries that software
 * keeps in context memory. Software writes translation entries without a command, so each access
 * reads them. Event queues use it; work queues and packets will.
 */

import { joinDwords } from '../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { ICM_PAGE_BYTES } from '../../../protocol/mthca/gen/constants.gen.ts';
import { MPT_ENTRY_SIZE, type MptEntry } from '../../../protocol/mthca/gen/mpt-entry.gen.ts';
import {
  getMttEntryPageHigh,
  getMttEntryPageLow,
  getMttEntryPresent,
  MTT_ENTRY_SIZE,
} from '../../../protocol/mthca/gen/mtt-entry.gen.ts';
import type { Dma } from '../../function/dma.ts';
import { type FaultSubject, PAGE_LIST } from '../../function/fault-log.ts';
import { type ContextMemory, NOT_MAPPED } from './context-memory.ts';
import { ContextTable } from './context-table.ts';

/** Rights of an access, as flags. */
export const RegionAccess = { LOCAL_READ: 1, LOCAL_WRITE: 2, REMOTE_READ: 4, REMOTE_WRITE: 8, ATOMIC: 16 } as const;

/** An entry that the HCA owns. */
export interface Region {
  readonly entry: Readonly<MptEntry>;
  /** `RegionAccess` flags. */
  readonly rights: number;
  readonly pageBytes: number;
}

const KEY_INDEX_BITS = 24;

/** The number of the entry that a key names: keys are numbers, rotated left by 8 bits. */
export function keyToNumber(key: number): number {
  return ((key >>> 8) | (key << KEY_INDEX_BITS)) >>> 0;
}

export class MemoryRegions {
  readonly table: ContextTable<Region>;
  /** Guest address that `translate` found. */
  address = 0;
  /** Bytes from there on that are contiguous in guest memory, at most those asked for. */
  contiguousBytes = 0;
  readonly #icm: ContextMemory;
  readonly #dma: Dma;
  readonly #entry = new Uint8Array(MTT_ENTRY_SIZE);
  readonly #view = new DataView(this.#entry.buffer);

  constructor(icm: ContextMemory, dma: Dma, reserved: number) {
    this.#icm = icm;
    this.#dma = dma;
    this.table = new ContextTable(icm, MPT_ENTRY_SIZE, reserved);
  }

  /** Why the whole range may not be accessed; NONE if it may. Reads no translation entry. */
  check(key: number, pd: number, rights: number, start: number, lengthBytes: number): FaultKind {
    const region = this.#find(key);
    if (region === undefined) return FaultKind.KEY_INVALID;
    const { entry } = region;
    if (entry.pd !== pd) return FaultKind.KEY_PD;
    if ((region.rights & rights) !== rights) return FaultKind.KEY_ACCESS;
    if (start < entry.start || start + lengthBytes > entry.start + entry.length) return FaultKind.KEY_BOUNDS;
    return FaultKind.NONE;
  }

  /**
   * Finds the guest address of `start` in `address` and `contiguousBytes`. Returns the fault, or
   * NONE. `subject` is the object that reads the translation entry.
   */
  translate(
    key: number,
    pd: number,
    rights: number,
    start: number,
    lengthBytes: number,
    subject: FaultSubject = PAGE_LIST,
  ): FaultKind {
    const fault = this.check(key, pd, rights, start, lengthBytes);
    if (fault !== FaultKind.NONE) return fault;
    const region = this.#find(key) as Region;
    if (region.entry.physical === 1) {
      this.address = start;
      this.contiguousBytes = lengthBytes;
      return FaultKind.NONE;
    }
    const { pageBytes, entry } = region;
    const page = Math.floor(start / pageBytes) - Math.floor(entry.start / pageBytes);
    const base = this.#readPage(entry.translation + page * MTT_ENTRY_SIZE, subject);
    if (base === NOT_MAPPED) return FaultKind.DMA_READ;
    const inPage = start % pageBytes;
    this.address = base + inPage;
    this.contiguousBytes = Math.min(lengthBytes, pageBytes - inPage);
    return FaultKind.NONE;
  }

  /** True when the translation entries of the region lie in context memory. */
  fits(entry: Readonly<MptEntry>, pageBytes: number): boolean {
    const pages = Math.ceil(((entry.start % pageBytes) + entry.length) / pageBytes);
    return entry.translation % MTT_ENTRY_SIZE === 0 && this.#icm.contains(entry.translation, pages * MTT_ENTRY_SIZE);
  }

  #find(key: number): Region | undefined {
    const number = keyToNumber(key);
    const region = this.table.get(number);
    return region !== undefined && region.entry.key === number ? region : undefined;
  }

  /** The guest address in a translation entry, or NOT_MAPPED. */
  #readPage(address: number, subject: FaultSubject): number {
    const at = this.#icm.resolve(address);
    if (at === NOT_MAPPED || !this.#dma.at(at).read(subject, MTT_ENTRY_SIZE, this.#entry, 0)) return NOT_MAPPED;
    if (getMttEntryPresent(this.#view, 0) === 0) return NOT_MAPPED;
    return joinDwords(getMttEntryPageLow(this.#view, 0) * ICM_PAGE_BYTES, getMttEntryPageHigh(this.#view, 0));
  }
}
