// SPDX-License-Identifier: Apache-2.0
/**
 * The record of why a QP left its working states (IBTA 10.3.1, 10.10.2.3): each kind of failure,
 * with WQE, PSN, syndrome and time; the first one stays until the QP works again.
 */
import t, { type Test } from 'tap';
import { AethKind, BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { ackTimeoutNs, syndromeOf } from '../../../protocol/infiniband/syndrome.ts';
import {
  CompletionStatus,
  FaultKind,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { PacketPeer, type PeerOptions } from '../../rig/fixtures/packet-peer.ts';
import type { QueuePair } from './queue-pair.ts';
import { FailureCause, UNKNOWN } from './queue-pair-failure.ts';

const { SEND, RECEIVE, SOFTWARE, ADAPTER } = FailureCause;
const status = CompletionStatus;
const TIMEOUT_CODE = 10;
const GRH = 40;

function queuePairOf(fixture: AdapterFixture, qpn: number): QueuePair {
  return fixture.machine.device.tables.queuePairs.get(qpn) as QueuePair;
}

/** A connected QP that has sent two messages of eight bytes, WQEs 0 and 1. */
function sent(options: PeerOptions = {}): PacketPeer {
  const peer = new PacketPeer({ timeout: TIMEOUT_CODE, retryCount: 0, rnrRetry: 0, ...options });
  for (let count = 0; count < 2; count++) peer.qp.post({ inline: new Uint8Array(8) });
  peer.settle().take();
  return peer;
}

/** Asserts the failure of the QP under test, and that its time is that of the clock at `atNs`. */
function failed(t: Test, peer: PacketPeer, expected: object, atNs = peer.fixture.machine.clock.now()): void {
  const { failure } = queuePairOf(peer.fixture, peer.qp.qpn);
  t.match(failure, { state: QpState.RTS, timeLow: atNs, timeHigh: 0, ...expected });
  t.equal(peer.qp.query().state, QpState.ERR);
  peer.fixture.finish();
}

t.test('a NAK: its code, its PSN and the WQE', async (t) => {
  const peer = sent();
  peer.nak(1, NakCode.REMOTE_ACCESS_ERROR);
  failed(t, peer, {
    cause: SEND,
    status: status.REMOTE_ACCESS_ERROR,
    fault: FaultKind.NONE,
    sequence: 1,
    psn: peer.firstPsn + 1,
    syndrome: syndromeOf(AethKind.NAK, NakCode.REMOTE_ACCESS_ERROR),
  });
});

t.test('no retry is left', async (t) => {
  const peer = sent();
  const startNs = peer.fixture.machine.clock.now();
  peer.wait(2 * ackTimeoutNs(TIMEOUT_CODE));
  const expected = { cause: SEND, status: status.RETRY_EXCEEDED, sequence: 0, psn: peer.firstPsn, syndrome: UNKNOWN };
  failed(t, peer, expected, startNs + ackTimeoutNs(TIMEOUT_CODE));
});

t.test('the receiver is never ready', async (t) => {
  const peer = sent();
  peer.receiverNotReady(0, 12);
  const syndrome = syndromeOf(AethKind.RNR_NAK, 12);
  failed(t, peer, { cause: SEND, status: status.RNR_RETRY_EXCEEDED, sequence: 0, psn: peer.firstPsn, syndrome });
});

t.test('a request that the QP refuses', async (t) => {
  const peer = new PacketPeer();
  peer.request(BthOpcode.RC_SEND_MIDDLE, {}, new Uint8Array(256)).take();
  failed(t, peer, {
    cause: RECEIVE,
    status: status.SUCCESS,
    fault: FaultKind.COMMAND_OPCODE,
    sequence: UNKNOWN,
    psn: 500,
    syndrome: syndromeOf(AethKind.NAK, NakCode.INVALID_REQUEST),
  });
});

t.test('a message that does not fit its receive WQE', async (t) => {
  const peer = new PacketPeer();
  peer.fixture.postReceive(peer.qp, 8);
  peer.fixture.postReceive(peer.qp, 8);
  peer.request(BthOpcode.RC_SEND_ONLY, {}, new Uint8Array(8)).request(BthOpcode.RC_SEND_ONLY, {}, new Uint8Array(12));
  peer.take();
  failed(t, peer, {
    cause: RECEIVE,
    status: status.LOCAL_LENGTH_ERROR,
    fault: FaultKind.RECEIVE_TOO_SHORT,
    sequence: 1,
    psn: 501,
    syndrome: syndromeOf(AethKind.NAK, NakCode.INVALID_REQUEST),
  });
});

t.test('a READ whose region is gone before the answer is sent', async (t) => {
  const peer = new PacketPeer();
  const target = { ...peer.target(peer.remoteBuffer(64)), rKey: 0x1234500 };
  peer.request(BthOpcode.RC_RDMA_READ_REQUEST, target).take();
  failed(t, peer, { cause: RECEIVE, psn: 500, syndrome: syndromeOf(AethKind.NAK, NakCode.REMOTE_ACCESS_ERROR) });
});

t.test('a datagram whose command is wrong: SQE, and RTS again', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  sender.post(to({ sges: [{ address: 0, length: 8, lkey: 0x7700 }] }));
  fixture.settle();
  const { failure } = queuePairOf(fixture, sender.qpn);
  t.equal(sender.query().state, QpState.SQE);
  t.match(failure, { cause: SEND, status: status.LOCAL_PROTECTION_ERROR, fault: FaultKind.KEY_INVALID, sequence: 0 });
  sender.modify({ attributeMask: 1, state: QpState.RTS });
  t.equal(sender.query().state, QpState.RTS);
  t.equal(failure.cause, FailureCause.NONE);
  fixture.postReceive(receiver, GRH);
  sender.post(to({ inline: new Uint8Array(8) }));
  fixture.settle();
  const other = queuePairOf(fixture, receiver.qpn).failure;
  t.match(other, {
    cause: RECEIVE,
    status: status.LOCAL_LENGTH_ERROR,
    fault: FaultKind.RECEIVE_TOO_SHORT,
    sequence: 0,
  });
  fixture.finish();
});

t.test('software moves it to ERR; INIT clears the record', async (t) => {
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair();
  qp.toError();
  const { failure } = queuePairOf(fixture, qp.qpn);
  t.match(failure, { cause: SOFTWARE, state: QpState.RTS, fault: FaultKind.NONE });
  qp.toReset();
  t.equal(failure.cause, SOFTWARE, 'RESET keeps it');
  qp.toInit();
  t.equal(failure.cause, FailureCause.NONE);
  fixture.finish();
});

t.test('the record of the QP cannot be read', async (t) => {
  const fixture = new AdapterFixture();
  const page = fixture.driver.allocator.allocate(4096, 4096);
  const qp = fixture.createQueuePair({ state: 'reset', creation: { recordAddress: page } });
  qp.start();
  fixture.host.memory.protect(page, 1, 0);
  fixture.access.port.memoryUnmapped(page, 1);
  qp.ring();
  fixture.settle();
  t.match(queuePairOf(fixture, qp.qpn).failure, { cause: ADAPTER, state: QpState.RTS, fault: FaultKind.DMA_READ });
  fixture.finish();
});

t.test('the first failure stays', async (t) => {
  const fixture = new AdapterFixture();
  const sendCq = fixture.createCompletionQueue();
  const qp = fixture.createQueuePair({ sendCq });
  fixture.host.memory.protect(sendCq.buffer.address, 64, 1);
  qp.post({ header: { opcode: SendOpcode.RDMA_READ } });
  fixture.settle();
  const { failure } = queuePairOf(fixture, qp.qpn);
  t.equal(qp.query().state, QpState.ERR);
  t.match(failure, { cause: SEND, fault: FaultKind.COMMAND_OPCODE, sequence: 0 }, 'not that its CQE found no room');
  qp.toError();
  t.equal(failure.cause, SEND);
  fixture.finish();
});

t.test('an unreliable connection that cannot use its receive WQE sends no syndrome', async (t) => {
  const peer = new PacketPeer({ serviceType: ServiceType.UC });
  peer.fixture.postReceive(peer.qp, 8);
  peer.fixture.host.memory.protect(peer.qp.parts.receiveBuffer.slotAddress(0), 1, 0);
  peer.fixture.access.port.memoryUnmapped(peer.qp.parts.receiveBuffer.slotAddress(0), 1);
  peer.request(BthOpcode.UC_SEND_ONLY, {}, new Uint8Array(8));
  t.match(queuePairOf(peer.fixture, peer.qp.qpn).failure, {
    cause: RECEIVE,
    status: status.LOCAL_QP_OPERATION_ERROR,
    fault: FaultKind.DMA_READ,
    psn: 500,
    syndrome: UNKNOWN,
  });
});
