// SPDX-License-Identifier: Apache-2.0
/**
 * The QPs that receive the datagrams to a multicast GID (IBTA 10.5.2), as software has written them
 * into the multicast table. The receiver and the sender of datagrams look groups up. The table has
 * no LIDs: the GID alone names a group.
 */
import { gidsEqual } from '../../../protocol/infiniband/addresses.ts';
import { GROUP_MEMBERS } from '../../../protocol/mthca/gen/constants.gen.ts';
import {
  GROUP_ENTRY_GID_OFFSET,
  GROUP_ENTRY_MEMBERS_OFFSET,
  getGroupEntryNext,
} from '../../../protocol/mthca/gen/group-entry.gen.ts';
import {
  GROUP_MEMBER_SIZE,
  getGroupMemberQpn,
  getGroupMemberValid,
} from '../../../protocol/mthca/gen/group-member.gen.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import type { GroupEntry, MulticastTable } from './hca/multicast-table.ts';

/** Entries of a chain that are followed: software may have chained them in a circle. */
const CHAIN_MAX = 256;

/** The queue pairs of the transport by number. */
interface QueuePairLookup {
  get(qpn: number): QueuePair | undefined;
}

export class GroupMembers {
  readonly #table: MulticastTable;
  readonly #queuePairs: QueuePairLookup;
  /** The group that was found last. */
  readonly #found: { readonly members: QueuePair[] } = { members: [] };

  constructor(table: MulticastTable, queuePairs: QueuePairLookup) {
    this.#table = table;
    this.#queuePairs = queuePairs;
  }

  /** The members of the group with the GID at `offset`; valid until the next call. */
  find(bytes: Uint8Array, offset: number): { readonly members: readonly QueuePair[] } | undefined {
    const entry = this.#findEntry(bytes, offset);
    if (entry === undefined) return undefined;
    const { members } = this.#found;
    members.length = 0;
    const { view } = entry;
    for (let index = 0; index < GROUP_MEMBERS; index++) {
      const at = GROUP_ENTRY_MEMBERS_OFFSET + index * GROUP_MEMBER_SIZE;
      if (getGroupMemberValid(view, at) === 0) continue;
      const qp = this.#queuePairs.get(getGroupMemberQpn(view, at));
      if (qp !== undefined) members.push(qp);
    }
    return members.length === 0 ? undefined : this.#found;
  }

  #findEntry(bytes: Uint8Array, offset: number): GroupEntry | undefined {
    let index = this.#table.hash(bytes, offset);
    for (let steps = 0; steps < CHAIN_MAX; steps++) {
      const entry = this.#table.get(index);
      if (entry === undefined || gidsEqual(entry.bytes, GROUP_ENTRY_GID_OFFSET, bytes, offset)) return entry;
      index = getGroupEntryNext(entry.view, 0);
      if (index === 0) return undefined;
    }
    return undefined;
  }
}
