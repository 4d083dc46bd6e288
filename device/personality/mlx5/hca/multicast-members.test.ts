// SPDX-License-Identifier: Apache-2.0
/** Multicast groups: their members, and as many of both as the capabilities tell. */
import t from 'tap';
import { GID_SIZE } from '../../../../protocol/infiniband/addresses.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { GROUP_MEMBERS, LOG_GROUPS } from './capabilities.ts';
import { MulticastMembers } from './multicast-members.ts';

const owner = { number: 0 };
const makeQueuePair = (): QueuePair => ({ owner }) as QueuePair;

function mgidOf(group: number): Uint8Array {
  const mgid = new Uint8Array(GID_SIZE).fill(0xff, 0, 1);
  new DataView(mgid.buffer).setUint32(12, group);
  return mgid;
}

t.test('a group has the members that were attached, and goes with the last one', async (t) => {
  const groups = new MulticastMembers();
  const [first, second] = [makeQueuePair(), makeQueuePair()];
  const members = (group: number) => groups.find(mgidOf(group), 0)?.members;
  for (const qp of [first, second, first]) t.ok(groups.attach(qp, mgidOf(1)), 'again as well');
  t.ok(groups.attach(first, mgidOf(2)));
  t.same([members(1)?.length, members(2)?.length, members(3), groups.count], [2, 1, undefined, 2]);
  t.ok(groups.detach(first, mgidOf(1)));
  t.notOk(groups.detach(first, mgidOf(1)), 'once');
  t.equal(members(1)?.[0], second);
  groups.drop(first);
  t.same([members(2), groups.count], [undefined, 1]);
  groups.reset();
  t.same([members(1), groups.count], [undefined, 0]);
});

t.test('there are as many groups, and members of one, as the capabilities tell', async (t) => {
  const groups = new MulticastMembers();
  const qp = makeQueuePair();
  const attached = Array.from({ length: 2 ** LOG_GROUPS }, (_, group) => groups.attach(qp, mgidOf(group)));
  t.ok(attached.every((isAttached) => isAttached));
  t.notOk(groups.attach(qp, mgidOf(2 ** LOG_GROUPS)), 'one group more');
  const others = Array.from({ length: GROUP_MEMBERS }, () => groups.attach(makeQueuePair(), mgidOf(0)));
  t.same([others.filter((isAttached) => isAttached).length, others.at(-1)], [GROUP_MEMBERS - 1, false]);
  t.ok(groups.attach(makeQueuePair(), mgidOf(1)), 'another group has room');
});
