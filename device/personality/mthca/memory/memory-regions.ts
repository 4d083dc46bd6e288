// SPDX-License-Identifier: Apache-2.0
/**
 * Memory regions: the memory protection table, and the keys that name its entries. Event queues,
 * CQs and work queues find guest addresses here; scatter/gather lists and packets use `RegionKeys`
 * (region-keys.ts).
 */
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { MPT_ENTRY_SIZE, type MptEntry } from '../../../../protocol/mthca/gen/mpt-entry.gen.ts';
import { MTT_ENTRY_SIZE } from '../../../../protocol/mthca/gen/mtt-entry.gen.ts';
import { type FaultSubject, PAGE_LIST } from '../../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import type { ContextMemory } from './context-memory.ts';
import { ContextTable } from './context-table.ts';
import type { Region } from './region.ts';

const KEY_INDEX_BITS = 24;

/** The number of the entry that a key names: keys are numbers, rotated left by 8 bits. */
function keyToNumber(key: number): number {
  return ((key >>> 8) | (key << KEY_INDEX_BITS)) >>> 0;
}

export class MemoryRegions {
  readonly table: ContextTable<Region>;
  /** Guest address that `translate` found. */
  address = 0;
  /** Bytes from there on that are contiguous in guest memory, at most those asked for. */
  contiguousBytes = 0;
  readonly #icm: ContextMemory;
  readonly owner: UnderlyingFunction;

  constructor(icm: ContextMemory, owner: UnderlyingFunction, reserved: number) {
    this.#icm = icm;
    this.owner = owner;
    this.table = new ContextTable(icm, MPT_ENTRY_SIZE, reserved);
  }

  /** Why the whole range may not be accessed; NONE if it may. Reads no translation entry. */
  check(key: number, pd: number, rights: number, start: number, lengthBytes: number): FaultKind {
    const region = this.find(key);
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
    const { dma } = this.owner;
    const region = this.find(key) as Region;
    this.contiguousBytes = region.locate(dma.at(start), subject, lengthBytes);
    this.address = dma.address;
    return this.contiguousBytes === 0 ? FaultKind.DMA_READ : FaultKind.NONE;
  }

  /** True when the translation entries of a region lie in context memory. */
  fits(entry: Readonly<MptEntry>, pageBytes: number): boolean {
    const pages = Math.ceil(((entry.start % pageBytes) + entry.length) / pageBytes);
    return entry.translation % MTT_ENTRY_SIZE === 0 && this.#icm.contains(entry.translation, pages * MTT_ENTRY_SIZE);
  }

  /** The region that a key names. */
  find(key: number): Region | undefined {
    const number = keyToNumber(key);
    const region = this.table.get(number);
    return region !== undefined && region.entry.key === number ? region : undefined;
  }
}
