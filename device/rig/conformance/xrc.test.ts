// SPDX-License-Identifier: Apache-2.0
/**
 * Extended reliable connections (IBTA annex A14) over the two ports of an adapter: a target takes
 * requests for the XRC shared receive queues of its domain and uses their CQs and PDs.
 */
import t from 'tap';
import {
  CompletionOpcode,
  CompletionStatus,
  EventType,
  ManagementOpcode,
  ManagementStatus,
  QpState,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { createXrcDomain, destroyXrcDomain } from '../driver/xrc.ts';
import { rdma } from '../fixtures/connected-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { XrcFixture } from '../fixtures/xrc-fixture.ts';

const { SUCCESS } = CompletionStatus;
const { COMMUNICATION_ESTABLISHED } = EventType;
const SIZES = [0, 1, 63, 256, 257, 1024, 5000];

t.test('messages reach the SRQ that each names, and complete in its CQ', async (t) => {
  ledger(t, 'A14', 'A message for an XRC target takes its entry from the SRQ that its XRCETH names');
  ledger(t, 'A14', 'The completion of a received message goes to the CQ of the XRC SRQ, with its source');
  const xrc = new XrcFixture();
  const { fixture, initiator, target } = xrc;
  const queues = [xrc.createQueue(), xrc.createQueue()];
  for (const [index, size] of SIZES.entries()) {
    const queue = queues[index % 2] as (typeof queues)[0];
    const buffer = xrc.postReceive(queue, size);
    const payload = fixture.createBuffer(fixture.random.bytes(size));
    t.equal(xrc.send(queue.srq.srqn, { sges: [fixture.sge(payload)], immediate: size }), SUCCESS, `send of ${size}`);
    t.match(queue.cq.take(), {
      status: SUCCESS,
      opcode: CompletionOpcode.RECEIVE,
      receive: 1,
      qpn: target.qpn,
      srqn: queue.srq.srqn,
      byteLength: size,
      immediate: size,
      sourceQpn: initiator.qpn,
      sourceLid: fixture.lidOf(1),
    });
    t.same(buffer.bytes, payload.bytes, `payload of ${size}`);
  }
  t.same(xrc.events(), [[COMMUNICATION_ESTABLISHED, target.qpn]]);
  fixture.finish();
});

t.test('one SRQ serves several targets of its domain', async (t) => {
  ledger(t, 'A14', 'An XRC SRQ takes messages from every XRC target of its domain');
  const xrc = new XrcFixture();
  const queue = xrc.createQueue();
  const pairs = [[xrc.initiator, xrc.target] as const, xrc.connect(), xrc.connect()];
  for (let round = 0; round < 20; round++) {
    for (const [initiator, target] of pairs) {
      xrc.postReceive(queue, 300);
      initiator.post({ inline: new Uint8Array(256), header: { xrcSrqn: queue.srq.srqn } });
      t.equal(initiator.parts.sendCq.take().status, SUCCESS);
      t.match(queue.cq.take(), { status: SUCCESS, qpn: target.qpn, srqn: queue.srq.srqn });
    }
  }
  xrc.fixture.finish();
});

t.test('WRITE, READ and atomics use the PD of the SRQ', async (t) => {
  ledger(t, 'A14', 'Remote accesses through an XRC target are checked with the PD of the XRC SRQ');
  const xrc = new XrcFixture();
  const { fixture } = xrc;
  const [queue, other] = [xrc.createQueue(), xrc.createQueue()];
  const { srqn } = queue.srq;
  const remote = fixture.createBuffer(4096);
  const local = fixture.createBuffer(fixture.random.bytes(4096));
  t.equal(xrc.send(srqn, rdma(fixture, SendOpcode.RDMA_WRITE, local, remote, queue.region)), SUCCESS);
  t.same(remote.bytes, local.bytes);
  const back = fixture.createBuffer(4096);
  t.equal(xrc.send(srqn, rdma(fixture, SendOpcode.RDMA_READ, back, remote, queue.region)), SUCCESS);
  t.same(back.bytes, local.bytes);
  const word = fixture.createBuffer(8);
  const add = rdma(fixture, SendOpcode.FETCH_ADD, word, remote, queue.region);
  t.equal(xrc.send(srqn, { ...add, atomic: { swapOrAdd: 1n } }), SUCCESS);
  t.same(word.bytes, local.bytes.subarray(0, 8));
  t.equal(remote.bytes[0], ((local.bytes[0] as number) + 1) & 0xff);
  xrc.postReceive(queue, 0);
  const write = rdma(fixture, SendOpcode.RDMA_WRITE_IMMEDIATE, local, remote, queue.region);
  t.equal(xrc.send(srqn, { ...write, immediate: 7 }), SUCCESS);
  t.match(queue.cq.take(), { opcode: CompletionOpcode.RECEIVE_RDMA_IMMEDIATE, immediate: 7, byteLength: 4096 });
  xrc.events();
  const foreign = rdma(fixture, SendOpcode.RDMA_WRITE, local, remote, other.region);
  t.equal(xrc.send(srqn, foreign), CompletionStatus.REMOTE_ACCESS_ERROR, 'a key of the PD of another SRQ');
  t.same(xrc.events(), [[EventType.QP_ACCESS_ERROR, xrc.target.qpn]]);
  fixture.finish();
});

t.test('READs of two SRQs are answered while requests change the SRQ', async (t) => {
  const xrc = new XrcFixture();
  const { fixture, initiator } = xrc;
  const queues = [xrc.createQueue(), xrc.createQueue()];
  const remote = fixture.createBuffer(fixture.random.bytes(4096));
  const copies = queues.map(({ srq, region }) => {
    const copy = fixture.createBuffer(4096);
    initiator.post({ ...rdma(fixture, SendOpcode.RDMA_READ, copy, remote, region), header: { xrcSrqn: srq.srqn } });
    return copy;
  });
  for (const copy of copies) {
    t.equal(initiator.parts.sendCq.take().status, SUCCESS);
    t.same(copy.bytes, remote.bytes);
  }
  fixture.finish();
});

t.test('an empty SRQ delays its message only', async (t) => {
  ledger(t, 'A14', 'A message for an XRC SRQ without entries is answered with RNR NAK and repeated');
  const xrc = new XrcFixture();
  const { fixture, initiator } = xrc;
  const queue = xrc.createQueue();
  initiator.post({ inline: Uint8Array.of(5), header: { xrcSrqn: queue.srq.srqn } });
  fixture.settle();
  t.notOk(queue.cq.ready);
  const buffer = xrc.postReceive(queue, 1);
  t.equal(initiator.parts.sendCq.take().status, SUCCESS);
  t.equal(queue.cq.take().status, SUCCESS);
  t.equal(buffer.bytes[0], 5);
  fixture.finish();
});

t.test('objects in use are not destroyed', async (t) => {
  ledger(t, 'A14', 'An XRC domain with SRQs or targets, and the CQ of an XRC SRQ, cannot be destroyed');
  const xrc = new XrcFixture();
  const { driver } = xrc.fixture;
  const queue = xrc.createQueue();
  const destroy = (opcode: ManagementOpcode, objectNumber: number): number =>
    driver.management.execute({ opcode, objectNumber }).status;
  t.equal(destroy(ManagementOpcode.DESTROY_CQ, queue.cq.cqn), ManagementStatus.IN_USE);
  t.equal(destroy(ManagementOpcode.DESTROY_XRC_DOMAIN, xrc.domain), ManagementStatus.IN_USE);
  queue.srq.destroy();
  t.equal(destroy(ManagementOpcode.DESTROY_CQ, queue.cq.cqn), ManagementStatus.OK);
  t.equal(destroy(ManagementOpcode.DESTROY_XRC_DOMAIN, xrc.domain), ManagementStatus.IN_USE);
  xrc.target.destroy();
  destroyXrcDomain(driver, xrc.domain);
  const empty = createXrcDomain(driver);
  destroyXrcDomain(driver, empty);
  xrc.fixture.finish();
});

t.test('a target in error flushes nothing of the SRQ and posts no last-WQE event', async (t) => {
  const xrc = new XrcFixture();
  const queue = xrc.createQueue();
  xrc.postReceive(queue, 1);
  xrc.postReceive(queue, 1);
  t.equal(xrc.send(queue.srq.srqn, { inline: Uint8Array.of(1) }), SUCCESS);
  queue.cq.take();
  xrc.events();
  xrc.target.toError();
  xrc.fixture.settle();
  t.notOk(queue.cq.ready);
  t.same(xrc.events(), []);
  xrc.target.toReset();
  t.equal(xrc.target.query().state, QpState.RESET);
  xrc.fixture.finish();
});
