// SPDX-License-Identifier: Apache-2.0
/**
 * Multicast of datagrams (IBTA 10.5.2, 9.6.1): attached queue pairs of the port get a copy each,
 * with their own checks of keys; copies for members at the sender's port; limits of attachments.
 */
import t from 'tap';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { MULTICAST_ATTRIBUTES_MGID_OFFSET } from '../../../protocol/layout/gen/multicast-attributes.gen.ts';
import {
  CompletionStatus,
  FaultKind,
  ManagementOpcode,
  ManagementStatus,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../fabric/port/port.ts';
import { Driver } from '../driver/driver.ts';
import { multicastPayload } from '../driver/payloads.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import { AdapterFixture, type QueuePairOptions } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { InProcessAccess } from '../machine/access.ts';

const GRH = 40;
const MLID = 0xc003;
const MULTICAST_QPN = 0xffffff;
const QKEY = 0x1234;
const { SUCCESS } = CompletionStatus;

function mgidOf(last: number): Uint8Array {
  return Uint8Array.of(0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, last);
}

/** Attaches or detaches a QP; returns the result, whatever the status. */
function change(driver: Driver, verb: 'ATTACH' | 'DETACH', qpn: number, mgid = mgidOf(1), mlid = MLID) {
  const opcode = verb === 'ATTACH' ? ManagementOpcode.ATTACH_MULTICAST : ManagementOpcode.DETACH_MULTICAST;
  return driver.management.execute({ opcode, objectNumber: qpn, payload: multicastPayload(mgid, mlid) });
}

/** A group of datagram QPs of one adapter. */
class Group {
  readonly fixture: AdapterFixture;
  readonly ports: readonly [Port, Port];
  readonly #handles: readonly number[];

  constructor(fixture = new AdapterFixture()) {
    this.fixture = fixture;
    this.ports = fixture.machine.device.ports as unknown as [Port, Port];
    const { addressHandles } = fixture.driver;
    const route = { dlid: MLID, globalRoute: 1, hopLimit: 1, pd: fixture.pd };
    this.#handles = [1, 2].map((port) => addressHandles.add({ ...route, port }, mgidOf(1)));
  }

  /** A QP with four receive buffers, attached unless `attached` is false. */
  member(port: number, options: QueuePairOptions & { attached?: boolean } = {}): DriverQueuePair {
    const qp = this.fixture.createQueuePair({ port, qkey: QKEY, ...options });
    for (let count = 0; count < 4; count++) this.fixture.postReceive(qp, GRH + 8);
    if (options.attached !== false && change(this.fixture.driver, 'ATTACH', qp.qpn).status !== ManagementStatus.OK)
      throw new Error('not attached');
    return qp;
  }

  /** Sends one byte by the group's address from the QP, which is at `port`. */
  send(qp: DriverQueuePair, port: number, byte = 1): number {
    qp.post({
      remoteQpn: MULTICAST_QPN,
      qkey: QKEY,
      addressHandle: this.#handles[port - 1],
      inline: Uint8Array.of(byte),
    });
    return qp.parts.sendCq.take().status;
  }

  /** Messages that each QP has received since the last call. */
  arrivals(...qps: readonly DriverQueuePair[]): number[] {
    this.fixture.settle();
    return qps.map((qp) => qp.parts.receiveCq.drain().filter(({ receive }) => receive === 1).length);
  }
}

t.test('every attached queue pair of the port gets a copy, and no other', async (t) => {
  ledger(t, '10.5.2', 'Each QP of a port that is attached to a group receives a copy of its datagrams');
  const group = new Group();
  const sender = group.member(1, { attached: false });
  const members = [group.member(2), group.member(2), group.member(2)];
  const stranger = group.member(2, { attached: false });
  t.equal(group.send(sender, 1), SUCCESS);
  t.same(group.arrivals(sender, ...members, stranger), [0, 1, 1, 1, 0]);
  const { receiver } = group.fixture.machine.device.engine;
  t.equal(receiver.multicast.copies, 3);
  t.equal(change(group.fixture.driver, 'DETACH', members[1]?.qpn ?? 0).status, ManagementStatus.OK);
  members[2]?.destroy();
  group.send(sender, 1);
  t.same(group.arrivals(members[0] as DriverQueuePair, members[1] as DriverQueuePair), [1, 0]);
  members[0]?.destroy();
  group.send(sender, 1);
  group.fixture.settle();
  t.equal(receiver.multicast.unknownGroup, 1, 'no member is left');
  group.fixture.finish();
});

t.test('the completion of a multicast datagram has its GRH and its source', async (t) => {
  const group = new Group();
  const { fixture } = group;
  const sender = group.member(1, { attached: false });
  const member = fixture.createQueuePair({ port: 2, qkey: QKEY });
  const buffer = fixture.postReceive(member, GRH + 8);
  change(fixture.driver, 'ATTACH', member.qpn);
  group.send(sender, 1, 77);
  t.match(member.parts.receiveCq.take(), {
    status: SUCCESS,
    globalRoute: 1,
    sourceQpn: sender.qpn,
    sourceLid: fixture.lidOf(1),
    byteLength: GRH + 1,
  });
  t.same(buffer.bytes.slice(24, GRH + 1), [...mgidOf(1), 77]);
  fixture.finish();
});

t.test('a sender and its port receive what they send, unless the sender blocks it', async (t) => {
  ledger(t, '10.5.2', 'A datagram to a group also reaches the members at the port of its sender');
  const group = new Group();
  const own = group.member(1);
  const beside = group.member(1);
  const remote = group.member(2);
  group.send(own, 1);
  t.same(group.arrivals(own, beside, remote), [1, 1, 1]);
  const blocking = group.member(1, { creation: { blockMulticastLoopback: 1 } });
  group.send(blocking, 1);
  t.same(group.arrivals(blocking, own, beside, remote), [0, 1, 1, 1], 'only its own are kept away');
  group.send(own, 1);
  t.same(group.arrivals(blocking, own, beside, remote), [1, 1, 1, 1]);
  group.fixture.finish();
});

t.test('each member checks its own keys, and the port counts', async (t) => {
  ledger(t, '9.6.1.4', 'A member of a group with another Q_Key or P_Key drops its copy, which is counted');
  const group = new Group();
  const [, far] = group.ports;
  far.pkeys[4] = 0x8009;
  const sender = group.member(1, { attached: false });
  const good = group.member(2);
  const otherKey = group.member(2, { qkey: 0x99 });
  const otherPartition = group.member(2, { pkeyIndex: 4 });
  group.send(sender, 1);
  t.same(group.arrivals(good, otherKey, otherPartition), [1, 0, 0]);
  t.same([far.badQkeys, far.badPkeys, far.receivePackets], [1, 1, 1]);
  group.fixture.finish();
});

t.test('a group is GID and LID; other packets with a multicast LID are dropped and counted', async (t) => {
  const group = new Group();
  const { fixture } = group;
  const { multicast } = fixture.machine.device.engine.receiver;
  const sender = group.member(1, { attached: false });
  const member = group.member(2);
  const route = { port: 1, globalRoute: 1, pd: fixture.pd };
  const { addressHandles } = fixture.driver;
  const post = (addressHandle: number, remoteQpn = MULTICAST_QPN) => {
    sender.post({ remoteQpn, qkey: QKEY, addressHandle, inline: Uint8Array.of(1) });
    return sender.parts.sendCq.take();
  };
  t.equal(post(addressHandles.add({ ...route, dlid: MLID }, mgidOf(2))).status, SUCCESS);
  t.equal(post(addressHandles.add({ ...route, dlid: MLID + 1 }, mgidOf(1))).status, SUCCESS);
  const unicast = group.ports[1].gids.slice(0, 16);
  t.equal(post(addressHandles.add({ ...route, dlid: MLID }, unicast)).status, SUCCESS);
  t.equal(post(addressHandles.add({ ...route, dlid: MLID }, mgidOf(1)), member.qpn).status, SUCCESS);
  t.same(group.arrivals(member), [0]);
  t.same([multicast.unknownGroup, multicast.malformed], [2, 3], 'the last one also in the copy for its own port');
  const failed = post(addressHandles.add({ port: 1, dlid: MLID, pd: fixture.pd }));
  t.equal(failed.vendorError, FaultKind.ADDRESS_HANDLE, 'a multicast LID needs a GRH');
  fixture.finish();
});

t.test('members that do not receive, and those of a port that is not active, get nothing', async (t) => {
  const group = new Group();
  const sender = group.member(1, { attached: false });
  const [ready, early] = [group.member(2), group.member(2, { state: 'init' })];
  group.send(sender, 1);
  t.same(group.arrivals(ready, early), [1, 0]);
  group.ports[1].state = 2;
  group.send(sender, 1);
  t.same(group.arrivals(ready, early), [0, 0]);
  group.fixture.finish();
});

t.test('a member without a receive buffer loses its copy, and no other member does', async (t) => {
  const group = new Group();
  const sender = group.member(1, { attached: false });
  const starved = group.fixture.createQueuePair({ port: 2, qkey: QKEY });
  change(group.fixture.driver, 'ATTACH', starved.qpn);
  const fed = group.member(2);
  for (let count = 0; count < 3; count++) group.send(sender, 1);
  t.same(group.arrivals(starved, fed), [0, 3]);
  t.equal(group.fixture.machine.device.engine.responder.drops.noReceiveEntry, 3);
  group.fixture.finish();
});

t.test('attachments: twice is once; limits are those of query adapter, and of the function alone', async (t) => {
  ledger(t, '11.3', 'A QP attaches to a group and detaches from it; a QP that is not attached cannot detach');
  const fixture = new AdapterFixture({ functionCount: 2 });
  const { multicastGroups } = fixture.machine.device.tables;
  const { driver } = fixture;
  const sendCq = fixture.createCompletionQueue();
  const qps = Array.from({ length: multicastGroups.perGroup + 1 }, () =>
    fixture.createQueuePair({ state: 'init', sendCq }),
  );
  const [first, ...others] = qps.map(({ qpn }) => qpn) as [number, ...number[]];
  t.equal(change(driver, 'ATTACH', first).status, ManagementStatus.OK);
  t.equal(change(driver, 'ATTACH', first).status, ManagementStatus.OK);
  const last = others.pop() as number;
  for (const qpn of others) change(driver, 'ATTACH', qpn);
  t.equal(change(driver, 'ATTACH', last).status, ManagementStatus.NO_RESOURCES);
  const virtual = new Driver(new InProcessAccess(fixture.machine, 1)).bringUp();
  t.equal(change(virtual, 'ATTACH', first).status, ManagementStatus.BAD_OBJECT);
  const pd = virtual.createProtectionDomain();
  const own = virtual.createQueuePair({ pd, sendCq: virtual.createCompletionQueue() });
  t.equal(change(virtual, 'ATTACH', own.qpn).status, ManagementStatus.OK, 'another function has room');
  t.equal(change(driver, 'DETACH', first).status, ManagementStatus.OK);
  t.match(change(driver, 'DETACH', first), {
    status: ManagementStatus.BAD_STATE,
    badOffset: COMMAND_HEADER_BYTES + MULTICAST_ATTRIBUTES_MGID_OFFSET,
  });
  t.equal(change(driver, 'ATTACH', last).status, ManagementStatus.OK);
  driver.reset();
  t.equal(multicastGroups.find(mgidOf(1), 0, MLID)?.members.length, 1, 'the reset has detached its QPs');
  virtual.reset();
  t.equal(multicastGroups.find(mgidOf(1), 0, MLID), undefined);
  fixture.bringUp();
  const filler = fixture.createQueuePair({ state: 'init' }).qpn;
  for (let count = 0; count < multicastGroups.quota; count++)
    multicastGroups.attach(
      fixture.machine.device.tables.queuePairs.get(filler) as never,
      mgidOf(count & 0xff),
      0xc000 + (count >> 8),
    );
  t.equal(change(driver, 'ATTACH', filler, mgidOf(1), 0xfff0).status, ManagementStatus.NO_RESOURCES);
  fixture.finish();
});
