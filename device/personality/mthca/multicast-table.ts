// SPDX-License-Identifier: Apache-2.0
/**
 * The multicast table: entries of a hash table that software chains itself (READ_MGM, WRITE_MGM,
 * MGID_HASH). The lower half is reached by hash, the upper half by chains. Entries of zeros take no
 * space.
 */
import { GROUP_ENTRY_SIZE } from '../../../protocol/mthca/gen/group-entry.gen.ts';

const WORD_BYTES = 2;
const GID_BYTES = 16;

export class MulticastTable {
  #entries = 0;
  #hashSize = 0;
  readonly #groups = new Map<number, Uint8Array>();

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
    else target.set(group);
  }

  write(index: number, source: Uint8Array): void {
    const group = source.slice(0, GROUP_ENTRY_SIZE);
    if (group.some((byte) => byte !== 0)) this.#groups.set(index, group);
    else this.#groups.delete(index);
  }

  /** Index at which software begins to look for a GID. */
  hash(gid: Uint8Array): number {
    let sum = 0;
    for (let at = 0; at < GID_BYTES; at += WORD_BYTES) sum ^= (gid[at] << 8) | gid[at + 1];
    return this.#hashSize === 0 ? 0 : sum % this.#hashSize;
  }
}
