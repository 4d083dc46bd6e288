// SPDX-License-Identifier: Apache-2.0
/**
 * Multicast groups of an adapter: which queue pairs receive the datagrams to a multicast GID and
 * LID (IBTA 10.5.2). Management attaches and detaches queue pairs, the receiver and the sender look
 * groups up. Every function has an equal quota of attachments.
 */
import { GID_SIZE, gidsEqual } from '../../../protocol/infiniband/addresses.ts';
import type { QueuePair } from './queue-pair.ts';

const BUCKETS = 256;
/** Bytes of a GID that differ from group to group. */
const HASHED_FROM = 8;

export class MulticastGroup {
  readonly mgid: Uint8Array;
  readonly mlid: number;
  /** In the order of their attachment. */
  readonly members: QueuePair[] = [];

  constructor(mgid: Uint8Array, mlid: number) {
    this.mgid = mgid;
    this.mlid = mlid;
  }
}

/** Groups as sender and receiver of packets see them. */
export interface GroupLookup {
  /** The group with the GID at `offset` and this LID, if a queue pair is attached to it. */
  find(bytes: Uint8Array, offset: number, mlid: number): { readonly members: readonly QueuePair[] } | undefined;
}

export class MulticastGroups implements GroupLookup {
  /** Most attachments of a function, and most of its queue pairs in one group. */
  readonly quota: number;
  readonly perGroup: number;
  readonly #buckets: MulticastGroup[][] = Array.from({ length: BUCKETS }, () => []);
  readonly #groupsOf = new Map<QueuePair, MulticastGroup[]>();
  /** Groups with a member. */
  count = 0;
  /** Attachments by function. */
  readonly #attached: Int32Array;

  constructor(quota: number, perGroup: number, functionCount: number) {
    this.quota = quota;
    this.perGroup = perGroup;
    this.#attached = new Int32Array(functionCount);
  }

  find(bytes: Uint8Array, offset: number, mlid: number): MulticastGroup | undefined {
    const bucket = this.#buckets[bucketOf(bytes, offset)];
    for (let index = 0; index < bucket.length; index++) {
      const group = bucket[index];
      if (group.mlid === mlid && gidsEqual(group.mgid, 0, bytes, offset)) return group;
    }
    return undefined;
  }

  /** The groups of a queue pair, in the order of their attachment. */
  groupsOf(qp: QueuePair): readonly MulticastGroup[] {
    return this.#groupsOf.get(qp) ?? [];
  }

  /**
   * Attaches a queue pair; one that is attached stays so. Returns false when the function has
   * reached a limit.
   */
  attach(qp: QueuePair, mgid: Uint8Array, mlid: number): boolean {
    const found = this.find(mgid, 0, mlid);
    if (found?.members.includes(qp)) return true;
    const { owner } = qp;
    if (this.#attached[owner.number] >= this.quota) return false;
    const own = found?.members.filter((member) => member.owner === owner).length ?? 0;
    if (own >= this.perGroup) return false;
    const group = found ?? this.#create(mgid, mlid);
    group.members.push(qp);
    this.#attached[owner.number]++;
    const groups = this.#groupsOf.get(qp);
    if (groups === undefined) this.#groupsOf.set(qp, [group]);
    else groups.push(group);
    return true;
  }

  /** Detaches a queue pair. Returns false when it was not attached. */
  detach(qp: QueuePair, mgid: Uint8Array, mlid: number): boolean {
    const group = this.groupsOf(qp).find((each) => each.mlid === mlid && gidsEqual(each.mgid, 0, mgid, 0));
    if (group === undefined) return false;
    this.#leave(qp, group);
    return true;
  }

  /** Detaches a queue pair, which is about to be destroyed, from all groups. */
  drop(qp: QueuePair): void {
    for (const group of [...this.groupsOf(qp)]) this.#leave(qp, group);
  }

  #create(mgid: Uint8Array, mlid: number): MulticastGroup {
    const group = new MulticastGroup(mgid.slice(0, GID_SIZE), mlid);
    this.#buckets[bucketOf(mgid, 0)].push(group);
    this.count++;
    return group;
  }

  #leave(qp: QueuePair, group: MulticastGroup): void {
    remove(group.members, qp);
    if (group.members.length === 0) {
      remove(this.#buckets[bucketOf(group.mgid, 0)], group);
      this.count--;
    }
    const groups = this.#groupsOf.get(qp) ?? [];
    remove(groups, group);
    if (groups.length === 0) this.#groupsOf.delete(qp);
    this.#attached[qp.owner.number]--;
  }
}

/** True when a queue pair of the function is attached; of any function when it is negative. */
export function hasMemberOf({ members }: { readonly members: readonly QueuePair[] }, functionNumber: number): boolean {
  if (functionNumber < 0) return true;
  for (let index = 0; index < members.length; index++) if (members[index].owner.number === functionNumber) return true;
  return false;
}

function bucketOf(bytes: Uint8Array, offset: number): number {
  let hash = 0;
  for (let index = HASHED_FROM; index < GID_SIZE; index++) hash = (hash * 31 + bytes[offset + index]) % BUCKETS;
  return hash;
}

function remove<T>(list: T[], item: T): void {
  const index = list.indexOf(item);
  if (index >= 0) list.splice(index, 1);
}
