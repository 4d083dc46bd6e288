// SPDX-License-Identifier: Apache-2.0
/**
 * Refusals by the responder and the state of the QP after them: opcodes, lengths, keys, rights,
 * receive entries (IBTA 9.7.4.1, 9.9.3).
 */
import t, { type Test } from 'tap';
import { BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  EventType,
  FaultKind,
  ManagementOpcode,
  QpState,
} from '../../../protocol/layout/gen/values.gen.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer, type PeerOptions } from '../fixtures/packet-peer.ts';

const op = BthOpcode;
const MTU = 256;
const FULL = new Uint8Array(MTU);
const bytes = (count: number): Uint8Array => new Uint8Array(count).fill(0x11);

/** Asserts that the QP is in error, the sender got this NAK for `psn`, and software this event. */
function refused(t: Test, peer: PacketPeer, code: number, psn: number, event: EventType | undefined): void {
  t.same(peer.takeAnswers().slice(-1), [`NAK ${code} ${psn}`]);
  t.equal(peer.qp.query().state, QpState.ERR);
  t.same(peer.events(), event === undefined ? [] : [event]);
  peer.request(op.RC_SEND_ONLY);
  t.same(peer.takeAnswers(), [], 'a QP in error answers nothing');
  peer.fixture.finish();
}

const sequences: [string, (peer: PacketPeer) => PacketPeer, number][] = [
  ['MIDDLE without FIRST', (peer) => peer.request(op.RC_SEND_MIDDLE, {}, FULL), 500],
  ['LAST without FIRST', (peer) => peer.request(op.RC_SEND_LAST, {}, bytes(4)), 500],
  ['WRITE LAST without FIRST', (peer) => peer.request(op.RC_RDMA_WRITE_LAST, {}, bytes(4)), 500],
  ['FIRST after FIRST', (peer) => peer.request(op.RC_SEND_FIRST, {}, FULL).request(op.RC_SEND_FIRST, {}, FULL), 501],
  ['ONLY after FIRST', (peer) => peer.request(op.RC_SEND_FIRST, {}, FULL).request(op.RC_SEND_ONLY, {}, bytes(4)), 501],
  [
    'WRITE MIDDLE after SEND FIRST',
    (peer) => peer.request(op.RC_SEND_FIRST, {}, FULL).request(op.RC_RDMA_WRITE_MIDDLE, {}, FULL),
    501,
  ],
  [
    'READ after SEND FIRST',
    (peer) =>
      peer.request(op.RC_SEND_FIRST, {}, FULL).request(op.RC_RDMA_READ_REQUEST, peer.target(peer.remoteBuffer(8))),
    501,
  ],
];

for (const [name, run, psn] of sequences) {
  t.test(`opcode sequence: ${name}`, async (t) => {
    ledger(t, '9.7.4.1', `An opcode out of sequence is an invalid request: ${name}`);
    const peer = new PacketPeer();
    peer.fixture.postReceive(peer.qp, 1024);
    refused(t, run(peer), NakCode.INVALID_REQUEST, psn, EventType.QP_REQUEST_ERROR);
  });
}

const lengths: [string, (peer: PacketPeer) => PacketPeer, number][] = [
  ['SEND FIRST shorter than the path MTU', (peer) => peer.request(op.RC_SEND_FIRST, {}, bytes(MTU - 4)), 500],
  ['SEND FIRST longer than the path MTU', (peer) => peer.request(op.RC_SEND_FIRST, {}, bytes(MTU + 4)), 500],
  ['SEND ONLY longer than the path MTU', (peer) => peer.request(op.RC_SEND_ONLY, {}, bytes(MTU + 4)), 500],
  [
    'SEND MIDDLE shorter than the path MTU',
    (peer) => peer.request(op.RC_SEND_FIRST, {}, FULL).request(op.RC_SEND_MIDDLE, {}, bytes(8)),
    501,
  ],
  [
    'SEND LAST without payload',
    (peer) => peer.request(op.RC_SEND_FIRST, {}, FULL).request(op.RC_SEND_LAST, {}, bytes(0)),
    501,
  ],
  [
    'WRITE ONLY with less payload than its DMA length',
    (peer) => peer.request(op.RC_RDMA_WRITE_ONLY, peer.target(peer.remoteBuffer(64)), bytes(60)),
    500,
  ],
  [
    'WRITE ONLY with more payload than its DMA length',
    (peer) => peer.request(op.RC_RDMA_WRITE_ONLY, peer.target(peer.remoteBuffer(64)), bytes(68)),
    500,
  ],
  [
    'WRITE FIRST with a DMA length of at most one packet',
    (peer) => peer.request(op.RC_RDMA_WRITE_FIRST, peer.target(peer.remoteBuffer(MTU)), FULL),
    500,
  ],
  [
    'WRITE MIDDLE that reaches the DMA length',
    (peer) =>
      peer
        .request(op.RC_RDMA_WRITE_FIRST, peer.target(peer.remoteBuffer(2 * MTU)), FULL)
        .request(op.RC_RDMA_WRITE_MIDDLE, {}, FULL),
    501,
  ],
  [
    'WRITE LAST that ends before the DMA length',
    (peer) =>
      peer
        .request(op.RC_RDMA_WRITE_FIRST, peer.target(peer.remoteBuffer(2 * MTU)), FULL)
        .request(op.RC_RDMA_WRITE_LAST, {}, bytes(MTU - 4)),
    501,
  ],
  [
    'READ of more than 2^31 bytes',
    (peer) => peer.request(op.RC_RDMA_READ_REQUEST, { ...peer.target(peer.remoteBuffer(8)), dmaLength: 0x8000_0001 }),
    500,
  ],
  [
    'WRITE of more than 2^31 bytes',
    (peer) =>
      peer.request(op.RC_RDMA_WRITE_FIRST, { ...peer.target(peer.remoteBuffer(8)), dmaLength: 0x8000_0001 }, FULL),
    500,
  ],
];

for (const [name, run, psn] of lengths) {
  t.test(`length: ${name}`, async (t) => {
    ledger(t, '9.7.4.1.6', `A wrong length is an invalid request: ${name}`);
    const peer = new PacketPeer();
    peer.fixture.postReceive(peer.qp, 1024);
    refused(t, run(peer), NakCode.INVALID_REQUEST, psn, EventType.QP_REQUEST_ERROR);
  });
}

t.test('a SEND longer than the receive entry is an invalid request', async (t) => {
  ledger(t, '9.9.3', 'A SEND longer than the receive entry is answered by a NAK for an invalid request');
  ledger(t, '9.9.3', 'A receive entry that is too short completes with a local length error, without an event');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 63);
  peer.request(op.RC_SEND_ONLY, {}, bytes(64));
  t.match(peer.qp.parts.receiveCq.poll(), { status: CompletionStatus.LOCAL_LENGTH_ERROR });
  refused(t, peer, NakCode.INVALID_REQUEST, 500, undefined);
});

t.test('a SEND that exceeds the receive entry with its second packet is an invalid request', async (t) => {
  ledger(t, '9.9.3', 'The length of a SEND is checked against the receive entry packet by packet');
  const peer = new PacketPeer();
  const buffer = peer.fixture.postReceive(peer.qp, MTU + 3);
  peer.request(op.RC_SEND_FIRST, {}, FULL).request(op.RC_SEND_LAST, {}, bytes(4));
  t.match(peer.qp.parts.receiveCq.poll(), { status: CompletionStatus.LOCAL_LENGTH_ERROR });
  t.notOk(buffer.bytes.subarray(MTU).some((byte) => byte !== 0));
  refused(t, peer, NakCode.INVALID_REQUEST, 501, undefined);
});

t.test('a receive entry with a wrong key fails both ends', async (t) => {
  ledger(t, '9.9.3', 'A receive entry whose key is wrong completes with a local protection error');
  ledger(t, '9.9.3', 'The sender of a message for an invalid receive entry gets a remote operational error');
  const peer = new PacketPeer();
  const buffer = peer.remoteBuffer(64);
  peer.qp.postReceive([{ address: buffer.address, length: 64, lkey: 0x123400 }]);
  peer.request(op.RC_SEND_ONLY, {}, bytes(64));
  t.match(peer.qp.parts.receiveCq.poll(), { status: CompletionStatus.LOCAL_PROTECTION_ERROR });
  refused(t, peer, NakCode.REMOTE_OPERATIONAL_ERROR, 500, undefined);
});

t.test('a malformed receive entry completes in error', async (t) => {
  ledger(t, '9.9.3', 'A malformed receive entry completes with a local QP operation error');
  const peer = new PacketPeer();
  peer.qp.postReceive([], { sgeCount: 17 });
  peer.request(op.RC_SEND_ONLY, {}, bytes(64));
  t.match(peer.qp.parts.receiveCq.poll(), { status: CompletionStatus.LOCAL_QP_OPERATION_ERROR });
  refused(t, peer, NakCode.REMOTE_OPERATIONAL_ERROR, 500, undefined);
});

t.test('an L_Key invalidated in the middle of a message gives no more access', async (t) => {
  ledger(t, '10.6.7', 'A key invalidated in the middle of a message gives no more access');
  const peer = new PacketPeer();
  const { driver, pd } = peer.fixture;
  const region = driver.createDmaRegion(pd, AccessFlag.LOCAL_WRITE);
  const buffer = peer.remoteBuffer(2 * MTU);
  peer.qp.postReceive([{ address: buffer.address, length: 2 * MTU, lkey: region.lkey }]);
  peer.request(op.RC_SEND_FIRST, {}, bytes(MTU));
  driver.management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number });
  peer.request(op.RC_SEND_LAST, {}, bytes(MTU));
  t.notOk(buffer.bytes.subarray(MTU).some((byte) => byte !== 0));
  t.match(peer.qp.parts.receiveCq.poll(), { status: CompletionStatus.LOCAL_PROTECTION_ERROR });
  refused(t, peer, NakCode.REMOTE_OPERATIONAL_ERROR, 501, undefined);
});

type Operation = 'WRITE' | 'READ' | 'ATOMIC';
const requests: Record<Operation, (peer: PacketPeer, fields: object) => PacketPeer> = {
  WRITE: (peer, fields) => peer.request(op.RC_RDMA_WRITE_ONLY, { dmaLength: 8, ...fields }, bytes(8)),
  READ: (peer, fields) => peer.request(op.RC_RDMA_READ_REQUEST, { dmaLength: 8, ...fields }),
  ATOMIC: (peer, fields) => peer.request(op.RC_FETCH_ADD, fields),
};
const rights = {
  WRITE: AccessFlag.REMOTE_WRITE,
  READ: AccessFlag.REMOTE_READ,
  ATOMIC: AccessFlag.REMOTE_ATOMIC,
} as const;

/** Asserts that `operation` is refused with `code` and changes no memory. */
function tryAccess(
  t: Test,
  operation: Operation,
  code: number,
  options: PeerOptions,
  spoil: (peer: PacketPeer, fields: { virtualAddressLow: number; rKey: number }) => object,
): void {
  const peer = new PacketPeer(options);
  const buffer = peer.remoteBuffer(bytes(16));
  const fields = peer.target(buffer, 8, 8) as { virtualAddressLow: number; rKey: number };
  requests[operation](peer, { ...fields, ...spoil(peer, fields) });
  t.ok(buffer.bytes.every((byte) => byte === 0x11));
  const event = code === NakCode.INVALID_REQUEST ? EventType.QP_REQUEST_ERROR : EventType.QP_ACCESS_ERROR;
  refused(t, peer, code, 500, event);
}

for (const operation of ['WRITE', 'READ', 'ATOMIC'] as const) {
  const others = Object.values(rights).reduce((sum: number, right) => sum | right, 0) & ~rights[operation];
  t.test(`${operation} at a QP that does not allow it is an invalid request`, async (t) => {
    ledger(t, '9.7.4.1', `${operation} at a QP whose attributes do not allow it is an invalid request`);
    tryAccess(t, operation, NakCode.INVALID_REQUEST, { access: others }, () => ({}));
  });
  t.test(`${operation} with a wrong key, PD, right or range is a remote access error`, async (t) => {
    ledger(t, '9.7.4.1.7', `${operation} with an unknown R_Key is a remote access error`);
    ledger(t, '10.6.3', `${operation} with an R_Key of another protection domain is a remote access error`);
    ledger(t, '10.6.3', `${operation} with an R_Key that lacks the right is a remote access error`);
    ledger(t, '9.7.4.1.7', `${operation} beyond the bounds of the region is a remote access error`);
    const ACCESS = NakCode.REMOTE_ACCESS_ERROR;
    tryAccess(t, operation, ACCESS, {}, (_, { rKey }) => ({ rKey: rKey ^ 1 }));
    tryAccess(t, operation, ACCESS, {}, ({ fixture: { driver } }) => {
      const other = driver.createDmaRegion(driver.createProtectionDomain(), 15);
      return { rKey: other.rkey };
    });
    tryAccess(t, operation, ACCESS, {}, ({ fixture: { driver, pd } }) => ({
      rKey: driver.createDmaRegion(pd, AccessFlag.LOCAL_WRITE | others).rkey,
    }));
    tryAccess(t, operation, ACCESS, {}, ({ fixture: { driver, pd }, region }, { virtualAddressLow }) => {
      t.ok(region);
      const low = virtualAddressLow - 8;
      const piece = { pd, kind: 0, access: 15, startAddress: 0x12_0000_0000 + low, length: 15 };
      return { rKey: driver.createMemoryRegion(piece).rkey };
    });
    tryAccess(t, operation, ACCESS, {}, () => ({ virtualAddressHigh: 0xffff_ffff, virtualAddressLow: 0xffff_fff8 }));
  });
}

t.test('a misaligned atomic is an invalid request', async (t) => {
  ledger(t, '9.4.5', 'An atomic whose address is not a multiple of 8 is an invalid request');
  tryAccess(t, 'ATOMIC', NakCode.INVALID_REQUEST, {}, (_, { virtualAddressLow }) => ({
    virtualAddressLow: virtualAddressLow + 4,
  }));
});

t.test('requests of zero bytes need no key', async (t) => {
  ledger(t, '9.7.4.1.7', 'The R_Key of an RDMA WRITE of zero bytes is not checked');
  ledger(t, '9.7.4.1.7', 'The R_Key of an RDMA READ of zero bytes is not checked');
  const peer = new PacketPeer();
  peer.request(op.RC_RDMA_WRITE_ONLY, { rKey: 0x99, dmaLength: 0 });
  peer.request(op.RC_RDMA_READ_REQUEST, { rKey: 0x99, dmaLength: 0 });
  t.same(peer.takeAnswers(), ['ACK 500', 'RDMA_READ_RESPONSE_ONLY 501']);
});

t.test('a refused packet of a WRITE changes no memory; earlier packets stay', async (t) => {
  ledger(t, '9.7.4.1.7', 'An R_Key invalidated in the middle of an RDMA WRITE ends it with a remote access error');
  const peer = new PacketPeer();
  const { driver, pd } = peer.fixture;
  const region = driver.createDmaRegion(pd, 15);
  const buffer = peer.remoteBuffer(2 * MTU);
  peer.request(op.RC_RDMA_WRITE_FIRST, { ...peer.target(buffer), rKey: region.rkey }, bytes(MTU));
  driver.management.perform({ opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number });
  peer.request(op.RC_RDMA_WRITE_LAST, {}, bytes(MTU));
  t.ok(buffer.bytes.subarray(0, MTU).every((byte) => byte === 0x11));
  t.ok(buffer.bytes.subarray(MTU).every((byte) => byte === 0));
  refused(t, peer, NakCode.REMOTE_ACCESS_ERROR, 501, EventType.QP_ACCESS_ERROR);
});

t.test('a message whose completion overflows the CQ is not acknowledged', async (t) => {
  ledger(t, '11.6.3', 'A CQ overflow puts the QP into error, and the message is not acknowledged');
  const peer = new PacketPeer({ completionEntriesLog2: 0 });
  for (let index = 0; index < 2; index++) peer.fixture.postReceive(peer.qp, 8);
  peer.request(op.RC_SEND_ONLY).request(op.RC_SEND_ONLY);
  t.same(peer.takeAnswers(), ['ACK 500', `NAK ${NakCode.REMOTE_OPERATIONAL_ERROR} 501`]);
  t.equal(peer.qp.query().state, QpState.ERR);
  t.same(peer.events(), [EventType.CQ_ERROR, EventType.QP_FATAL]);
  t.equal(peer.fixture.faults(FaultKind.CQ_OVERRUN), 1);
});

t.test('the receive entry of a failed message completes in error', async (t) => {
  ledger(t, '9.9.3', 'An invalid request in the middle of a SEND completes its receive entry with an error');
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 1024);
  peer.fixture.postReceive(peer.qp, 1024);
  peer.request(op.RC_SEND_FIRST, {}, FULL).request(op.RC_SEND_FIRST, {}, FULL);
  const statuses = peer.qp.parts.receiveCq.drain().map(({ status }) => status);
  t.same(statuses, [CompletionStatus.REMOTE_INVALID_REQUEST_ERROR, CompletionStatus.FLUSHED]);
});
