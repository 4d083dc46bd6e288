// SPDX-License-Identifier: Apache-2.0
/**
 * Shared receive queues: order, sharing, the limit event, and the effect of one QP's error on the
 * others (IBTA 10.2.9).
 */
import t from 'tap';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  CompletionStatus,
  EventType,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import type { DriverSharedReceiveQueue } from '../../rig/driver/shared-receive-queue.ts';
import { AdapterFixture, type Buffer } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { PacketPeer } from '../../rig/fixtures/packet-peer.ts';

interface Sharing {
  readonly fixture: AdapterFixture;
  readonly srq: DriverSharedReceiveQueue;
  readonly senders: DriverQueuePair[];
  readonly receivers: DriverQueuePair[];
}

/** `count` RC connections from port 1 to port 2 whose receivers share one queue. */
function share(count: number, limit = 0): Sharing {
  const fixture = new AdapterFixture();
  const srq = fixture.driver.createSharedReceiveQueue({ pd: fixture.pd, entriesLog2: 4, limit });
  const senders: DriverQueuePair[] = [];
  const receivers: DriverQueuePair[] = [];
  for (let index = 0; index < count; index++) {
    const creation = { serviceType: ServiceType.RC };
    const sender = fixture.createQueuePair({ state: 'reset', creation });
    const receiver = fixture.createQueuePair({ state: 'reset', creation: { ...creation, srqn: srq.srqn } });
    sender.connect({ reliable: true, port: 1, dlid: fixture.lidOf(2), remoteQpn: receiver.qpn });
    receiver.connect({ reliable: true, port: 2, dlid: fixture.lidOf(1), remoteQpn: sender.qpn });
    senders.push(sender);
    receivers.push(receiver);
  }
  return { fixture, srq, senders, receivers };
}

/** Posts a new buffer to the shared queue. */
function postTo(srq: DriverSharedReceiveQueue, fixture: AdapterFixture, lengthBytes: number): Buffer {
  const buffer = fixture.createBuffer(lengthBytes);
  srq.postReceive([fixture.sge(buffer)]);
  return buffer;
}

t.test('the QPs take receive WQEs in order of posting as they receive', async (t) => {
  ledger(t, '10.2.9', 'The QPs take the entries of a shared receive queue in their order as they receive');
  const { fixture, srq, senders, receivers } = share(3);
  const targets = Array.from({ length: 12 }, () => fixture.createBuffer(32));
  for (const target of targets) srq.postReceive([fixture.sge(target)]);
  for (let message = 0; message < 12; message++) {
    const turn = fixture.random.below(3);
    const content = fixture.createBuffer(fixture.random.bytes(32));
    senders[turn].post({ sges: [fixture.sge(content)] });
    t.equal(senders[turn].parts.sendCq.take().status, CompletionStatus.SUCCESS);
    const received = receivers[turn].parts.receiveCq.take();
    t.match(received, { queueSequence: message, srqn: srq.srqn, qpn: receivers[turn].qpn, byteLength: 32 });
    t.same(targets[message].bytes, content.bytes, `message ${message} is in its entry`);
  }
  fixture.finish();
});

t.test('the limit event comes once, when fewer WQEs than the limit are left', async (t) => {
  ledger(t, '10.2.9', 'The limit event comes once, when fewer entries than the limit are left');
  const { fixture, srq, senders } = share(1, 3);
  for (let entry = 0; entry < 4; entry++) srq.postReceive([fixture.sge(fixture.createBuffer(8))]);
  const content = fixture.createBuffer(8);
  const send = (): void => {
    senders[0].post({ sges: [fixture.sge(content)] });
    senders[0].parts.sendCq.take();
  };
  send();
  t.equal(fixture.asynchronous.walk().length, 0, 'three are left: not below the limit');
  send();
  t.match(fixture.asynchronous.take()[0], { eventType: EventType.SRQ_LIMIT, objectNumber: srq.srqn });
  send();
  t.equal(fixture.asynchronous.walk().length, 0, 'once only');
  srq.setLimit(2);
  t.match(fixture.asynchronous.take()[0], { eventType: EventType.SRQ_LIMIT }, 'set above the posted number: at once');
  fixture.finish();
});

t.test('a QP in error leaves the shared WQEs to the others and reports that it takes no more', async (t) => {
  ledger(t, '10.2.9', 'A QP in error leaves shared entries to the others and reports that it takes no more');
  const { fixture, srq, senders, receivers } = share(2);
  const target = fixture.createBuffer(8);
  srq.postReceive([fixture.sge(target)]);
  receivers[0].toError();
  fixture.machine.runUntilIdle();
  t.equal(receivers[0].parts.receiveCq.drain().length, 0, 'no entry was flushed');
  t.match(fixture.asynchronous.take()[0], { eventType: EventType.LAST_WQE_REACHED, objectNumber: receivers[0].qpn });
  const content = fixture.createBuffer(fixture.random.bytes(8));
  senders[1].post({ sges: [fixture.sge(content)] });
  t.equal(senders[1].parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.same(target.bytes, content.bytes);
  fixture.finish();
});

t.test('an empty shared queue makes senders wait; RDMA WRITE with immediate takes a WQE too', async (t) => {
  ledger(t, '10.2.9', 'An empty shared receive queue is answered by RNR NAKs');
  const { fixture, srq, senders, receivers } = share(1);
  const region = fixture.driver.createDmaRegion(fixture.pd, 0xf);
  const content = fixture.createBuffer(fixture.random.bytes(100));
  const remote = fixture.createBuffer(100);
  senders[0].post({
    opcode: SendOpcode.RDMA_WRITE_IMMEDIATE,
    sges: [fixture.sge(content)],
    remote: { address: remote.address, rkey: region.rkey },
    immediate: 77,
  });
  fixture.machine.runUntilIdle();
  t.equal(receivers[0].parts.receiveCq.drain().length, 0);
  srq.postReceive([]);
  t.equal(senders[0].parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.match(receivers[0].parts.receiveCq.take(), { immediate: 77, byteLength: 100, srqn: srq.srqn });
  t.same(remote.bytes, content.bytes);
  fixture.finish();
});

t.test('a shared queue cannot be destroyed while a QP uses it', async (t) => {
  const { fixture, srq, receivers } = share(1);
  t.throws(() => srq.destroy(), /IN_USE/);
  receivers[0].destroy();
  srq.destroy();
  t.equal(receivers[0].modify({ attributeMask: 1, state: QpState.ERR }).status, 4);
  fixture.finish();
});

for (const [name, take] of [
  ['reset', (qp: DriverQueuePair) => qp.toReset()],
  ['destroyed', (qp: DriverQueuePair) => qp.destroy()],
  ['moved to ERR', (qp: DriverQueuePair) => qp.toError()],
] as const) {
  t.test(`a QP that is ${name} in the middle of a message completes its shared WQE`, async (t) => {
    ledger(t, '10.2.9', `The shared entry of a message in progress completes as flushed when its QP is ${name}`);
    const peer = new PacketPeer({ shared: true });
    const { fixture, qp, srq } = peer;
    for (let entry = 0; entry < 2; entry++) srq?.postReceive([fixture.sge(fixture.createBuffer(512))]);
    peer.request(BthOpcode.RC_SEND_FIRST, {}, new Uint8Array(256));
    t.notOk(qp.parts.receiveCq.ready);
    take(qp);
    const [entry, more] = qp.parts.receiveCq.drain();
    t.match(entry, { status: CompletionStatus.FLUSHED, receive: 1, queueSequence: 0, srqn: srq?.srqn });
    t.equal(more, undefined, 'the WQE that was not taken stays in the queue');
    fixture.finish();
  });
}

t.test(
  'a QP that keeps its WQE for long stops no other QP: slots before the newest completed WQE are free',
  async (t) => {
    ledger(t, '10.2.9', 'An entry kept by a QP whose message does not go on keeps no other QP from the shared queue');
    const peer = new PacketPeer({ shared: true, serviceType: ServiceType.UC });
    const { fixture } = peer;
    const srq = peer.srq as DriverSharedReceiveQueue;
    const kept = postTo(srq, fixture, 512);
    const message = fixture.random.bytes(300);
    peer.request(BthOpcode.UC_SEND_FIRST, {}, message.subarray(0, 256));
    const creation = { serviceType: ServiceType.RC };
    const [sender, receiver] = [creation, { ...creation, srqn: srq.srqn }].map((each) =>
      fixture.createQueuePair({ state: 'reset', creation: each }),
    ) as [DriverQueuePair, DriverQueuePair];
    const here = { reliable: true, port: 1, dlid: fixture.lidOf(1) };
    sender.connect({ ...here, remoteQpn: receiver.qpn });
    receiver.connect({ ...here, remoteQpn: sender.qpn });
    const wrong: unknown[] = [];
    // Two laps of the ring of 64.
    for (let number = 1; number < 130; number++) {
      const target = postTo(srq, fixture, 16);
      const content = fixture.createBuffer(fixture.random.bytes(16));
      sender.post({ sges: [fixture.sge(content)] });
      const { status } = sender.parts.sendCq.take();
      const { queueSequence } = receiver.parts.receiveCq.take();
      const isWhole = content.bytes.every((byte, index) => byte === target.bytes[index]);
      if (status !== CompletionStatus.SUCCESS || queueSequence !== number || !isWhole)
        wrong.push({ number, status, queueSequence, isWhole });
    }
    t.same(wrong, []);
    peer.request(BthOpcode.UC_SEND_LAST, {}, message.subarray(256));
    t.match(peer.qp.parts.receiveCq.take(), { status: CompletionStatus.SUCCESS, queueSequence: 0, byteLength: 300 });
    t.same(kept.bytes.subarray(0, 300), message, 'in the buffer of its entry, though its slot has been filled again');
    fixture.finish();
  },
);

t.test('a QP between messages holds no shared WQE', async (t) => {
  const peer = new PacketPeer({ shared: true });
  peer.srq?.postReceive([]);
  peer.request(BthOpcode.RC_SEND_ONLY);
  t.match(peer.qp.parts.receiveCq.take(), { status: CompletionStatus.SUCCESS });
  peer.qp.toReset();
  peer.fixture.settle();
  t.notOk(peer.qp.parts.receiveCq.ready);
});
