// SPDX-License-Identifier: Apache-2.0
/**
 * QP0 and QP1 of software in process: datagrams out of both ports of a device, to the agents of the
 * other port and to other queue pairs of software; failures, flushes and doorbells of other pages.
 */
import t from 'tap';
import { setBthOpcode } from '../../../protocol/infiniband/gen/bth.gen.ts';
import { GRH_DGID_OFFSET, GRH_SGID_OFFSET, GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { LRH_SIZE, setLrhPacketLength, setLrhVirtualLane } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { getMadHeaderMethod } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  CommandOpcode,
  CompletionSyndrome,
  EventKind,
  QpContextState,
} from '../../../protocol/mthca/gen/values.gen.ts';
import { generalAddress, type MadAddress, newMadAddress } from '../../fabric/agents/mad-packet.ts';
import { Random } from '../../random.ts';
import { MthcaDriver, makeMthcaMachine } from '../../rig/mthca/driver/mthca-driver.ts';
import { portSetup } from '../../rig/mthca/driver/profile.ts';
import { MthcaDriverQueuePair } from '../../rig/mthca/driver/raw-queue-pair.ts';

const GET = 1;
const NODE_INFO = 0x11;
const DIRECTED = 0x81;
const GMP_CLASS = 0x07;
/** Numbers of QP0 and QP1 of port 1; those of port 2 follow. */
const QP0 = 16;
const QP1 = 18;

/** A device whose ports are ACTIVE, with LIDs 1 and 2. */
function begin(): MthcaDriver {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  for (const modifier of [1, 2]) driver.expect(CommandOpcode.INIT_IB, { modifier, input: portSetup() });
  driver.expect(CommandOpcode.CONF_SPECIAL_QP, { opcodeModifier: 0, modifier: QP0 });
  driver.expect(CommandOpcode.CONF_SPECIAL_QP, { opcodeModifier: 1, modifier: QP1 });
  return driver;
}

/** Get(NodeInfo) by a directed route over one link, as Linux hands it to QP0. */
function directedGet(): Uint8Array {
  const mad = new Uint8Array(256);
  mad.set([1, DIRECTED, 1, GET]);
  mad.set([1, 1], 6);
  const view = new DataView(mad.buffer);
  view.setUint16(16, NODE_INFO);
  view.setUint32(32, 0xffffffff);
  mad[129] = 1;
  return mad;
}

function general(mark: number): Uint8Array {
  const mad = new Uint8Array(256);
  mad.set([1, GMP_CLASS, 1, GET]);
  mad[200] = mark;
  return mad;
}

t.test('the agents of the other port answer a datagram of QP0', (t) => {
  const driver = begin();
  const qp = new MthcaDriverQueuePair(driver, QP0, 1);
  qp.postReceive();
  qp.send(newMadAddress(), directedGet());
  const [sent, received] = qp.takeCompletions();
  t.equal(sent.isSend, 1);
  t.equal(sent.request, qp.sendOffset(0));
  t.same(
    { ...received, opcode: 0 },
    { ...received, qpn: QP0, remoteQpn: 0, remoteLid: 0xffff, byteCount: 296, isSend: 0, request: 0, opcode: 0 },
  );
  const mad = qp.receivedMad(0);
  t.equal(getMadHeaderMethod(mad, 0), 0x81, 'GetResp');
  t.equal(mad.getUint8(64 + 36), 2, 'of port 2');
  t.end();
});

t.test('a queue pair of software takes what else the agents would', (t) => {
  const driver = begin();
  const [first, second] = [new MthcaDriverQueuePair(driver, QP0, 1), new MthcaDriverQueuePair(driver, QP0 + 1, 2)];
  second.postReceive();
  first.send(newMadAddress(), directedGet());
  t.equal(second.takeCompletions().length, 1);
  t.equal(getMadHeaderMethod(second.receivedMad(0), 0), GET, 'the request itself');
  first.send(newMadAddress(), directedGet());
  t.equal(second.takeCompletions().length, 0);
  t.equal(driver.device.raw.noReceive, 1, 'without a receive it is dropped');
  second.move(CommandOpcode.ANY2RST_QP, 3);
  first.postReceive();
  first.takeCompletions();
  first.send(newMadAddress(), directedGet());
  t.equal(first.takeCompletions().length, 2, 'a QP in RESET leaves it to the agents again');
  t.end();
});

t.test('datagrams of QP1, to another port and to the own one', (t) => {
  const driver = begin();
  const [first, second] = [new MthcaDriverQueuePair(driver, QP1, 1), new MthcaDriverQueuePair(driver, QP1 + 1, 2)];
  for (const qp of [first, second]) for (let count = 0; count < 3; count++) qp.postReceive();
  first.send(generalAddress(0, 2), general(7));
  const [received] = second.takeCompletions();
  t.equal(received.remoteQpn, 1);
  t.equal(received.remoteLid, 1, 'the port puts its LID in');
  t.equal(second.receivedMad(0).getUint8(200), 7);
  first.takeCompletions();
  first.send(generalAddress(0, 1), general(8));
  t.equal(first.takeCompletions().length, 2, 'sent and received');
  t.equal(first.receivedMad(0).getUint8(200), 8);
  const wrong: MadAddress = { ...generalAddress(0, 2), qKey: 5 };
  first.send(wrong, general(9));
  t.equal(second.takeCompletions().length, 0);
  t.equal(driver.device.ports[1].badQkeys, 1);
  driver.expect(CommandOpcode.CLOSE_IB, { modifier: 2 });
  first.takeCompletions();
  first.send(generalAddress(0, 2), general(10));
  t.equal(first.takeCompletions().length, 1, 'a port that is down drops the packet, and the send completes');
  t.end();
});

t.test('a datagram with a GRH arrives with it', (t) => {
  const driver = begin();
  const [first, second] = [new MthcaDriverQueuePair(driver, QP1, 1), new MthcaDriverQueuePair(driver, QP1 + 1, 2)];
  second.postReceive();
  const grh = new Uint8Array(GRH_SIZE);
  grh[7] = 64;
  const [from, to] = driver.device.ports;
  grh.set(from.gids.subarray(0, 16), GRH_SGID_OFFSET);
  grh.set(to.gids.subarray(0, 16), GRH_DGID_OFFSET);
  first.send({ ...generalAddress(0, 2), grh }, general(5));
  const [received] = second.takeCompletions();
  t.equal(received.hasRoute, 1);
  t.same(second.receivedRoute(0).slice(7), grh.slice(7), 'hop limit and GIDs');
  t.equal(second.receivedMad(0).getUint8(200), 5);
  t.end();
});

t.test('what is no datagram, or is on the wrong lane, does not leave', (t) => {
  const driver = begin();
  const qp = new MthcaDriverQueuePair(driver, QP1, 1);
  const sent = driver.device.ports[0].transmitPackets;
  const changes: ((packet: DataView) => void)[] = [
    (packet) => setBthOpcode(packet, LRH_SIZE, BthOpcode.RC_SEND_ONLY),
    (packet) => setLrhVirtualLane(packet, 0, 15),
    (packet) => setLrhPacketLength(packet, 0, 5),
  ];
  for (const [index, change] of changes.entries()) {
    qp.sendChanged(generalAddress(0, 2), general(1), change);
    t.equal(driver.device.raw.malformed, index + 1);
    t.equal(qp.takeCompletions().length, 1, 'the send completes');
  }
  t.equal(driver.device.ports[0].transmitPackets, sent);
  qp.send(generalAddress(0, 2), general(1));
  t.equal(driver.device.ports[0].transmitPackets, sent + 1);
  t.end();
});

t.test('many sends in one doorbell, around the ring', (t) => {
  const driver = begin();
  const [first, second] = [new MthcaDriverQueuePair(driver, QP1, 1), new MthcaDriverQueuePair(driver, QP1 + 1, 2)];
  let mark = 0;
  for (let round = 0; round < 10; round++) {
    for (let count = 0; count < 3; count++) second.postReceive();
    const marks = [mark++, mark++, mark++];
    first.sendAll(marks.map((value) => [generalAddress(0, 2), general(value)] as const));
    t.equal(first.takeCompletions().length, 3);
    const slots = second.takeCompletions().map(({ request }) => request);
    t.same(
      slots.map((request) => second.receivedMadAt(request).getUint8(200)),
      marks,
    );
  }
  t.end();
});

t.test('a send that cannot be read fails the QP and flushes both queues', (t) => {
  const driver = begin();
  const qp = new MthcaDriverQueuePair(driver, QP1, 1);
  for (let count = 0; count < 2; count++) qp.postReceive();
  qp.sendAll(
    [
      [generalAddress(0, 2), general(1)],
      [generalAddress(0, 2), general(2)],
    ],
    0x99,
  );
  const errors = qp.takeErrors();
  t.same(
    errors.map(({ syndrome, opcode }) => [syndrome, opcode]),
    [
      [CompletionSyndrome.LOCAL_PROTECTION, 0xff],
      [CompletionSyndrome.FLUSHED, 0xfe],
      [CompletionSyndrome.FLUSHED, 0xfe],
      [CompletionSyndrome.FLUSHED, 0xff],
    ],
  );
  t.equal(driver.device.hca.queuePairs.get(QP1)?.state, QpContextState.ERR);
  t.end();
});

t.test('a receive that is too short fails the QP', (t) => {
  const driver = begin();
  const [first, second] = [new MthcaDriverQueuePair(driver, QP1, 1), new MthcaDriverQueuePair(driver, QP1 + 1, 2)];
  second.postReceive(100);
  first.send(generalAddress(0, 2), general(1));
  t.same(
    second.takeErrors().map(({ syndrome }) => syndrome),
    [CompletionSyndrome.LOCAL_LENGTH],
  );
  t.end();
});

t.test('doorbells of another page, of wrong counts and of other queue pairs are refused', (t) => {
  const driver = begin();
  const qp = new MthcaDriverQueuePair(driver, QP1, 1);
  const { userAccess } = driver.device.functions[0];
  qp.ring(1, 0, 20, 2);
  qp.ring(0, 0, 20);
  qp.ring(1, 1, 20);
  qp.ring(5, 0, 20);
  t.equal(userAccess.strayDoorbells, 4);
  const random = new Random(3);
  for (let round = 0; round < 5000; round++) {
    qp.ring(
      random.below(256),
      random.below(65536),
      random.below(64),
      2,
      random.pick([QP0, QP1, random.below(2 ** 24)]),
    );
  }
  t.equal(userAccess.strayDoorbells, 5004, 'seed 3');
  t.equal(qp.takeCompletions().length, 0);
  t.end();
});

t.test('requests of random content: errors of this QP, and nothing else', (t) => {
  for (let seed = 1; seed <= 5; seed++) {
    const driver = begin();
    const random = new Random(seed);
    for (let round = 0; round < 60; round++) {
      const qp = new MthcaDriverQueuePair(driver, QP1, 1);
      qp.postReceive();
      qp.scramble(random);
      qp.ring(1 + random.below(4), 0, random.below(64));
      driver.machine.runUntilIdle();
      qp.move(CommandOpcode.ANY2RST_QP, 3);
    }
    const queue = driver.createEventQueue(9, 1);
    driver.expect(CommandOpcode.MAP_EQ, { input: 2 ** EventKind.COMMAND, modifier: 9 });
    driver.expect(CommandOpcode.NOP, { byEvent: true });
    t.equal(queue.take().length, 1, `seed ${seed}`);
  }
  t.end();
});

t.test('the queues of a QP in ERR are flushed a bounded number of requests in a pass', async (t) => {
  const driver = begin();
  const pair = new MthcaDriverQueuePair(driver, QP1, 1);
  for (let count = 0; count < 3; count++) pair.postReceive();
  const { raw, hca } = driver.device;
  const qp = hca.queuePairs.get(QP1);
  if (qp === undefined) throw new Error('there is no QP1');
  raw.move(qp, QpContextState.ERR);
  t.same(
    [0, 1, 2].map(() => raw.run(2)),
    [2, 1, 0],
  );
});
