// SPDX-License-Identifier: Apache-2.0
/**
 * Hazards 17, 18, 19 and 42 of docs/HAZARDS.md for lanes and credits. Each is provoked, and every
 * step checks that credits are conserved.
 */
import t from 'tap';
import { AethKind, BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { PSN_MASK } from '../../../protocol/infiniband/psn.ts';
import { CSR, getCsrTvlCompletionUsed, getCsrTvlSharedCompletion } from '../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, SendOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { connect } from '../../rig/fixtures/connected-fixture.ts';
import { PacketPeer, PEER_QPN } from '../../rig/fixtures/packet-peer.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';

const one = { inline: Uint8Array.of(1) };
/** Two lanes with 4 private credits each; 8 credits are shared. */
const TWO_LANES = { laneCount: 2, executionCredits: 16, completionCredits: 16 };

/** A second QP beside that of `peer`. */
function another({ fixture }: PacketPeer): DriverQueuePair {
  const sendCq = fixture.createCompletionQueue();
  const creation = { serviceType: ServiceType.RC };
  const qp = fixture.driver.createQueuePair({ pd: fixture.pd, sendCq, sendEntriesLog2: 6, creation });
  return qp.connect({ reliable: true, port: 1, dlid: fixture.lidOf(2), remoteQpn: 0x77, pathMtu: 1, sendPsn: 100 });
}

function post(qp: DriverQueuePair, count: number): void {
  for (let posted = 0; posted < count; posted++) qp.post(one);
}

t.test('hazard 17: a lane that holds all shared credits leaves the others their private ones', async (t) => {
  const peer = new PacketPeer({ fixture: { adapter: TWO_LANES } });
  const { fixture } = peer;
  const other = another(peer);
  post(peer.qp, 40);
  t.equal(peer.take().length, 12, '4 private, 8 shared');
  t.equal(getCsrTvlCompletionUsed(fixture.read(CSR.TVL_COMPLETION, 0)), 4);
  t.equal(getCsrTvlSharedCompletion(fixture.read(CSR.TVL_SHARED, 0)), 8);
  t.equal(fixture.read(CSR.KICK_LIST_LENGTH), 28);
  post(other, 10);
  t.equal(peer.take().length, 4, 'the other lane has its 4 private credits');
  peer.acknowledge(3, { destQpn: other.qpn });
  t.equal(peer.take().length, 4, 'it gets them back while the flood lasts');
  peer.acknowledge(11);
  peer.acknowledge(7, { destQpn: other.qpn });
  for (let seen = peer.take(); seen.length > 0; seen = peer.take())
    for (const { psn, destQpn } of seen)
      peer.acknowledge(psn - peer.firstPsn, destQpn === PEER_QPN ? {} : { destQpn: other.qpn });
  t.equal(peer.qp.parts.sendCq.drain().length, 40);
  t.equal(other.parts.sendCq.drain().length, 10);
  fixture.finish();
});

/** Ways in which commands end. Each takes a peer with commands in kick lists and in flight. */
const endings: Record<string, (peer: PacketPeer) => void> = {
  success: (peer) => {
    let last = 0;
    for (let seen = peer.take(); !isQuiet(peer); seen = peer.take()) {
      last = seen.reduce((psn, packet) => Math.max(psn, packet.psn - peer.firstPsn), last);
      peer.acknowledge(last);
    }
  },
  'a NAK': (peer) => void peer.nak(2, 1),
  'RNR NAKs beyond the retry count': (peer) => {
    peer.receiverNotReady(0, 1);
    peer.wait(1e9);
    peer.take();
    peer.receiverNotReady(0, 1);
  },
  flush: (peer) => peer.qp.toError(),
  timeout: (peer) => void peer.wait(1e12),
  'reset of the QP': (peer) => peer.qp.toReset(),
  destruction: (peer) => peer.qp.destroy(),
  'reset of the function': (peer) => peer.fixture.machine.reset(0, 'function'),
  'reset by software': (peer) => {
    peer.fixture.driver.reset();
    peer.fixture.host.quietBecause = 'the function was reset';
  },
  'loss of the guest': (peer) => peer.fixture.machine.reset(0, 'lost'),
};

/** True when the kick lists are empty and no credit is held. */
function isQuiet({ fixture }: PacketPeer): boolean {
  const held = [CSR.COMPLETION_CREDITS_USED, CSR.EXECUTION_CREDITS_USED, CSR.KICK_LIST_LENGTH];
  return held.every((offset) => fixture.read(offset) === 0);
}

for (const [name, end] of Object.entries(endings)) {
  const options = { timeout: 1, retryCount: 1, rnrRetry: 1 };

  t.test(`hazard 17: no credit leaks on ${name}`, async (t) => {
    const peer = new PacketPeer({ ...options, fixture: { adapter: TWO_LANES } });
    const { fixture } = peer;
    post(peer.qp, 40);
    peer.take();
    t.equal(fixture.read(CSR.COMPLETION_CREDITS_USED), 12);
    end(peer);
    peer.settle();
    t.ok(isQuiet(peer));
    // Late acknowledgements change nothing.
    for (const psn of [0, 5, 39]) peer.acknowledge(psn);
    t.equal(fixture.read(CSR.COMPLETION_CREDITS_USED), 0);
    if (fixture.host.quietBecause === '') fixture.finish();
  });

  t.test(`hazard 17: no execution credit leaks on ${name} while packets wait for the port`, async (t) => {
    const peer = new PacketPeer({ ...options, fixture: { adapter: { ...TWO_LANES, portQueuePackets: 8 } } });
    const { fixture, qp } = peer;
    const buffer = fixture.createBuffer(4096);
    for (let posted = 0; posted < 10; posted++) qp.post({ sges: [fixture.sge(buffer)] });
    peer.settle();
    t.ok(fixture.read(CSR.EXECUTION_CREDITS_USED) > 1, `${fixture.read(CSR.EXECUTION_CREDITS_USED)} are out`);
    end(peer);
    peer.settle();
    t.ok(isQuiet(peer), fixture.machine.describe());
    for (const psn of [0, 5, 159]) peer.acknowledge(psn);
    t.ok(isQuiet(peer));
    if (fixture.host.quietBecause === '') fixture.finish();
  });
}

t.test('hazard 17: no credit leaks on errors of commands or without acknowledgements', async (t) => {
  for (const serviceType of [ServiceType.UC, ServiceType.RC]) {
    const fixture = new AdapterFixture({ adapter: TWO_LANES });
    const { a, b } = connect(fixture, { serviceType });
    for (let count = 0; count < 30; count++) fixture.postReceive(b, 8);
    post(a, 5);
    a.post({ sges: [{ address: 0, length: 8, lkey: 1 }] });
    a.post({ header: { opcode: 0x77 } });
    post(a, 20);
    fixture.finish();
    t.ok(a.parts.sendCq.drain().length > 0);
  }
  const fixture = new AdapterFixture({ adapter: TWO_LANES });
  const { sender, to } = fixture.createPair();
  for (let count = 0; count < 10; count++) sender.post(to());
  sender.post({ header: { opcode: SendOpcode.RDMA_READ } });
  for (let count = 0; count < 10; count++) sender.post(to());
  fixture.finish();
  t.equal(sender.parts.sendCq.drain().length, 21);
});

t.test('hazard 18: a completion credit whose ACK was lost returns once, at the timeout', async (t) => {
  const peer = new PacketPeer({ timeout: 1, retryCount: 0, fixture: { adapter: TWO_LANES } });
  post(peer.qp, 3);
  peer.take();
  t.equal(peer.fixture.read(CSR.COMPLETION_CREDITS_USED), 3);
  peer.wait(1e9);
  const statuses = peer.qp.parts.sendCq.drain().map(({ status }) => status);
  t.same(statuses, [CompletionStatus.RETRY_EXCEEDED, CompletionStatus.FLUSHED, CompletionStatus.FLUSHED]);
  t.equal(peer.fixture.read(CSR.COMPLETION_CREDITS_USED), 0);
  peer.acknowledge(2);
  t.equal(peer.fixture.read(CSR.COMPLETION_CREDITS_USED), 0, 'after a late ACK');
  t.notOk(peer.qp.parts.sendCq.ready);
  peer.fixture.finish();
});

t.test('hazard 18: repeated ACKs after a retry release the credit once', async (t) => {
  const peer = new PacketPeer({ timeout: 1, retryCount: 3, fixture: { adapter: TWO_LANES } });
  const other = another(peer);
  post(peer.qp, 3);
  post(other, 2);
  peer.take();
  peer.wait(20_000);
  t.ok(peer.take().length >= 3, 'sent again');
  const used = (): number => peer.fixture.read(CSR.COMPLETION_CREDITS_USED);
  t.equal(used(), 5);
  peer.acknowledge(2);
  t.equal(used(), 2);
  peer.acknowledge(2);
  t.equal(used(), 2, 'credits of the other QP are still held');
  peer.acknowledge(1, { destQpn: other.qpn });
  t.equal(peer.qp.parts.sendCq.drain().length + other.parts.sendCq.drain().length, 5);
  peer.fixture.finish();
});

/** Ways in which a guest's memory is lost while answers are awaited. */
const losses: Record<string, (peer: PacketPeer) => void> = {
  'bus mastering is turned off': ({ fixture }) => {
    fixture.access.port.setBusMaster(false);
    fixture.host.quietBecause = 'bus mastering is off';
  },
  'all memory is unmapped': ({ fixture }) => {
    const { memory } = fixture.host;
    memory.protect(memory.base, memory.lengthBytes, PageAccess.UNMAPPED);
    fixture.access.port.memoryUnmapped(memory.base, memory.lengthBytes);
  },
};

for (const [what, lose] of Object.entries(losses))
  t.test(`hazard 42: ${what} while answers are awaited: nothing is written, every credit returns`, async (t) => {
    const peer = new PacketPeer({ timeout: 1, retryCount: 1, fixture: { adapter: TWO_LANES } });
    const { fixture, qp } = peer;
    post(qp, 3);
    qp.post({
      opcode: SendOpcode.RDMA_READ,
      sges: [fixture.sge(fixture.createBuffer(64))],
      remote: { address: 0, rkey: 1 },
    });
    post(qp, 20);
    peer.take();
    t.ok(fixture.read(CSR.COMPLETION_CREDITS_USED) > 4);
    lose(peer);
    const before = fixture.host.memory.bytes.slice();
    peer.acknowledge(2);
    peer.respond(BthOpcode.RC_RDMA_READ_RESPONSE_ONLY, 3, { syndromeKind: AethKind.ACK }, new Uint8Array(64).fill(1));
    for (let psn = 4; psn < 24; psn++) {
      peer.take();
      peer.acknowledge(psn);
    }
    peer.wait(1e9);
    t.ok(isQuiet(peer), fixture.machine.describe());
    t.ok(Buffer.compare(fixture.host.memory.bytes, before) === 0, 'memory is untouched');
  });

t.test('hazard 19: credits reduced below their use converge, and no count is negative', async (t) => {
  const peer = new PacketPeer({ fixture: { adapter: TWO_LANES } });
  const { lanes } = peer.adapter;
  post(peer.qp, 40);
  peer.take();
  const { completion } = lanes;
  lanes.setLane(0, { executionCredits: 0, completionCredits: 1, sharedCompletion: false });
  lanes.setLane(1, { completionCredits: 15 });
  t.same(
    [completion.lanes[0].privateUsed, completion.sharedUsed, completion.shared],
    [4, 8, 0],
    'credits in use stay charged to their source',
  );
  const other = another(peer);
  post(other, 20);
  t.equal(peer.take().length, 4, 'private credits that another lane still uses are not available');
  for (let psn = 0; psn < 11; psn++) peer.acknowledge(psn);
  t.equal(peer.take().length, 11, 'they become available as its commands end');
  t.same([completion.lanes[0].privateUsed, completion.sharedUsed], [1, 1], 'the first lane is down to one credit');
  peer.acknowledge(11);
  t.equal(peer.take().length, 1);
  t.same([completion.lanes[0].privateUsed, completion.sharedUsed], [1, 0]);
  t.same([completion.used, completion.total], [16, 16]);
  peer.qp.destroy();
  other.destroy();
  peer.fixture.finish();
});

t.test('hazard 19: commands in the list of a lane that is taken away keep their order', async (t) => {
  const peer = new PacketPeer({ fixture: { adapter: { ...TWO_LANES, laneCount: 4 } } });
  const { lanes } = peer.adapter;
  post(peer.qp, 30);
  const seen = peer.take().length;
  const first = lanes.lanes.findIndex(({ length }) => length > 0);
  lanes.setMap(0, 0, [1 << ((first + 1) % 4)]);
  post(peer.qp, 10);
  t.equal(lanes.lanes[first].length, 40 - seen, 'new commands stay on the lane of the listed ones');
  const order = [...Array(seen).keys()];
  for (let psn = 0; order.length < 40; psn++) {
    peer.acknowledge(psn);
    for (const packet of peer.take()) order.push((packet.psn - peer.firstPsn) & PSN_MASK);
  }
  t.same(order, [...Array(40).keys()], 'in order');
  peer.acknowledge(39);
  post(peer.qp, 1);
  t.equal(peer.take().length, 1);
  t.equal(lanes.lanes[(first + 1) % 4].launches, 1, 'afterwards the new map applies');
  peer.acknowledge(40);
  peer.fixture.finish();
});
