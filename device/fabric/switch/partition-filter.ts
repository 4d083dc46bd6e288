// SPDX-License-Identifier: Apache-2.0
/**
 * The P_Keys that pass a port of a switch which enforces partitions (InfiniBand specification,
 * 10.9.3, 18.2.4 and 18.2.5). It is derived from the P_Key table of the port when a subnet manager
 * has written that. The relay of the switch asks it for each data packet.
 */
import { PKEY_FULL_MEMBER } from '../../../protocol/infiniband/keys.ts';

const PARTITIONS = 1 << 15;
const LIMITED = 1;
const FULL = 2;

export class PartitionFilter {
  /** The P_Key table of the port. Zero entries are empty. */
  readonly #keys: Uint16Array;
  /** Memberships by partition, and the keys that they come from; made when first needed. */
  #members: Uint8Array | undefined = undefined;
  #known = new Uint16Array(0);
  #stale = true;

  constructor(keys: Uint16Array) {
    this.#keys = keys;
  }

  /** The table may have changed. */
  invalidate(): void {
    this.#stale = true;
  }

  /** True when the table has a P_Key that matches this one of a packet. */
  accepts(key: number): boolean {
    if (this.#stale) this.#read();
    const member = this.#members?.[partitionOf(key)] ?? 0;
    return (key & PKEY_FULL_MEMBER) !== 0 ? member !== 0 : (member & FULL) !== 0;
  }

  #read(): void {
    this.#stale = false;
    this.#members ??= new Uint8Array(PARTITIONS);
    const members = this.#members;
    for (const key of this.#known) members[partitionOf(key)] = 0;
    this.#known = this.#keys.slice();
    for (const key of this.#known) members[partitionOf(key)] |= key & PKEY_FULL_MEMBER ? FULL : LIMITED;
    members[0] = 0;
  }
}

function partitionOf(key: number): number {
  return key & (PARTITIONS - 1);
}
