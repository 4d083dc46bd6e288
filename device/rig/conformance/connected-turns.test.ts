// SPDX-License-Identifier: Apache-2.0
/**
 * QPs that must wait do not delay others: without work, with a full port, in an RNR wait, with an
 * invalid request (US 9,069,485 par. 47).
 */
import t from 'tap';
import { AethKind, BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const MTU = 256;
const one = { inline: Uint8Array.of(1) };

/** A second QP beside that of `peer`, connected to the same peer. */
function another({ fixture }: PacketPeer): DriverQueuePair {
  const sendCq = fixture.createCompletionQueue();
  const creation = { serviceType: ServiceType.RC };
  const qp = fixture.driver.createQueuePair({ pd: fixture.pd, sendCq, sendEntriesLog2: 6, creation });
  const path = { port: 1, dlid: fixture.lidOf(2), remoteQpn: 0x77, pathMtu: 1, sendPsn: 100, timeout: 16 };
  return qp.connect({ reliable: true, ...path });
}

t.test('QPs that wake without work take no turn from others', async (t) => {
  const peer = new PacketPeer();
  const idle = [another(peer), another(peer), another(peer)];
  for (const qp of idle) qp.post(one);
  peer.take();
  peer.qp.post({ sges: [peer.fixture.sge(peer.fixture.createBuffer(200 * MTU))] });
  peer.settle();
  const port = peer.adapter.ports[0];
  const queues = port.transmitQueues;
  t.ok(port.congested, 'it waits for the port');
  for (const { qpn: destQpn } of idle) peer.acknowledge(0, { destQpn });
  while (queues.count > 0) queues.next(undefined)?.shift();
  peer.adapter.run(64);
  t.ok(queues.count > 0, 'and goes on as soon as there is room');
  peer.take();
  peer.acknowledge(199);
  peer.fixture.finish();
});

t.test('requests after an invalid one return their credits while they wait', async (t) => {
  const peer = new PacketPeer({ timeout: 0 });
  const other = another(peer);
  other.post(one);
  other.post({ sges: [{ address: 0, length: 8, lkey: 1 }] });
  for (let count = 0; count < 40; count++) other.post(one);
  peer.take();
  t.equal(peer.fixture.read(CSR.EXECUTION_CREDITS_USED), 0);
  peer.qp.post(one);
  t.same(peer.takeRequests(), ['SEND_ONLY 0']);
  peer.acknowledge(0, { destQpn: other.qpn });
  const statuses = other.parts.sendCq.drain().map(({ status, queueSequence }) => [status, queueSequence]);
  t.same(statuses.slice(0, 3), [
    [CompletionStatus.SUCCESS, 0],
    [CompletionStatus.LOCAL_PROTECTION_ERROR, 1],
    [CompletionStatus.FLUSHED, 2],
  ]);
  t.equal(statuses.length, 42);
});

t.test('requests in an RNR wait hold no execution credit', async (t) => {
  const peer = new PacketPeer();
  for (let count = 0; count < 60; count++) peer.qp.post(one);
  peer.take();
  const fields = { syndromeKind: AethKind.RNR_NAK, syndromeValue: 31 };
  peer.respond(BthOpcode.RC_ACKNOWLEDGE, 0, fields);
  t.equal(peer.fixture.read(CSR.EXECUTION_CREDITS_USED), 0);
  const other = another(peer);
  other.post(one);
  t.equal(peer.take().length, 1);
});
