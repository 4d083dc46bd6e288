// SPDX-License-Identifier: Apache-2.0
/**
 * A memory key: attributes, and a list that leads from its virtual addresses to guest memory, by
 * pages or by pieces of other keys. It moves bytes for those to whom `MemoryKeys` has granted an
 * access; that class also changes its attributes.
 */
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { KeyAccessMode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { type Dma, STORE_BYTES } from '../../../hca/function/dma.ts';
import type { FaultSubject } from '../../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import type { RegionPort } from '../../../hca/protection/key-lookup.ts';
import { PAGE_SIZES } from '../../../hca/protection/page-size.ts';
import type { WordBlock } from '../../../host.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import { isIndirect, type KeyAttributes, rightsOf } from './key-attributes.ts';
import { type Cursor, type KeyList, PageTable, PieceTable } from './key-lists.ts';

/** Follows pieces; `MemoryKeys` does it. */
export interface Pieces {
  /** Bytes from the place that `descend` found on that are contiguous there. */
  readonly contiguousBytes: number;
  /**
   * Moves the cursor from an address of `key` to that of the key beneath which has memory, and
   * returns that key; undefined when there is none, or when one on the way lacks `rights`.
   */
  descend(key: MemoryKey, cursor: Cursor, lengthBytes: number, rights: number): MemoryKey | undefined;
}

export class MemoryKey implements RegionPort {
  readonly owner: UnderlyingFunction;
  /** Upper 24 bits of the key. */
  readonly index: number;
  readonly attributes: KeyAttributes;
  /** `KeyRight` flags. */
  rights: number;
  readonly isIndirect: boolean;
  readonly #pages: PageTable | undefined;
  readonly #pieces: PieceTable | undefined;
  readonly #keys: Pieces;

  constructor(owner: UnderlyingFunction, keys: Pieces, index: number, attributes: KeyAttributes) {
    this.owner = owner;
    this.index = index;
    this.attributes = attributes;
    this.rights = rightsOf(attributes);
    this.isIndirect = isIndirect(attributes);
    this.#pages = attributes.accessMode10 === KeyAccessMode.PAGES ? new PageTable() : undefined;
    this.#pieces = this.isIndirect ? new PieceTable() : undefined;
    this.#keys = keys;
  }

  /** Its list; undefined where addresses are those of the bus. */
  get list(): KeyList | undefined {
    return this.#pages ?? this.#pieces;
  }

  /** True when a range lies in the key. V8 allocates an address that is an argument. */
  holds({ address }: Pick<Cursor, 'address'>, lengthBytes: number): boolean {
    const { startAddr, len, length64 } = this.attributes;
    return address >= startAddr && (length64 === 1 || address + lengthBytes <= startAddr + len);
  }

  /** On-demand keys are not there yet. */
  isPresent(): boolean {
    return true;
  }

  read(dma: Dma, subject: FaultSubject, lengthBytes: number, target: WordBlock, targetOffset: number): boolean {
    const { address } = dma;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#locate(dma.at(address + done), lengthBytes - done, KeyRight.LOCAL_READ);
      if (piece === 0) return this.#refuse(dma.at(address + done), subject, FaultKind.DMA_READ);
      if (!dma.readBlock(subject, piece, target, targetOffset + done)) return false;
      done += piece;
    }
    return true;
  }

  write(dma: Dma, subject: FaultSubject, lengthBytes: number, source: WordBlock, sourceOffset: number): boolean {
    const { address } = dma;
    for (let done = 0; done < lengthBytes; ) {
      const piece = this.#locate(dma.at(address + done), lengthBytes - done, KeyRight.LOCAL_WRITE);
      if (piece === 0) return this.#refuse(dma.at(address + done), subject, FaultKind.DMA_WRITE);
      if (!dma.writeBlock(subject, source, sourceOffset + done, piece)) return false;
      done += piece;
    }
    return true;
  }

  store(dma: Dma, subject: FaultSubject, source: WordBlock): boolean {
    const { address } = dma;
    const isWhole = this.#locate(dma, STORE_BYTES, KeyRight.LOCAL_WRITE) === STORE_BYTES;
    return isWhole ? dma.store(subject, source) : this.write(dma.at(address), subject, STORE_BYTES, source, 0);
  }

  /**
   * Moves the cursor from an address of this key, whose list has pieces, to the address in another
   * one. Returns the bytes from there on that are in the same piece; 0 when there is none.
   */
  enterPiece(cursor: Cursor): number {
    const pieces = this.#pieces as PieceTable;
    const { startAddr, accessMode10, logPageSize } = this.attributes;
    const { address } = cursor;
    if (accessMode10 === KeyAccessMode.KEYS) {
      cursor.at(address - startAddr);
      return pieces.find(cursor);
    }
    const pieceBytes = PAGE_SIZES[logPageSize];
    const piece = Math.floor(address / pieceBytes);
    const offset = address - piece * pieceBytes;
    return pieces.enter(cursor, piece - Math.floor(startAddr / pieceBytes), offset) ? pieceBytes - offset : 0;
  }

  /** The key of the piece that was entered last. */
  get enteredKey(): number {
    return (this.#pieces as PieceTable).key;
  }

  /**
   * Moves the cursor from a virtual address of this key, which has memory, to the guest address.
   * Returns how many of `lengthBytes` from there on are contiguous; 0 when the page is missing.
   */
  enterMemory(cursor: Cursor, lengthBytes: number): number {
    if (this.#pages === undefined) return lengthBytes;
    const { startAddr, logPageSize } = this.attributes;
    const { address } = cursor;
    const pageBytes = PAGE_SIZES[logPageSize];
    const page = Math.floor(address / pageBytes);
    const offset = address - page * pageBytes;
    const isThere = this.#pages.enter(cursor, page - Math.floor(startAddr / pageBytes), offset);
    return isThere ? Math.min(lengthBytes, pageBytes - offset) : 0;
  }

  /** As `enterMemory`, through keys beneath as well. */
  #locate(dma: Dma, lengthBytes: number, rights: number): number {
    if (!this.isIndirect) return this.enterMemory(dma, lengthBytes);
    const key = this.#keys.descend(this, dma, lengthBytes, rights);
    return key === undefined ? 0 : key.enterMemory(dma, this.#keys.contiguousBytes);
  }

  #refuse(dma: Dma, subject: FaultSubject, fault: FaultKind): boolean {
    this.owner.faults.report(fault, subject, dma.address);
    return false;
  }
}
