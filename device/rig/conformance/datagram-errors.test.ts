// SPDX-License-Identifier: Apache-2.0
/**
 * Datagrams that fail or are dropped, and the reports to both sides (IBTA 9.6.1, 9.8.3, 10.10;
 * docs/PROGRAMMING.md).
 */
import t from 'tap';
import { setAddressHandleValid } from '../../../protocol/layout/gen/address-handle.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  getSendCommandChecksum,
  SEND_COMMAND_TARGET_OFFSET,
  setSendCommandChecksum,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  FaultKind,
  MrKind,
  QpMask,
  QpState,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { SendRequest } from '../driver/send-request.ts';
import { AdapterFixture, type Pair } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';

const GRH = 40;
const { LOCAL_LENGTH_ERROR, LOCAL_PROTECTION_ERROR, LOCAL_QP_OPERATION_ERROR } = CompletionStatus;

/** An invalid send request, with the status and cause of its failure. */
interface BadSend {
  readonly name: string;
  readonly request: (fixture: AdapterFixture, pair: Pair) => SendRequest;
  readonly status: number;
  readonly cause: number;
}

const badSends: readonly BadSend[] = [
  bad('opcode unknown', () => ({ header: { opcode: 0x77 } }), LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_OPCODE),
  bad(
    'opcode of connections',
    () => ({ header: { opcode: SendOpcode.RDMA_WRITE } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_OPCODE,
  ),
  bad('17 SGEs', () => ({ header: { sgeCount: 17 } }), LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_SGE),
  bad(
    '31 SGEs',
    () => ({ header: { sgeCount: 31, messageLength: 10 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ),
  bad(
    'more SGEs than fit the length of the command',
    (fixture) => ({ sges: [sge(fixture, 8), sge(fixture, 8)], header: { sgeCount: 3, messageLength: 24 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ),
  bad(
    'SGEs shorter than the message',
    (fixture) => ({ sges: [sge(fixture, 8)], header: { messageLength: 9 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ),
  bad(
    'SGEs longer than the message',
    (fixture) => ({ sges: [sge(fixture, 8), sge(fixture, 8)], header: { messageLength: 15 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ),
  bad(
    'inline with SGEs',
    () => ({ inline: new Uint8Array(8), header: { sgeCount: 1 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ),
  bad(
    'message longer than the MTU',
    (fixture) => ({ sges: [sge(fixture, 4097)] }),
    LOCAL_LENGTH_ERROR,
    FaultKind.COMMAND_LENGTH,
  ),
  bad(
    'unknown key',
    () => ({ sges: [{ address: 0, length: 4, lkey: 0xffffff00 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ),
  bad(
    'low byte of the key wrong',
    (fixture) => ({ sges: [{ ...sge(fixture, 4), lkey: (fixture.region.lkey ^ 1) >>> 0 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ),
  bad(
    'below the region',
    (fixture) => ({ sges: [{ ...sge(fixture, 4), address: fixture.access.memoryAddress - 1 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ),
  bad(
    'beyond the region',
    (fixture) => ({
      sges: [{ ...sge(fixture, 4), address: fixture.access.memoryAddress + fixture.access.memoryBytes - 3 }],
    }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ),
  bad(
    'address beyond 2^53',
    (fixture) => ({ sges: [{ ...sge(fixture, 4), address: 2 ** 63 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ),
  bad(
    'last SGE of 16 is bad',
    (fixture) => ({ sges: [...Array(15).fill(sge(fixture, 4)), { address: 0, length: 4, lkey: 0 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ),
  bad(
    'key of another PD',
    (fixture) => {
      const other = fixture.driver.createDmaRegion(fixture.driver.createProtectionDomain());
      return { sges: [{ ...sge(fixture, 4), lkey: other.lkey }] };
    },
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_PD,
  ),
  bad(
    'address handle beyond the table',
    () => ({ addressHandle: 64 }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.ADDRESS_HANDLE,
  ),
  bad(
    'address handle number of all ones',
    () => ({ addressHandle: 0xffffffff }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.ADDRESS_HANDLE,
  ),
  bad(
    'address handle not valid',
    (fixture) => ({ addressHandle: fixture.driver.addressHandles.add({ valid: 0, pd: fixture.pd, dlid: 2 }) }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.ADDRESS_HANDLE,
  ),
  bad(
    'address handle of another PD',
    (fixture) => ({ addressHandle: fixture.driver.addressHandles.add({ pd: fixture.pd + 1, dlid: 2 }) }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.ADDRESS_HANDLE,
  ),
  bad(
    'address handle of another port',
    (fixture) => ({ addressHandle: fixture.driver.addressHandles.add({ port: 2, pd: fixture.pd, dlid: 2 }) }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.ADDRESS_HANDLE,
  ),
  bad(
    'address handle of no port',
    (fixture) => ({ addressHandle: fixture.driver.addressHandles.add({ port: 0, pd: fixture.pd, dlid: 2 }) }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.ADDRESS_HANDLE,
  ),
];

function bad(name: string, request: BadSend['request'], status: number, cause: number): BadSend {
  return { name, request, status, cause };
}

function sge(fixture: AdapterFixture, lengthBytes: number) {
  return fixture.sge(fixture.createBuffer(lengthBytes));
}

for (const { name, request, status, cause } of badSends) {
  t.test(`a send fails: ${name}`, async (t) => {
    for (const by of ['collect', 'doorbell'] as const) {
      const fixture = new AdapterFixture();
      const pair = fixture.createPair();
      fixture.postReceive(pair.receiver, GRH + 4096);
      // A failed command completes even if it is unsignaled.
      pair.sender.post(pair.to({ signaled: false, ...request(fixture, pair) }), by);
      const entry = pair.sender.parts.sendCq.take(`a failed completion (${name}, by ${by})`);
      t.equal(entry.status, status, `status, by ${by}`);
      t.equal(entry.vendorError, cause, `cause, by ${by}`);
      t.equal(fixture.faults(cause as FaultKind), 1, 'counted once');
      t.equal(pair.sender.query().state, QpState.SQE, 'the send queue stops');
      t.notOk(pair.receiver.parts.receiveCq.ready, 'nothing is sent');
      fixture.proveItWorks();
      fixture.finish();
    }
  });
}

t.test('after a failed send all others are flushed until software restarts the queue', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  fixture.postReceive(receiver, GRH);
  for (const header of [{}, { opcode: 0x77 }, {}, {}]) sender.post(to({ header, signaled: false }), 'slot');
  sender.ring();
  fixture.settle();
  const { FLUSHED } = CompletionStatus;
  t.same(
    sender.parts.sendCq.drain().map(({ status, queueSequence }) => [status, queueSequence]),
    [
      [LOCAL_QP_OPERATION_ERROR, 1],
      [FLUSHED, 2],
      [FLUSHED, 3],
    ],
  );
  sender.post(to());
  t.equal(sender.parts.sendCq.take().status, FLUSHED, 'what is posted in SQE is flushed too');
  receiver.parts.receiveCq.take();
  fixture.postReceive(receiver, GRH);
  sender.change({ attributeMask: QpMask.STATE | QpMask.CURRENT_STATE, state: QpState.RTS, currentState: QpState.SQE });
  sender.post(to());
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.equal(receiver.parts.receiveCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

t.test('a damaged slot in the send queue fails the command', async (t) => {
  const cases: [string, SendRequest, FaultKind][] = [
    [
      'checksum',
      { damage: (view) => view.setUint8(SEND_COMMAND_TARGET_OFFSET, view.getUint8(SEND_COMMAND_TARGET_OFFSET) ^ 1) },
      FaultKind.COMMAND_CHECKSUM,
    ],
    ['sequence', { header: { sequence: 7 } }, FaultKind.COMMAND_SEQUENCE],
    ['QPN', { header: { qpn: 0x123456 } }, FaultKind.COMMAND_BAD_QP],
    ['QoS level', { header: { qosLevel: 1 } }, FaultKind.COMMAND_QOS],
    ['length', { header: { collectLength: 56 } }, FaultKind.COLLECT_BAD_LENGTH],
  ];
  for (const [name, request, cause] of cases) {
    const fixture = new AdapterFixture();
    const { sender, to } = fixture.createPair();
    sender.post(to(request), 'doorbell');
    const entry = sender.parts.sendCq.take(`a failed completion (${name})`);
    t.equal(entry.status, LOCAL_QP_OPERATION_ERROR, name);
    t.equal(entry.vendorError, cause, name);
    t.equal(entry.queueSequence, 0, name);
    t.equal(fixture.faults(cause), 1, name);
    fixture.finish();
  }
});

t.test('a QP with a checksum key requires it, a QP without checksums does not', async (t) => {
  const fixture = new AdapterFixture();
  const keyed = fixture.createPair({ sender: { checksumKey: 0xfedcba98 } });
  fixture.postReceive(keyed.receiver, GRH);
  keyed.sender.post(keyed.to());
  t.equal(keyed.sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  keyed.sender.post(
    keyed.to({ damage: (view) => setSendCommandChecksum(view, 0, getSendCommandChecksum(view, 0) + 1) }),
    'doorbell',
  );
  t.equal(keyed.sender.parts.sendCq.take().vendorError, FaultKind.COMMAND_CHECKSUM);
  const free = fixture.createPair({ sender: { creation: { checksumOff: 1 } } });
  fixture.postReceive(free.receiver, GRH);
  free.sender.post(free.to({ damage: (view) => setSendCommandChecksum(view, 0, 0xbad) }));
  t.equal(free.sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.finish();
});

/** Datagrams that the receiver drops silently. */
const drops: readonly [string, (fixture: AdapterFixture, pair: Pair) => SendRequest][] = [
  ['no receive entry', () => ({})],
  [
    'wrong Q_Key',
    (fixture, { receiver }) => {
      fixture.postReceive(receiver, GRH);
      return { qkey: receiver.qkey + 1 };
    },
  ],
  ['no such queue pair', () => ({ remoteQpn: 0xabcdef })],
  ['queue pair 0', () => ({ remoteQpn: 0 })],
  ['queue pair 1', () => ({ remoteQpn: 1 })],
  ['multicast queue pair number', () => ({ remoteQpn: 0xffffff })],
  [
    'LID without a port',
    (fixture) => ({ addressHandle: fixture.driver.addressHandles.add({ pd: fixture.pd, dlid: 99 }) }),
  ],
  [
    'queue pair of the other port',
    (fixture, { receiver }) => {
      fixture.postReceive(receiver, GRH);
      return { addressHandle: fixture.handleTo(1, 1) };
    },
  ],
  [
    'queue pair in INIT',
    (fixture, { receiver }) => {
      receiver.toReset();
      receiver.toInit({ port: 2, qkey: 0x1234 });
      fixture.postReceive(receiver, GRH);
      return {};
    },
  ],
  [
    'queue pair in ERR',
    (_, { receiver }) => {
      receiver.toError();
      return {};
    },
  ],
];

for (const [name, request] of drops) {
  t.test(`a datagram is dropped: ${name}`, async (t) => {
    ledger(t, '9.6.1', `A datagram is dropped silently: ${name}`);
    const fixture = new AdapterFixture();
    const pair = fixture.createPair();
    const receivers = (): number =>
      [1, 2].reduce((sum, port) => sum + fixture.access.readRegister(CSR.PORT_RECEIVE_DROPS + (port - 1) * 8, 8), 0);
    const before = receivers();
    pair.sender.post(pair.to(request(fixture, pair)));
    t.equal(pair.sender.parts.sendCq.take().status, CompletionStatus.SUCCESS, 'the sender does not know');
    fixture.settle();
    t.equal(receivers(), before + 1, 'counted at the port');
    t.equal(fixture.faults(FaultKind.QKEY_VIOLATION), Number(name === 'wrong Q_Key'), 'and by cause');
    t.notOk(pair.receiver.parts.receiveCq.ready);
    t.equal(pair.sender.query().state, QpState.RTS);
    fixture.proveItWorks();
    fixture.finish();
  });
}

/** Receive entries that fail with a datagram of 8 bytes. */
const badReceives: readonly [string, (fixture: AdapterFixture, pair: Pair) => void, number, number][] = [
  [
    'too short by one byte',
    (fixture, { receiver }) => void fixture.postReceive(receiver, GRH + 7),
    LOCAL_LENGTH_ERROR,
    FaultKind.RECEIVE_TOO_SHORT,
  ],
  ['no element', (_, { receiver }) => receiver.postReceive([]), LOCAL_LENGTH_ERROR, FaultKind.RECEIVE_TOO_SHORT],
  [
    'unknown key',
    (fixture, { receiver }) => receiver.postReceive([{ ...sge(fixture, 64), lkey: 1 }]),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ],
  [
    'beyond the region',
    (fixture, { receiver }) => receiver.postReceive([{ ...sge(fixture, 64), address: 0x1000 }]),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  [
    'no right to write',
    (fixture, { receiver }) => {
      const readOnly = fixture.driver.createDmaRegion(fixture.pd, 0);
      receiver.postReceive([{ ...sge(fixture, 64), lkey: readOnly.lkey }]);
    },
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_ACCESS,
  ],
  [
    '17 elements',
    (fixture, { receiver }) => receiver.postReceive([sge(fixture, 64)], { sgeCount: 17 }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.RECEIVE_ENTRY,
  ],
  [
    'wrong number',
    (fixture, { receiver }) => receiver.postReceive([sge(fixture, 64)], { sequence: 5 }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.RECEIVE_ENTRY,
  ],
];

for (const [name, post, status, cause] of badReceives) {
  t.test(`a receive entry fails: ${name}`, async (t) => {
    const fixture = new AdapterFixture();
    const pair = fixture.createPair();
    post(fixture, pair);
    fixture.postReceive(pair.receiver, GRH + 64);
    pair.sender.post(pair.to({ inline: new Uint8Array(8).fill(1) }));
    t.equal(pair.sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    fixture.settle();
    const [failed, flushed] = pair.receiver.parts.receiveCq.drain();
    t.equal(failed?.status, status);
    t.equal(failed?.vendorError, cause);
    t.equal(failed?.queueSequence, 0);
    t.equal(flushed?.status, CompletionStatus.FLUSHED, 'the entry behind it is flushed');
    t.equal(flushed?.queueSequence, 1);
    t.equal(fixture.faults(cause as FaultKind), 1);
    t.equal(pair.receiver.query().state, QpState.ERR);
    fixture.proveItWorks();
    fixture.finish();
  });
}

t.test('an address handle is read for each datagram', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, handle, to } = fixture.createPair();
  fixture.postReceive(receiver, GRH);
  sender.post(to());
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  setAddressHandleValid(fixture.access.view(fixture.driver.addressHandles.address + handle * 64, 64), 0, 0);
  sender.post(to());
  t.equal(sender.parts.sendCq.take().vendorError, FaultKind.ADDRESS_HANDLE);
  fixture.finish();
});

t.test('a destroyed region gives no access', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  const buffer = fixture.createBuffer(fixture.random.bytes(64));
  const attributes = {
    pd: fixture.pd,
    kind: MrKind.PHYSICAL,
    access: AccessFlag.LOCAL_WRITE,
    startAddress: buffer.address,
    length: 64,
  };
  const region = fixture.driver.createMemoryRegion(attributes);
  const request = { sges: [{ address: buffer.address, length: 64, lkey: region.lkey }] };
  fixture.postReceive(receiver, GRH + 64);
  sender.post(to(request));
  t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.driver.management.perform({ opcode: 0x23, objectNumber: region.number });
  sender.post(to(request));
  t.equal(sender.parts.sendCq.take().vendorError, FaultKind.KEY_INVALID);
  fixture.finish();
});
