// SPDX-License-Identifier: Apache-2.0
/**
 * Requests that an XRC target refuses because of their XRCETH, packets that either half of an XRC
 * connection drops, and the packets that an initiator sends (IBTA annex A14).
 */
import t, { type Test } from 'tap';
import { AethKind, BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  CompletionStatus,
  EventType,
  FaultKind,
  ManagementStatus,
  QpMask,
  QpState,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { Driver } from '../driver/driver.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import type { DriverSharedReceiveQueue } from '../driver/shared-receive-queue.ts';
import {
  connectInitiator,
  connectTarget,
  createXrcDomain,
  createXrcInitiator,
  createXrcQueue,
  createXrcTarget,
} from '../driver/xrc.ts';
import type { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';
import { XrcFixture } from '../fixtures/xrc-fixture.ts';
import { InProcessAccess } from '../machine/access.ts';

const op = BthOpcode;
const MTU = 256;
const { XRC_DOMAIN_VIOLATION, XRC_INVALID_HEADER } = EventType;
const { XRC_DOMAIN, XRC_QUEUE } = FaultKind;

/** Asserts that the target went into error, with one event and its cause. */
function isRefused(t: Test, xrc: XrcFixture, event: EventType, cause: FaultKind): void {
  t.equal(xrc.target.query().state, QpState.ERR);
  const events = xrc.events().filter(([type]) => type !== EventType.COMMUNICATION_ESTABLISHED);
  t.same(events, [[event, xrc.target.qpn]]);
  t.equal(xrc.fixture.faults(cause), 1, 'the cause is counted');
  xrc.fixture.finish();
}

type NamedQueue = (xrc: XrcFixture) => number;

const destroyed: NamedQueue = (xrc) => {
  const { srq } = xrc.createQueue();
  srq.destroy();
  return srq.srqn;
};

const ordinary: NamedQueue = ({ fixture }) => fixture.driver.createSharedReceiveQueue({ pd: fixture.pd }).srqn;

const elsewhere: NamedQueue = (xrc) => {
  const queue = xrc.createQueue(createXrcDomain(xrc.fixture.driver));
  xrc.postReceive(queue, 8);
  return queue.srq.srqn;
};

const refusals: [string, NamedQueue, EventType, FaultKind][] = [
  ['an SRQ of another domain', elsewhere, XRC_DOMAIN_VIOLATION, XRC_DOMAIN],
  ['no SRQ', () => 0, XRC_INVALID_HEADER, XRC_QUEUE],
  ['an SRQ that never was', () => 0xfffff, XRC_INVALID_HEADER, XRC_QUEUE],
  ['an SRQ that was destroyed', destroyed, XRC_INVALID_HEADER, XRC_QUEUE],
  ['an SRQ without a domain', ordinary, XRC_INVALID_HEADER, XRC_QUEUE],
];

for (const [what, name, event, cause] of refusals) {
  t.test(`a SEND that names ${what}`, async (t) => {
    ledger(t, 'A14', `A request that names ${what} is a remote operational error, with an event for the target`);
    const xrc = new XrcFixture();
    t.equal(xrc.send(name(xrc), { inline: Uint8Array.of(1) }), CompletionStatus.REMOTE_OPERATION_ERROR);
    isRefused(t, xrc, event, cause);
  });
}

for (const opcode of [SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ, SendOpcode.FETCH_ADD]) {
  t.test(`a remote access that names no SRQ: opcode ${opcode}`, async (t) => {
    ledger(t, 'A14', 'Requests without a receive entry need a valid XRCETH too');
    const xrc = new XrcFixture();
    const { region } = xrc.createQueue();
    const buffer = xrc.fixture.createBuffer(8);
    const status = xrc.send(0, {
      opcode,
      sges: [xrc.fixture.sge(buffer)],
      remote: { address: buffer.address, rkey: region.rkey },
      ...(opcode === SendOpcode.FETCH_ADD ? { atomic: { swapOrAdd: 1n } } : {}),
    });
    t.equal(status, CompletionStatus.REMOTE_OPERATION_ERROR);
    isRefused(t, xrc, XRC_INVALID_HEADER, XRC_QUEUE);
  });
}

/** A target whose peer is the test, and two SRQs of its domain. */
class TargetPeer {
  readonly peer: PacketPeer;
  queues: DriverSharedReceiveQueue[] = [];

  constructor() {
    this.peer = new PacketPeer({ build: (fixture, connection) => this.#build(fixture, connection) });
  }

  #build(fixture: AdapterFixture, connection: Parameters<typeof connectTarget>[1]): DriverQueuePair {
    const domain = createXrcDomain(fixture.driver);
    const cq = fixture.createCompletionQueue();
    this.queues = [0, 1].map(() => createXrcQueue(fixture.driver, { pd: fixture.pd, domain, cq }));
    const target = createXrcTarget(fixture.driver, domain, cq);
    return connectTarget(target, connection);
  }

  /** A packet that names SRQ number `index`. */
  request(opcode: number, index: number, payloadBytes: number): this {
    this.peer.request(opcode, { xrcSrqn: this.queues[index]?.srqn ?? 0 }, new Uint8Array(payloadBytes));
    return this;
  }
}

t.test('an SRQ that is destroyed in the middle of a message', async (t) => {
  ledger(t, 'A14', 'The entry of a message whose XRC SRQ is destroyed does not complete; the next packet is refused');
  const target = new TargetPeer();
  const [queue] = target.queues as [DriverSharedReceiveQueue];
  const buffer = target.peer.fixture.createBuffer(4 * MTU);
  queue.postReceive([target.peer.fixture.sge(buffer)]);
  target.request(op.XRC_SEND_FIRST, 0, MTU);
  t.same(target.peer.takeAnswers(), ['ACK 500']);
  queue.destroy();
  target.request(op.XRC_SEND_LAST, 0, 8);
  t.same(target.peer.takeAnswers(), [`NAK ${NakCode.REMOTE_OPERATIONAL_ERROR} 501`]);
  t.notOk(target.peer.qp.parts.receiveCq.ready, 'no completion');
  t.equal(target.peer.qp.query().state, QpState.ERR);
  target.peer.fixture.finish();
});

t.test('a message that changes its SRQ', async (t) => {
  ledger(t, 'A14', 'All packets of a message name the same XRC SRQ');
  const target = new TargetPeer();
  const { peer } = target;
  for (const queue of target.queues) queue.postReceive([peer.fixture.sge(peer.fixture.createBuffer(4 * MTU))]);
  target.request(op.XRC_SEND_FIRST, 0, MTU).request(op.XRC_SEND_LAST, 1, 8);
  t.same(peer.takeAnswers(), ['ACK 500', `NAK ${NakCode.REMOTE_OPERATIONAL_ERROR} 501`]);
  t.equal(peer.qp.parts.receiveCq.take().status, CompletionStatus.REMOTE_INVALID_REQUEST_ERROR);
  peer.fixture.finish();
});

t.test('answers of a target have the XRC service and no XRCETH', async (t) => {
  ledger(t, 'A14', 'Acknowledgements and responses of an XRC target carry XRC opcodes, and no XRCETH');
  const target = new TargetPeer();
  const { peer } = target;
  const remote = peer.remoteBuffer(peer.fixture.random.bytes(3 * MTU));
  const fields = { ...peer.target(remote), xrcSrqn: target.queues[0]?.srqn ?? 0 };
  peer.request(op.XRC_RDMA_READ_REQUEST, { ...fields, psn: 500 });
  t.same(
    peer.take().map(({ opcode, psn }) => [opcode, psn]),
    [
      [op.XRC_RDMA_READ_RESPONSE_FIRST, 500],
      [op.XRC_RDMA_READ_RESPONSE_MIDDLE, 501],
      [op.XRC_RDMA_READ_RESPONSE_LAST, 502],
    ],
  );
  peer.request(op.XRC_FETCH_ADD, { ...fields, psn: 503 });
  t.equal(peer.takeOne().opcode, op.XRC_ATOMIC_ACKNOWLEDGE);
  peer.request(op.XRC_RDMA_READ_REQUEST, { ...fields, xrcSrqn: 0, psn: 500 });
  t.equal(peer.take().length, 3, 'a duplicate is answered, whatever it names');
  peer.fixture.finish();
});

t.test('a target takes requests of its service only', async (t) => {
  ledger(t, 'A14', 'An XRC target drops responses, and requests of other services');
  const target = new TargetPeer();
  const { peer } = target;
  const { receiver } = peer.adapter.engine;
  const before = receiver.unsupportedTransport;
  peer.request(op.RC_SEND_ONLY, { psn: 500 }).request(op.UC_SEND_ONLY, { psn: 500 });
  peer.request(op.XRC_ACKNOWLEDGE, { psn: 100, syndromeKind: AethKind.ACK });
  t.equal(receiver.unsupportedTransport - before, 3);
  t.same(peer.take(), []);
  t.equal(peer.qp.query().state, QpState.RTS);
  const faults = peer.fixture.faults(FaultKind.COMMAND_BAD_QP);
  peer.qp.ring(0);
  peer.qp.stop();
  peer.settle();
  t.equal(peer.fixture.faults(FaultKind.COMMAND_BAD_QP) - faults, 2, 'it has no send queue');
  peer.fixture.finish();
});

t.test('an initiator sends the SRQ number in every request packet', async (t) => {
  ledger(t, 'A14', 'Every request packet of an XRC initiator carries the XRCETH of its work request');
  const peer = new PacketPeer({
    build: ({ driver, pd }, connection) => {
      const sendCq = driver.createCompletionQueue();
      return connectInitiator(createXrcInitiator(driver, { pd, sendCq }), connection);
    },
  });
  const { fixture, qp } = peer;
  const source = fixture.createBuffer(2 * MTU + 1);
  const remote = { address: 0x1000, rkey: 5 };
  qp.post({ sges: [fixture.sge(source)], header: { xrcSrqn: 0x123456 } });
  qp.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(source, 0, 8)], remote, header: { xrcSrqn: 7 } });
  qp.post({ opcode: SendOpcode.RDMA_READ, sges: [fixture.sge(source, 0, 8)], remote, header: { xrcSrqn: 8 } });
  t.same(
    peer.take().map(({ opcode, xrcSrqn, ackRequest }) => [opcode, xrcSrqn, ackRequest]),
    [
      [op.XRC_SEND_FIRST, 0x123456, 0],
      [op.XRC_SEND_MIDDLE, 0x123456, 0],
      [op.XRC_SEND_LAST, 0x123456, 1],
      [op.XRC_RDMA_WRITE_ONLY, 7, 1],
      [op.XRC_RDMA_READ_REQUEST, 8, 1],
    ],
  );
  const before = peer.adapter.engine.receiver.unsupportedTransport;
  peer.request(op.XRC_SEND_ONLY).respond(op.RC_ACKNOWLEDGE, 2, { syndromeKind: AethKind.ACK });
  t.equal(peer.adapter.engine.receiver.unsupportedTransport - before, 2, 'a request, and an answer of another service');
  peer.respond(op.XRC_ACKNOWLEDGE, 3, { syndromeKind: AethKind.ACK });
  t.equal(qp.parts.sendCq.drain().length, 2);
  peer.respond(op.XRC_RDMA_READ_RESPONSE_ONLY, 4, { syndromeKind: AethKind.ACK }, new Uint8Array(8));
  t.equal(qp.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

t.test('an SRQ of another function', async (t) => {
  ledger(t, 'A14', 'A request cannot name an XRC SRQ of another function than that of the target');
  const xrc = new XrcFixture({}, { functionCount: 2 });
  const driver = new Driver(new InProcessAccess(xrc.fixture.machine, 1)).bringUp();
  const pd = driver.createProtectionDomain();
  const domain = createXrcDomain(driver);
  const cq = driver.createCompletionQueue();
  const { srqn } = createXrcQueue(driver, { pd, domain, cq });
  t.equal(xrc.send(srqn, { inline: Uint8Array.of(1) }), CompletionStatus.REMOTE_OPERATION_ERROR);
  isRefused(t, xrc, XRC_INVALID_HEADER, XRC_QUEUE);
  const create = { pd: xrc.fixture.pd, domain, cq: xrc.initiator.parts.sendCq };
  t.throws(() => createXrcQueue(xrc.fixture.driver, create), /BAD_OBJECT/, 'nor is its domain usable');
});

t.test('attributes that a half lacks are refused', async (t) => {
  ledger(t, 'A14', 'An XRC initiator has no responder attributes, and an XRC target no retry counters');
  const xrc = new XrcFixture();
  const { initiator, target } = xrc;
  const toSend = { state: QpState.RTS, timeout: 14, sendPsn: 0 };
  const mask = QpMask.STATE | QpMask.SEND_PSN | QpMask.TIMEOUT;
  const { BAD_FIELD, OK } = ManagementStatus;
  t.equal(target.modify({ ...toSend, attributeMask: mask | QpMask.RETRY_COUNT }).status, BAD_FIELD);
  t.equal(target.modify({ ...toSend, attributeMask: mask }).status, OK);
  t.equal(initiator.modify({ attributeMask: QpMask.MIN_RNR_TIMER, minRnrTimer: 3 }).status, BAD_FIELD);
  xrc.fixture.finish();
});
