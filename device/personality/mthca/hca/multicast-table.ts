// SPDX-License-Identifier: Apache-2.0
/**
 * The multicast table: entries of a hash table that software chains itself (READ_MGM, WRITE_MGM,
 * MGID_HASH). The lower half is reached by hash, the upper half by chains. Entries of zeros take no
 * space.
 */
import { GID_SIZE } from '../../../../protocol/infiniband/addresses.ts';
import { GROUP_ENTRY_SIZE } from '../../../../protocol/mthca/gen/group-entry.gen.ts';

const WORD_BYTES = 2;

export interface GroupEntry {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

export class MulticastTable {
  #entries = 0;
  #hashSize = 0;
  readonly #groups = new Map<number, GroupEntry>();

  /** Entries that are not zero. */
  get count(): number {
    return this.#groups.size;
  }

  /** Sizes the empty table; zeros: there is none. */
  place(entries: number, hashSize: number): void {
    this.#groups.clear();
    this.#entries = entries;
    this.#hashSize = hashSize;
  }

  has(index: number): boolean {
    return index < this.#entries;
  }

  /** Copies an entry. */
  read(index: number, target: Uint8Array): void {
    const group = this.#groups.get(index);
    if (group === undefined) target.fill(0, 0, GROUP_ENTRY_SIZE);
    else target.set(group.bytes);
  }

  write(index: number, source: Uint8Array): void {
    const bytes = source.slice(0, GROUP_ENTRY_SIZE);
    if (bytes.some((byte) => byte !== 0)) this.#groups.set(index, { bytes, view: new DataView(bytes.buffer) });
    else this.#groups.delete(index);
  }

  /** An entry that is not zero. */
  get(index: number): GroupEntry | undefined {
    return this.#groups.get(index);
  }

  /** Index at which software begins to look for the GID at `offset`. */
  hash(gid: Uint8Array, offset = 0): number {
    let sum = 0;
    for (let at = offset; at < offset + GID_SIZE; at += WORD_BYTES) sum ^= (gid[at] << 8) | gid[at + 1];
    return this.#hashSize === 0 ? 0 : sum % this.#hashSize;
  }
}
