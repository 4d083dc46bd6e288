// SPDX-License-Identifier: Apache-2.0
/**
 * A table of contexts: the objects of one kind that the HCA owns, by number. The contexts
 * themselves are kept here; their entries in context memory only have to be mapped, as an original
 * device would write there. Commands check numbers with it.
 */
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { ContextMemory } from './context-memory.ts';

export class ContextTable<T> {
  readonly #icm: ContextMemory;
  readonly #entryBytes: number;
  readonly #reserved: number;
  readonly #objects = new Map<number, T>();
  #base = 0;
  #entries = 0;

  /** `reserved`: numbers of the firmware, from 0 on. */
  constructor(icm: ContextMemory, entryBytes: number, reserved: number) {
    this.#icm = icm;
    this.#entryBytes = entryBytes;
    this.#reserved = reserved;
  }

  get count(): number {
    return this.#objects.size;
  }

  /** Places the empty table. Returns false when it does not fit into context memory. */
  place(base: number, logEntries: number): boolean {
    this.#objects.clear();
    this.#base = base;
    this.#entries = 2 ** logEntries;
    return this.#icm.contains(base, this.#entries * this.#entryBytes);
  }

  clear(): void {
    this.#objects.clear();
    this.#entries = 0;
  }

  /** The place of a number in the table: numbers may have bits above its size. */
  indexOf(number: number): number {
    return this.#entries === 0 ? 0 : number % this.#entries;
  }

  /** True when the number is a place in the table itself. */
  hasIndex(index: number): boolean {
    return index < this.#entries;
  }

  get(number: number): T | undefined {
    return this.#objects.get(this.indexOf(number));
  }

  /** Why software may not use the entry at `index`; OK if it may. */
  check(index: number): CommandStatus {
    if (!this.hasIndex(index)) return CommandStatus.BAD_INDEX;
    if (index < this.#reserved) return CommandStatus.BAD_RESOURCE;
    const isMapped = this.#icm.isMapped(this.#base + index * this.#entryBytes, this.#entryBytes);
    return isMapped ? CommandStatus.OK : CommandStatus.BAD_RESOURCE;
  }

  /** As `check`, and the entry must be software's. */
  checkFree(index: number): CommandStatus {
    const status = this.check(index);
    if (status !== CommandStatus.OK) return status;
    return this.#objects.has(index) ? CommandStatus.BAD_RESOURCE_STATE : CommandStatus.OK;
  }

  set(number: number, object: T): void {
    this.#objects.set(this.indexOf(number), object);
  }

  delete(number: number): void {
    this.#objects.delete(this.indexOf(number));
  }

  values(): IterableIterator<T> {
    return this.#objects.values();
  }
}
