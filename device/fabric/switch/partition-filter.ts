// SPDX-License-Identifier: Apache-2.0
/**
 * The P_Keys that pass a port of a switch which enforces partitions (IBTA 10.9.3, 18.2.4 and
 * 18.2.5). It is derived from the P_Key table of the port when a subnet manager has written that.
 * The relay of the switch asks it for each data packet.
 */
import { GID_SIZE } from '../../../protocol/infiniband/addresses.ts';
import { getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { GRH_DGID_OFFSET, GRH_SGID_OFFSET } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { PacketError } from '../../../protocol/infiniband/gen/values.gen.ts';
import { PKEY_FULL_MEMBER } from '../../../protocol/infiniband/keys.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import type { KeyViolation } from '../agents/trap-details.ts';
import type { PacketRing } from '../port/packet-ring.ts';

const PARTITIONS = 1 << 15;
const LIMITED = 1;
const FULL = 2;

const packet = newParsedPacket();

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

/**
 * The violation that trap 259 reports of the oldest packet of a ring (IBTA 14.2.5.1), which a port
 * has dropped because of its P_Key; undefined for a malformed packet. `Switch` reads it before the
 * packet is gone.
 */
export function readViolation({ view, bytes, readOffset, readLength }: PacketRing): KeyViolation | undefined {
  if (parsePacket(view, readOffset, readLength, packet, PacketCheck.NONE) !== PacketError.NONE) return undefined;
  const { slid, dlid, serviceLevel, destQpn, pKey: key, dethOffset, grhOffset } = packet;
  const sourceQpn = dethOffset < 0 ? 0 : getDethSrcQpn(view, dethOffset);
  const local = { slid, dlid, serviceLevel, sourceQpn, destQpn, key };
  if (grhOffset < 0) return local;
  const gidAt = (offset: number): Uint8Array => bytes.slice(grhOffset + offset, grhOffset + offset + GID_SIZE);
  return { ...local, sgid: gidAt(GRH_SGID_OFFSET), dgid: gidAt(GRH_DGID_OFFSET) };
}

function partitionOf(key: number): number {
  return key & (PARTITIONS - 1);
}
