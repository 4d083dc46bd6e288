// SPDX-License-Identifier: Apache-2.0
/**
 * FLUSH and ATOMIC WRITE at the responder (IBTA annex A19; docs/COMPLIANCE.md says which rules come
 * from practice): effects, answers, duplicates, order, refusals.
 */
import t from 'tap';
import { BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import type { PacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import {
  AccessFlag,
  EventType,
  FlushSelectivity,
  PlacementType,
  QpState,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { Buffer } from '../fixtures/adapter-fixture.ts';
import { FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer, type PeerOptions } from '../fixtures/packet-peer.ts';
import { AccessKind } from '../machine/access-log.ts';

const op = BthOpcode;
const { GLOBAL_VISIBILITY, PERSISTENCE } = PlacementType;
const { RANGE, MEMORY_REGION } = FlushSelectivity;
const { FLUSH_GLOBAL, FLUSH_PERSISTENT } = AccessFlag;
const ALL = FULL_ACCESS | FLUSH_GLOBAL | FLUSH_PERSISTENT;
const VALUE = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);

function newPeer(options: PeerOptions = {}): PacketPeer {
  return new PacketPeer({ localAccess: ALL, access: ALL, ...options });
}

function flushOf(peer: PacketPeer, buffer: Buffer, fields: Partial<PacketFields> = {}): Partial<PacketFields> {
  return { ...peer.target(buffer), placementType: GLOBAL_VISIBILITY, selectivity: RANGE, ...fields };
}

t.test('a FLUSH is answered by an empty READ response', async (t) => {
  ledger(t, 'A19', 'A FLUSH is answered by one READ RESPONSE ONLY without payload, which counts as a message');
  const peer = newPeer();
  const buffer = peer.remoteBuffer(100);
  for (const [index, fields] of [
    {},
    { placementType: PERSISTENCE },
    { placementType: GLOBAL_VISIBILITY | PERSISTENCE },
    { dmaLength: 0 },
    { selectivity: MEMORY_REGION },
    { selectivity: MEMORY_REGION, virtualAddressHigh: 0, virtualAddressLow: 3, dmaLength: 0xffff_ffff },
  ].entries()) {
    const answer = peer.request(op.RC_FLUSH, flushOf(peer, buffer, fields)).takeOne();
    t.match(answer, { name: 'RDMA_READ_RESPONSE_ONLY', psn: 500 + index, syndromeKind: 0, msn: 1 + index });
    t.equal(answer.payload.length, 0);
  }
  peer.fixture.finish();
});

/** Bytes of a WRITE that are in memory when its answer, or that of the FLUSH after it, leaves. */
function placedAtAnswer(seed: number, flushes: boolean): number {
  // With a receive queue of its own the QP would read its tail for the credits of each answer.
  const peer = newPeer({ shared: true, fixture: { ordering: { mode: 'adversarial', seed }, memoryBytes: 1 << 20 } });
  const buffer = peer.remoteBuffer(256);
  peer.put(op.RC_RDMA_WRITE_ONLY, { ...peer.target(buffer), ackRequest: 1 }, new Uint8Array(256).fill(9));
  if (flushes) peer.put(op.RC_FLUSH, flushOf(peer, buffer, { psn: 501 }));
  const { machine } = peer.fixture;
  // The check of invariants reads registers, which pushes all writes.
  machine.onStep = () => {};
  const { transmitQueues } = peer.adapter.ports[0];
  machine.runUntil(() => transmitQueues.count > 0, 'an answer');
  return buffer.bytes.filter((byte) => byte === 9).length;
}

t.test('earlier writes are in memory when a FLUSH is answered', async (t) => {
  ledger(t, 'A19', 'When a FLUSH is answered, the data of all earlier WRITEs is visible in memory');
  let late = 0;
  for (let seed = 1; seed <= 20; seed++) {
    if (placedAtAnswer(seed, false) < 256) late++;
    t.equal(placedAtAnswer(seed, true), 256, `seed ${seed}`);
  }
  t.ok(late > 0, 'an acknowledgement alone promises nothing');
});

t.test('an ATOMIC WRITE stores 8 bytes at once and is answered by an empty READ response', async (t) => {
  ledger(t, 'A19', 'An ATOMIC WRITE stores its 8 bytes in one store, in the order of its payload');
  ledger(t, 'A19', 'An ATOMIC WRITE is answered by one READ RESPONSE ONLY without payload');
  const peer = newPeer();
  const buffer = peer.remoteBuffer(24);
  const { log } = peer.fixture.host;
  const before = log.count;
  const answer = peer.request(op.RC_ATOMIC_WRITE, peer.target(buffer, 8, 8), VALUE).takeOne();
  t.match(answer, { name: 'RDMA_READ_RESPONSE_ONLY', psn: 500, syndromeKind: 0, msn: 1 });
  t.equal(answer.payload.length, 0);
  t.same([...buffer.bytes], [...new Uint8Array(8), ...VALUE, ...new Uint8Array(8)]);
  const stores = log
    .since(before)
    .filter(({ address, kind }) => address === buffer.address + 8 && kind !== AccessKind.BODY);
  t.match(stores, [{ kind: AccessKind.VALIDITY, lengthBytes: 8 }]);
  peer.fixture.finish();
});

t.test('a duplicate is answered again and not executed again', async (t) => {
  ledger(t, 'A19', 'A duplicate FLUSH or ATOMIC WRITE gets the same answer and has no effect');
  const peer = newPeer();
  const buffer = peer.remoteBuffer(8);
  peer.request(op.RC_ATOMIC_WRITE, peer.target(buffer), VALUE).request(op.RC_FLUSH, flushOf(peer, buffer)).take();
  buffer.bytes.fill(0x77);
  peer.request(op.RC_ATOMIC_WRITE, { ...peer.target(buffer), psn: 500 }, VALUE);
  t.match(peer.takeOne(), { name: 'RDMA_READ_RESPONSE_ONLY', psn: 500, msn: 1 });
  peer.request(op.RC_FLUSH, flushOf(peer, buffer, { psn: 501 }));
  t.match(peer.takeOne(), { name: 'RDMA_READ_RESPONSE_ONLY', psn: 501, msn: 2 });
  t.ok(buffer.bytes.every((byte) => byte === 0x77));
  peer.request(op.RC_RDMA_WRITE_ONLY, peer.target(buffer), VALUE);
  t.same(peer.takeAnswers(), ['ACK 502'], 'the connection goes on');
  peer.fixture.finish();
});

t.test('both take responder resources', async (t) => {
  ledger(t, 'A19', 'FLUSH and ATOMIC WRITE take a responder resource as READs do; without one they are invalid');
  for (const opcode of [op.RC_FLUSH, op.RC_ATOMIC_WRITE]) {
    const peer = newPeer({ maxReads: 0 });
    const buffer = peer.remoteBuffer(8);
    const fields = opcode === op.RC_FLUSH ? flushOf(peer, buffer) : peer.target(buffer);
    peer.request(opcode, fields, opcode === op.RC_FLUSH ? undefined : VALUE);
    t.same(peer.takeAnswers(), [`NAK ${NakCode.INVALID_REQUEST} 500`]);
  }
});

type Row = readonly [
  name: string,
  code: NakCode,
  request: (peer: PacketPeer, buffer: Buffer) => PacketPeer,
  options?: PeerOptions,
];

const flush =
  (fields: (peer: PacketPeer) => Partial<PacketFields>): Row[2] =>
  (peer, buffer) =>
    peer.request(op.RC_FLUSH, flushOf(peer, buffer, fields(peer)));
const write =
  (fields: (peer: PacketPeer) => Partial<PacketFields>, payload = VALUE): Row[2] =>
  (peer, buffer) =>
    peer.request(op.RC_ATOMIC_WRITE, { ...peer.target(buffer, 8), ...fields(peer) }, payload);
const { INVALID_REQUEST, REMOTE_ACCESS_ERROR } = NakCode;

const refusals: Row[] = [
  ['a FLUSH without placement', INVALID_REQUEST, flush(() => ({ placementType: 0 }))],
  ['a FLUSH with a reserved placement', INVALID_REQUEST, flush(() => ({ placementType: 5 }))],
  ['a FLUSH with a reserved selectivity', INVALID_REQUEST, flush(() => ({ selectivity: 2 }))],
  ['a FLUSH of more than 2^31 bytes', INVALID_REQUEST, flush(() => ({ dmaLength: 0x8000_0001 }))],
  [
    'a FLUSH that the QP does not allow',
    INVALID_REQUEST,
    flush(() => ({})),
    { access: FULL_ACCESS | FLUSH_PERSISTENT },
  ],
  [
    'a FLUSH of which the QP allows half',
    INVALID_REQUEST,
    flush(() => ({ placementType: 3 })),
    { access: FULL_ACCESS | FLUSH_GLOBAL },
  ],
  ['a FLUSH for visibility', REMOTE_ACCESS_ERROR, flush(() => ({})), { localAccess: FULL_ACCESS | FLUSH_PERSISTENT }],
  [
    'a FLUSH for persistence',
    REMOTE_ACCESS_ERROR,
    flush(() => ({ placementType: PERSISTENCE })),
    { localAccess: FULL_ACCESS | FLUSH_GLOBAL },
  ],
  [
    'a FLUSH of a region without the right',
    REMOTE_ACCESS_ERROR,
    flush(() => ({ selectivity: MEMORY_REGION })),
    { localAccess: FULL_ACCESS },
  ],
  ['a FLUSH with a wrong key', REMOTE_ACCESS_ERROR, flush(({ region }) => ({ rKey: (region.rkey ^ 1) >>> 0 }))],
  [
    'a FLUSH of a region with a wrong key',
    REMOTE_ACCESS_ERROR,
    flush(({ region }) => ({ rKey: (region.rkey ^ 1) >>> 0, selectivity: MEMORY_REGION })),
  ],
  ['a FLUSH beyond the region', REMOTE_ACCESS_ERROR, flush(() => ({ dmaLength: 0x7000_0000 }))],
  ['an ATOMIC WRITE of 4 bytes', INVALID_REQUEST, write(() => ({ dmaLength: 4 }), VALUE.subarray(0, 4))],
  ['an ATOMIC WRITE of 16 bytes', INVALID_REQUEST, write(() => ({ dmaLength: 16 }), new Uint8Array(16))],
  ['an ATOMIC WRITE with another length', INVALID_REQUEST, write(() => ({ dmaLength: 16 }))],
  [
    'an ATOMIC WRITE that is not aligned',
    INVALID_REQUEST,
    (peer, buffer) => peer.request(op.RC_ATOMIC_WRITE, peer.target(buffer, 8, 4), VALUE),
  ],
  [
    'an ATOMIC WRITE that the QP does not allow',
    INVALID_REQUEST,
    write(() => ({})),
    { access: ALL & ~AccessFlag.REMOTE_WRITE },
  ],
  [
    'an ATOMIC WRITE into memory that is read only',
    REMOTE_ACCESS_ERROR,
    write(() => ({})),
    { localAccess: ALL & ~AccessFlag.REMOTE_WRITE },
  ],
  ['an ATOMIC WRITE with a wrong key', REMOTE_ACCESS_ERROR, write(({ region }) => ({ rKey: (region.rkey ^ 1) >>> 0 }))],
  [
    'an ATOMIC WRITE inside a message',
    INVALID_REQUEST,
    (peer, buffer) => {
      peer.request(op.RC_RDMA_WRITE_FIRST, peer.target(buffer, 300), new Uint8Array(256)).take();
      return peer.request(op.RC_ATOMIC_WRITE, peer.target(buffer, 8), VALUE);
    },
  ],
];

for (const [name, code, request, options] of refusals) {
  t.test(`refused: ${name}`, async (t) => {
    ledger(
      t,
      'A19',
      `Refused by NAK ${code === INVALID_REQUEST ? '"invalid request"' : '"remote access error"'}: ${name}`,
    );
    const peer = newPeer(options);
    const buffer = peer.remoteBuffer(512);
    request(peer, buffer);
    const psn = name.endsWith('inside a message') ? 501 : 500;
    t.same(peer.takeAnswers().slice(-1), [`NAK ${code} ${psn}`]);
    t.equal(peer.qp.query().state, QpState.ERR);
    t.same(peer.events(), [code === INVALID_REQUEST ? EventType.QP_REQUEST_ERROR : EventType.QP_ACCESS_ERROR]);
    t.ok(buffer.bytes.every((byte) => byte === 0));
    peer.fixture.finish();
  });
}
