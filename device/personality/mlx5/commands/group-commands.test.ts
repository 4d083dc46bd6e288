// SPDX-License-Identifier: Apache-2.0
/**
 * QPs of multicast groups: attached, found by the transport whatever the LID, detached; as many as
 * the capabilities tell; every wrong field refused.
 */
import t from 'tap';
import { GID_SIZE } from '../../../../protocol/infiniband/addresses.ts';
import { ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { Random } from '../../../random.ts';
import { type Mlx5Command, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { type FieldWalk, walkFields, walkLengths } from '../../../rig/mlx5/fields/field-walk.ts';
import type { Mlx5QueuePair } from '../queues/queue-pair.ts';

const { OK, BAD_PARAMETER, BAD_RESOURCE, BAD_RESOURCE_STATE, BAD_SYSTEM_STATE, NO_RESOURCES } = CommandStatus;
const { ATTACH_TO_MCG, DETACH_FROM_MCG } = CommandOpcode;
const BODY = 0x10;
const FIRST_QPN = 0x40;
const CONNECTED_QPN = 0x3f;

/** A running device with `count` datagram queue pairs from FIRST_QPN on, and a connected one. */
function start(count: number) {
  const driver = new Mlx5Driver();
  driver.start();
  const { hca } = driver.device;
  const make = (number: number, serviceType: number) => ({ number, serviceType, owner: hca.underlying }) as QueuePair;
  const qps = Array.from({ length: count }, (_, index) => make(FIRST_QPN + index, ServiceType.UD));
  const connected = make(CONNECTED_QPN, ServiceType.RC);
  const byNumber = new Map([...qps, connected].map((qp) => [qp.number, { qp } as Mlx5QueuePair]));
  hca.queuePairs.get = (qpn) => byNumber.get(qpn);
  const members = (mgid: Uint8Array) => hca.groups.find(Uint8Array.of(0, ...mgid), 1)?.members.map((qp) => qp.number);
  return { driver, groups: hca.groups, qps, members };
}

/** The GID of group `number`. */
function gidOf(number: number): Uint8Array {
  const gid = new Uint8Array(GID_SIZE);
  gid.set([0xff, 0x12, 0xa0, 0x1b]);
  new DataView(gid.buffer).setUint32(12, number);
  return gid;
}

function naming(qpn: number, mgid: Uint8Array): Mlx5Command {
  return {
    inputBytes: BODY + GID_SIZE,
    fill: (view) => {
      view.setUint32(8, qpn);
      new Uint8Array(view.buffer, BODY, GID_SIZE).set(mgid);
    },
  };
}

t.test('attached and detached, in any number of groups', async (t) => {
  const { driver, members, groups } = start(2);
  const status = (opcode: number, qpn: number, group: number): number =>
    driver.command(opcode, naming(qpn, gidOf(group))).status;
  t.equal(members(gidOf(1)), undefined);
  t.same(
    [status(ATTACH_TO_MCG, 0x40, 1), status(ATTACH_TO_MCG, 0x41, 1), status(ATTACH_TO_MCG, 0x40, 2)],
    [OK, OK, OK],
  );
  t.same([members(gidOf(1)), members(gidOf(2)), groups.count], [[0x40, 0x41], [0x40], 2]);
  t.equal(status(ATTACH_TO_MCG, 0x40, 1), OK, 'it stays attached');
  t.same(members(gidOf(1)), [0x40, 0x41], 'once');
  t.equal(status(DETACH_FROM_MCG, 0x40, 1), OK);
  t.equal(status(DETACH_FROM_MCG, 0x40, 1), BAD_RESOURCE_STATE, 'it was not attached');
  t.equal(status(DETACH_FROM_MCG, 0x41, 2), BAD_RESOURCE_STATE);
  t.same([members(gidOf(1)), members(gidOf(2))], [[0x41], [0x40]]);
});

t.test('as many groups, and QPs in one, as the capabilities tell', async (t) => {
  const page = new Mlx5Driver();
  page.start();
  const view = page.expect(CommandOpcode.QUERY_HCA_CAP, { modifier: 1, outputBytes: 0x1010 });
  const [groupLimit, memberLimit] = [2 ** view.getUint8(BODY + 0x63), view.getUint32(BODY + 0x5c) & 0x1ffffff];
  t.ok(groupLimit > 0 && memberLimit > 0);
  const { driver, groups, qps } = start(memberLimit + 1);
  const attach = (qpn: number, group: number): number =>
    driver.command(ATTACH_TO_MCG, naming(qpn, gidOf(group))).status;
  for (const qp of qps.slice(0, memberLimit)) groups.attach(qp, gidOf(0));
  t.equal(groups.find(gidOf(0), 0)?.members.length, memberLimit);
  t.equal(attach(FIRST_QPN + memberLimit, 0), NO_RESOURCES, 'the group is full');
  for (let group = 1; group < groupLimit; group++) groups.attach(qps[0], gidOf(group));
  t.equal(groups.count, groupLimit);
  t.equal(attach(FIRST_QPN, groupLimit), NO_RESOURCES, 'there can be no more groups');
  t.equal(attach(FIRST_QPN + 1, 1), OK, 'but QPs can join the groups that exist');
  driver.expect(DETACH_FROM_MCG, naming(FIRST_QPN, gidOf(5)));
  t.equal(attach(FIRST_QPN, groupLimit), OK);
});

t.test('a QP that goes away, and a function that stops', async (t) => {
  const { driver, groups, qps, members } = start(2);
  for (const qpn of [0x40, 0x41]) for (const group of [1, 2]) driver.expect(ATTACH_TO_MCG, naming(qpn, gidOf(group)));
  groups.drop(qps[0]);
  t.same([members(gidOf(1)), members(gidOf(2))], [[0x41], [0x41]]);
  driver.expect(CommandOpcode.TEARDOWN_HCA);
  t.same([groups.count, members(gidOf(1))], [0, undefined]);
});

for (let seed = 1; seed <= 3; seed++) {
  t.test(`any order of commands, seed ${seed}`, async (t) => {
    const { driver, members } = start(4);
    const random = new Random(seed);
    const model = new Map<number, number[]>();
    for (let step = 0; step < 300; step++) {
      const [group, qpn, attaches] = [random.below(3), FIRST_QPN + random.below(4), random.below(2) === 0];
      const list = model.get(group) ?? [];
      const isMember = list.includes(qpn);
      const expected = attaches || isMember ? OK : BAD_RESOURCE_STATE;
      const opcode = attaches ? ATTACH_TO_MCG : DETACH_FROM_MCG;
      const { status } = driver.command(opcode, naming(qpn, gidOf(group)));
      if (attaches && !isMember) model.set(group, [...list, qpn]);
      if (!attaches)
        model.set(
          group,
          list.filter((each) => each !== qpn),
        );
      const found = `${members(gidOf(group)) ?? ''}`;
      if (status !== expected || found !== `${model.get(group)}`) t.fail(`seed ${seed}, step ${step}: ${found}`);
    }
    t.pass();
  });
}

t.test('every field and length', async (t) => {
  const { driver, groups, members } = start(1);
  for (const [opcode, layout] of [
    [ATTACH_TO_MCG, 'attach-to-mcg-in'],
    [DETACH_FROM_MCG, 'detach-from-mcg-in'],
  ] as const) {
    const walk: FieldWalk = {
      driver,
      opcode,
      layouts: { 0: layout },
      prepare: () => {
        groups.reset();
        if (opcode === DETACH_FROM_MCG) driver.expect(ATTACH_TO_MCG, naming(FIRST_QPN, gidOf(1)));
        return naming(FIRST_QPN, gidOf(1));
      },
      rules: { qpn: (value) => (value === FIRST_QPN ? OK : BAD_RESOURCE) },
      digest: () => [groups.count, members(gidOf(1))],
    };
    walkFields(t, walk);
    walkLengths(t, walk, BODY + GID_SIZE, 0x10);
    const unicast = gidOf(1).fill(0xfe, 0, 1);
    t.equal(driver.command(opcode, naming(FIRST_QPN, unicast)).status, BAD_PARAMETER, 'a unicast GID');
    t.equal(driver.command(opcode, naming(CONNECTED_QPN, gidOf(1))).status, BAD_PARAMETER, 'a connected QP');
  }
});

t.test('only of a running function', async (t) => {
  const { driver } = start(1);
  driver.expect(CommandOpcode.TEARDOWN_HCA);
  for (const opcode of [ATTACH_TO_MCG, DETACH_FROM_MCG])
    t.equal(driver.command(opcode, naming(FIRST_QPN, gidOf(1))).status, BAD_SYSTEM_STATE);
});
