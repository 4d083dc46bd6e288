// SPDX-License-Identifier: Apache-2.0
/**
 * FLUSH and ATOMIC WRITE at the requester, and between two QPs (IBTA annex A19; docs/COMPLIANCE.md
 * says which rules come from practice): packets, responses, resending, depth, fence, bad requests.
 */
import t from 'tap';
import { AethKind, BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  AccessFlag,
  CompletionOpcode,
  CompletionStatus,
  FaultKind,
  FlushSelectivity,
  PlacementType,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../driver/send-request.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { type Connected, connect, FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';
import { XrcFixture } from '../fixtures/xrc-fixture.ts';

const op = BthOpcode;
const { GLOBAL_VISIBILITY, PERSISTENCE } = PlacementType;
const { RANGE, MEMORY_REGION } = FlushSelectivity;
const { SUCCESS, BAD_RESPONSE_ERROR, REMOTE_ACCESS_ERROR, LOCAL_QP_OPERATION_ERROR, LOCAL_LENGTH_ERROR } =
  CompletionStatus;
const ALL = FULL_ACCESS | AccessFlag.FLUSH_GLOBAL | AccessFlag.FLUSH_PERSISTENT;
const VALUE = Uint8Array.of(8, 7, 6, 5, 4, 3, 2, 1);
const remote = { address: 0x1_2345_6780, rkey: 0x777 };
const flush = { placementType: GLOBAL_VISIBILITY, selectivity: RANGE, lengthBytes: 0x1234 };
const FLUSH: SendRequest = { opcode: SendOpcode.FLUSH, remote, flush };
const ATOMIC_WRITE: SendRequest = { opcode: SendOpcode.ATOMIC_WRITE, remote, inline: VALUE };

t.test('a FLUSH is one packet with FETH and RETH', async (t) => {
  ledger(t, 'A19', 'A FLUSH is one request packet with a FETH and, behind it, a RETH; it takes one PSN');
  const peer = new PacketPeer();
  peer.qp.post(FLUSH);
  peer.qp.post({ ...FLUSH, flush: { ...flush, placementType: PERSISTENCE, selectivity: MEMORY_REGION } });
  const common = { name: 'FLUSH', address: remote.address, rKey: remote.rkey, dmaLength: 0x1234, ackRequest: 1 };
  const packets = peer.take();
  t.match(packets, [
    { ...common, psn: 100, placementType: GLOBAL_VISIBILITY, selectivity: RANGE },
    { ...common, psn: 101, placementType: PERSISTENCE, selectivity: MEMORY_REGION },
  ]);
  t.same([...(packets[1]?.bytes.subarray(8 + 12, 8 + 16) ?? [])], [0, 0, 0, 0x12], 'the FETH follows the BTH');
  t.equal(peer.qp.parts.sendCq.ready, false, 'no completion without a response');
  peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 0).respond(op.RC_RDMA_READ_RESPONSE_ONLY, 1);
  for (let count = 0; count < 2; count++)
    t.match(peer.qp.parts.sendCq.take(), { status: SUCCESS, opcode: CompletionOpcode.FLUSH, byteLength: 0 });
  peer.fixture.finish();
});

t.test('an ATOMIC WRITE is one packet with RETH and 8 bytes', async (t) => {
  ledger(t, 'A19', 'An ATOMIC WRITE is one request packet with a RETH and 8 bytes of payload; it takes one PSN');
  const peer = new PacketPeer();
  const value = peer.fixture.createBuffer(VALUE);
  peer.qp.post(ATOMIC_WRITE);
  peer.qp.post({ opcode: SendOpcode.ATOMIC_WRITE, remote, sges: [peer.fixture.sge(value)] });
  const packets = peer.take();
  const common = { name: 'ATOMIC_WRITE', address: remote.address, rKey: remote.rkey, dmaLength: 8, ackRequest: 1 };
  t.match(packets, [
    { ...common, psn: 100 },
    { ...common, psn: 101 },
  ]);
  t.ok(packets.every(({ payload }) => payload.join() === VALUE.join()));
  peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 0).respond(op.RC_RDMA_READ_RESPONSE_ONLY, 1);
  for (let count = 0; count < 2; count++)
    t.match(peer.qp.parts.sendCq.take(), { status: SUCCESS, opcode: CompletionOpcode.ATOMIC_WRITE, byteLength: 0 });
  peer.fixture.finish();
});

t.test('a lost request or response is asked for again', async (t) => {
  ledger(t, 'A19', 'A FLUSH or ATOMIC WRITE without response is sent again with its PSN, and all behind it');
  const peer = new PacketPeer();
  peer.qp.post({ opcode: SendOpcode.RDMA_WRITE, remote, inline: VALUE });
  peer.qp.post(ATOMIC_WRITE);
  peer.qp.post(FLUSH);
  t.same(peer.takeRequests(), ['RDMA_WRITE_ONLY 0', 'ATOMIC_WRITE 1', 'FLUSH 2']);
  peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 2);
  t.same(peer.takeRequests(), ['ATOMIC_WRITE 1', 'FLUSH 2'], 'an implied NAK');
  t.match(peer.qp.parts.sendCq.take(), { status: SUCCESS, opcode: CompletionOpcode.RDMA_WRITE });
  peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 1);
  t.match(peer.qp.parts.sendCq.take(), { status: SUCCESS, opcode: CompletionOpcode.ATOMIC_WRITE });
  peer.wait(5_000_000);
  t.same(peer.takeRequests(), ['FLUSH 2'], 'the timeout');
  peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 2);
  t.match(peer.qp.parts.sendCq.take(), { status: SUCCESS, opcode: CompletionOpcode.FLUSH });
  peer.fixture.finish();
});

t.test('an acknowledgement is no answer', async (t) => {
  ledger(t, 'A19', 'An acknowledgement of a FLUSH or ATOMIC WRITE without its response is an implied NAK');
  for (const request of [FLUSH, ATOMIC_WRITE]) {
    const peer = new PacketPeer();
    peer.qp.post(request);
    const [first] = peer.takeRequests();
    peer.acknowledge(0);
    t.same(peer.takeRequests(), [first]);
    peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 0);
    t.equal(peer.qp.parts.sendCq.take().status, SUCCESS);
  }
});

t.test('a response with payload, or that of an atomic, is bad', async (t) => {
  ledger(t, 'A19', 'Any response but an empty READ RESPONSE ONLY ends a FLUSH or ATOMIC WRITE with "bad response"');
  for (const request of [FLUSH, ATOMIC_WRITE]) {
    for (const [opcode, payload] of [
      [op.RC_RDMA_READ_RESPONSE_ONLY, VALUE],
      [op.RC_RDMA_READ_RESPONSE_FIRST, new Uint8Array(256)],
      [op.RC_ATOMIC_ACKNOWLEDGE, new Uint8Array(0)],
    ] as const) {
      const peer = new PacketPeer();
      peer.qp.post(request);
      peer.take();
      peer.respond(opcode, 0, {}, payload);
      t.equal(peer.qp.parts.sendCq.take().status, BAD_RESPONSE_ERROR);
    }
    for (const syndromeKind of [AethKind.RNR_NAK, AethKind.NAK]) {
      const peer = new PacketPeer();
      peer.qp.post(request);
      peer.take();
      peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 0, { syndromeKind });
      t.equal(peer.qp.parts.sendCq.take().status, BAD_RESPONSE_ERROR, 'a NAK is a packet of its own');
    }
  }
});

t.test('both count as outstanding READs', async (t) => {
  ledger(t, 'A19', 'FLUSH and ATOMIC WRITE count against the outstanding READs and atomics; a fence waits for them');
  const peer = new PacketPeer({ maxReads: 2 });
  for (const request of [FLUSH, ATOMIC_WRITE, FLUSH]) peer.qp.post(request);
  t.same(peer.takeRequests(), ['FLUSH 0', 'ATOMIC_WRITE 1']);
  peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 0);
  t.same(peer.takeRequests(), ['FLUSH 2']);
  peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 1);
  peer.qp.post({ opcode: SendOpcode.RDMA_WRITE, remote, inline: VALUE, fence: true });
  t.same(peer.takeRequests(), []);
  peer.respond(op.RC_RDMA_READ_RESPONSE_ONLY, 2);
  t.same(peer.takeRequests(), ['RDMA_WRITE_ONLY 3']);
});

t.test('a refusal ends the request', async (t) => {
  const peer = new PacketPeer();
  peer.qp.post(FLUSH);
  peer.take();
  peer.nak(0, NakCode.REMOTE_ACCESS_ERROR);
  t.match(peer.qp.parts.sendCq.take(), { status: REMOTE_ACCESS_ERROR, opcode: CompletionOpcode.FLUSH });
});

type Row = readonly [name: string, request: SendRequest, status: CompletionStatus, cause: FaultKind];
const malformed: Row[] = [
  [
    'a FLUSH without placement',
    { ...FLUSH, flush: { ...flush, placementType: 0 } },
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_OPCODE,
  ],
  [
    'a FLUSH with a reserved placement',
    { ...FLUSH, flush: { ...flush, placementType: 4 } },
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_OPCODE,
  ],
  [
    'a FLUSH with a reserved selectivity',
    { ...FLUSH, flush: { ...flush, selectivity: 2 } },
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_OPCODE,
  ],
  ['a FLUSH with an SGE', { ...FLUSH, header: { sgeCount: 1 } }, LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_SGE],
  ['a FLUSH with payload', { ...FLUSH, inline: VALUE }, LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_SGE],
  [
    'a FLUSH of more than 2^31 bytes',
    { ...FLUSH, flush: { ...flush, lengthBytes: 0x8000_0001 } },
    LOCAL_LENGTH_ERROR,
    FaultKind.COMMAND_LENGTH,
  ],
  [
    'an ATOMIC WRITE of 4 bytes',
    { ...ATOMIC_WRITE, inline: VALUE.subarray(0, 4) },
    LOCAL_LENGTH_ERROR,
    FaultKind.COMMAND_LENGTH,
  ],
  [
    'an ATOMIC WRITE of 16 bytes',
    { ...ATOMIC_WRITE, inline: new Uint8Array(16) },
    LOCAL_LENGTH_ERROR,
    FaultKind.COMMAND_LENGTH,
  ],
];

for (const [name, request, status, cause] of malformed) {
  t.test(`bad request: ${name}`, async (t) => {
    ledger(t, 'A19', `A bad request sends nothing and completes in error: ${name}`);
    const peer = new PacketPeer();
    peer.qp.post(request);
    t.same(peer.takeRequests(), []);
    t.match(peer.qp.parts.sendCq.take(), { status, vendorError: cause });
  });
}

t.test('services other than RC have neither', async (t) => {
  ledger(t, 'A19', 'UC and XRC queue pairs send neither FLUSH nor ATOMIC WRITE');
  for (const request of [FLUSH, ATOMIC_WRITE]) {
    const peer = new PacketPeer({ serviceType: ServiceType.UC });
    peer.qp.post(request);
    t.same(peer.takeRequests(), []);
    t.equal(peer.qp.parts.sendCq.take().status, LOCAL_QP_OPERATION_ERROR);
    const xrc = new XrcFixture();
    t.equal(xrc.send(xrc.createQueue().srq.srqn, request), LOCAL_QP_OPERATION_ERROR);
  }
});

/** A connection whose memory may be flushed. */
function connectAll(fixture: AdapterFixture): Connected {
  const connected = connect(fixture, { access: ALL });
  return { ...connected, region: fixture.driver.createDmaRegion(fixture.pd, ALL) };
}

t.test('WRITE, FLUSH and ATOMIC WRITE between two queue pairs', async (t) => {
  ledger(t, 'A19', 'An ATOMIC WRITE behind a FLUSH takes effect when the FLUSH is done');
  const fixture = new AdapterFixture();
  const { a, b, region } = connectAll(fixture);
  const log = fixture.createBuffer(1000);
  const pointer = fixture.createBuffer(8);
  const rkey = region.rkey;
  for (let round = 1; round <= 50; round++) {
    const data = fixture.createBuffer(fixture.random.bytes(1000));
    a.post({
      opcode: SendOpcode.RDMA_WRITE,
      sges: [fixture.sge(data)],
      remote: { address: log.address, rkey },
      signaled: false,
    });
    a.post({ ...FLUSH, flush: { ...flush, lengthBytes: 1000 }, remote: { address: log.address, rkey } });
    a.post({ ...ATOMIC_WRITE, inline: new Uint8Array(8).fill(round), remote: { address: pointer.address, rkey } });
    t.match(a.parts.sendCq.take(), { status: SUCCESS, opcode: CompletionOpcode.FLUSH });
    t.match(a.parts.sendCq.take(), { status: SUCCESS, opcode: CompletionOpcode.ATOMIC_WRITE });
    t.same(log.bytes, data.bytes);
    t.ok(pointer.bytes.every((byte) => byte === round));
  }
  t.equal(b.parts.receiveCq.ready, false, 'the responder has no completions');
  fixture.finish();
});
