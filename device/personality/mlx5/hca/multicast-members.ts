// SPDX-License-Identifier: Apache-2.0
/**
 * Multicast groups of the function: the QPs that receive the datagrams to a multicast GID (IBTA
 * 10.5.2). Commands name groups by their GID alone, so the LID of a packet does not matter. The
 * receiver and the sender of datagrams look groups up.
 */
import { type GroupLookup, type MulticastGroup, MulticastGroups } from '../../../hca/queues/multicast-groups.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { GROUP_MEMBERS, LOG_GROUPS } from './capabilities.ts';

/** Stands for all multicast LIDs. */
const ANY_LID = 0;
const GROUPS = 2 ** LOG_GROUPS;

export class MulticastMembers implements GroupLookup {
  #groups = newGroups();

  /** Groups with a member. */
  get count(): number {
    return this.#groups.count;
  }

  find(bytes: Uint8Array, offset: number): MulticastGroup | undefined {
    return this.#groups.find(bytes, offset, ANY_LID);
  }

  /**
   * Attaches a QP to a group; one that is attached stays so. Returns false when there are too many
   * groups, or QPs in the group.
   */
  attach(qp: QueuePair, mgid: Uint8Array): boolean {
    if (this.count === GROUPS && this.find(mgid, 0) === undefined) return false;
    return this.#groups.attach(qp, mgid, ANY_LID);
  }

  /** Returns false when the QP was not attached. */
  detach(qp: QueuePair, mgid: Uint8Array): boolean {
    return this.#groups.detach(qp, mgid, ANY_LID);
  }

  /** Detaches a QP that goes away from all groups. */
  drop(qp: QueuePair): void {
    this.#groups.drop(qp);
  }

  reset(): void {
    this.#groups = newGroups();
  }
}

function newGroups(): MulticastGroups {
  return new MulticastGroups(GROUPS * GROUP_MEMBERS, GROUP_MEMBERS, 1);
}
