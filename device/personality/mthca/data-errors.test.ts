// SPDX-License-Identifier: Apache-2.0
/**
 * Errors of the data path, in process: requests, keys and receives that are not valid, peers that
 * do not answer, CQs that are full, and the flush of what is left. Each failure has the syndrome
 * and the event that a driver expects, and no other queue pair notices.
 */
import t, { type Test } from 'tap';
import { ERROR_BUFFER_OFFSET } from '../../../protocol/mthca/gen/constants.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  CompletionSyndrome,
  CqErrorSyndrome,
  EventKind,
  FatalKind,
  QpContextState,
  QpService,
  WorkOpcode,
} from '../../../protocol/mthca/gen/values.gen.ts';
import type { Piece } from '../../rig/machine/personality-driver.ts';
import { DataFixture, type FixtureQueuePair } from '../../rig/mthca/driver/data-fixture.ts';
import type { SendWork } from '../../rig/mthca/driver/data-queue-pair.ts';
import { MthcaDriver } from '../../rig/mthca/driver/mthca-driver.ts';
import { Firmware } from '../shared/firmware.ts';

const { SEND, RDMA_WRITE, RDMA_READ, FETCH_AND_ADD } = WorkOpcode;
const { LOCAL_LENGTH, LOCAL_QP_OPERATION, LOCAL_PROTECTION, FLUSHED } = CompletionSyndrome;
const { REMOTE_INVALID_REQUEST, REMOTE_ACCESS, REMOTE_OPERATION } = CompletionSyndrome;
const { RETRIES_EXCEEDED, RNR_RETRIES_EXCEEDED } = CompletionSyndrome;
const { QP_ACCESS_ERROR, QP_INVALID_REQUEST, QP_FATAL } = EventKind;
const SEND_ERROR = 0xff;
const RECEIVE_ERROR = 0xfe;
const NO_KEY = 0x7f00;

/** A pair under test, a pair beside it, and memory. */
class ErrorFixture extends DataFixture {
  readonly a: FixtureQueuePair;
  readonly b: FixtureQueuePair;
  readonly local: Piece;
  readonly far: Piece;
  readonly #beside: [FixtureQueuePair, FixtureQueuePair];

  constructor(service: number = QpService.RC, driver?: MthcaDriver) {
    super({}, driver);
    [this.a, this.b] = this.connect(service);
    this.#beside = this.connect();
    this.local = this.memory(4096);
    this.far = this.memory(4096);
    this.takeEvents();
  }

  stateOf(qp: FixtureQueuePair): number {
    const { output } = this.driver.expect(CommandOpcode.QUERY_QP, { modifier: qp.number, out: 0x108 });
    return output.getUint8(8) >>> 4;
  }

  /** Events of failures, by kind and QP. */
  failures(): [kind: number, number: number][] {
    return this.takeEvents()
      .filter(({ kind }) => kind !== EventKind.COMMUNICATION_ESTABLISHED && kind !== EventKind.COMPLETION)
      .map(({ kind, number }) => [kind, number]);
  }

  /** The pair beside still works. */
  checkBeside(t: Test): void {
    const [first, second] = this.#beside;
    second.postReceive(this.far);
    first.post({ opcode: SEND, pieces: [{ ...this.local, byteCount: 10 }] });
    this.run();
    t.match(first.take(), [{ syndrome: 0 }], 'the pair beside');
    t.match(second.take(), [{ syndrome: 0, byteCount: 10 }]);
  }

  /** Runs, with time, until the QP has a completion. */
  await(qp: FixtureQueuePair): ReturnType<FixtureQueuePair['take']> {
    const found: ReturnType<FixtureQueuePair['take']> = [];
    this.driver.machine.runUntil(() => {
      found.push(...qp.take());
      return found.length > 0;
    }, 'a completion');
    return found;
  }
}

t.test('a request that is refused on the sending side fails its QP', (t) => {
  const cases: [string, number, (fixture: ErrorFixture) => SendWork][] = [
    ['no such key', LOCAL_PROTECTION, ({ local }) => ({ opcode: SEND, pieces: [{ ...local, key: NO_KEY }] })],
    ['behind the region', LOCAL_PROTECTION, ({ local }) => ({ opcode: SEND, pieces: [{ ...local, byteCount: 4097 }] })],
    ['no such opcode', LOCAL_QP_OPERATION, ({ local }) => ({ opcode: 0x1f, pieces: [local] })],
    ['a target is missing', LOCAL_QP_OPERATION, () => ({ opcode: RDMA_WRITE })],
    [
      'an atomic of 16 bytes',
      LOCAL_QP_OPERATION,
      ({ local, far }) => ({
        opcode: FETCH_AND_ADD,
        remote: far,
        atomic: [1, 0],
        pieces: [{ ...local, byteCount: 16 }],
      }),
    ],
  ];
  for (const [message, syndrome, make] of cases) {
    const fixture = new ErrorFixture();
    const { a, b, local } = fixture;
    b.postReceive(fixture.far);
    a.post(make(fixture), { opcode: SEND, pieces: [{ ...local, byteCount: 1 }], signaled: 0 });
    fixture.run();
    t.match(
      a.take(),
      [
        { syndrome, opcode: SEND_ERROR, request: a.sendOffset(0), qpn: a.number },
        { syndrome: FLUSHED, opcode: SEND_ERROR, request: a.sendOffset(1) },
      ],
      message,
    );
    t.equal(fixture.stateOf(a), QpContextState.ERR);
    t.same(b.take(), [], 'the peer got nothing');
    fixture.checkBeside(t);
  }
  t.end();
});

t.test('a request that the peer refuses', (t) => {
  const cases: [string, number, number, (fixture: ErrorFixture) => SendWork][] = [
    [
      'no such key',
      REMOTE_ACCESS,
      QP_ACCESS_ERROR,
      ({ local, far }) => ({ opcode: RDMA_WRITE, pieces: [local], remote: { ...far, key: NO_KEY } }),
    ],
    [
      'a READ behind the region',
      REMOTE_ACCESS,
      QP_ACCESS_ERROR,
      ({ local, far }) => ({ opcode: RDMA_READ, pieces: [local], remote: { ...far, address: far.address + 1 } }),
    ],
    [
      'an atomic at an odd address',
      REMOTE_INVALID_REQUEST,
      QP_INVALID_REQUEST,
      ({ local, far }) => ({
        opcode: FETCH_AND_ADD,
        pieces: [{ ...local, byteCount: 8 }],
        atomic: [1, 0],
        remote: { ...far, address: far.address + 4 },
      }),
    ],
  ];
  for (const [message, syndrome, kind, make] of cases) {
    const fixture = new ErrorFixture();
    const { a, b } = fixture;
    a.post(make(fixture));
    fixture.run();
    t.match(a.take(), [{ syndrome, opcode: SEND_ERROR }], message);
    t.same(fixture.failures(), [[kind, b.number]]);
    t.equal(fixture.stateOf(b), QpContextState.ERR);
    fixture.checkBeside(t);
  }
  t.end();
});

t.test('rights of regions count', (t) => {
  for (const [opcode, entry] of [
    [RDMA_WRITE, { remoteWrite: 0 }],
    [RDMA_READ, { remoteRead: 0 }],
    [RDMA_WRITE, { pd: 9 }],
  ] as const) {
    const fixture = new ErrorFixture();
    const remote = fixture.memory(4096, entry);
    fixture.a.post({ opcode, pieces: [fixture.local], remote });
    fixture.run();
    t.match(fixture.a.take(), [{ syndrome: REMOTE_ACCESS }]);
  }
  const fixture = new ErrorFixture();
  const readOnly = fixture.memory(4096, { localWrite: 0 });
  fixture.a.post({ opcode: RDMA_READ, pieces: [readOnly], remote: fixture.far });
  fixture.run();
  t.match(fixture.a.take(), [{ syndrome: LOCAL_PROTECTION }], 'a READ into memory that may not be written');
  t.end();
});

t.test('a receive that cannot take its message', (t) => {
  for (const [message, local, remote, make] of [
    ['too short', LOCAL_LENGTH, REMOTE_INVALID_REQUEST, (far: Piece) => ({ ...far, byteCount: 99 })],
    ['no such key', LOCAL_PROTECTION, REMOTE_OPERATION, (far: Piece) => ({ ...far, key: NO_KEY })],
  ] as const) {
    const fixture = new ErrorFixture();
    const { a, b } = fixture;
    b.postReceive(make(fixture.far));
    b.postReceive(fixture.far);
    a.post({ opcode: SEND, pieces: [{ ...fixture.local, byteCount: 100 }] });
    fixture.run();
    t.match(a.take(), [{ syndrome: remote }], message);
    t.match(b.take(), [
      { syndrome: local, opcode: RECEIVE_ERROR, request: b.receiveOffset(0) },
      { syndrome: FLUSHED, opcode: RECEIVE_ERROR, request: b.receiveOffset(1) },
    ]);
    fixture.checkBeside(t);
  }
  t.end();
});

t.test('a peer that does not answer, and one without receives', (t) => {
  const gone = new ErrorFixture();
  gone.b.destroy();
  gone.a.post({ opcode: SEND, pieces: [gone.local] });
  t.match(gone.await(gone.a), [{ syndrome: RETRIES_EXCEEDED, opcode: SEND_ERROR }]);
  const fixture = new DataFixture();
  const a = fixture.queuePair();
  const b = fixture.queuePair({ port: 2 });
  a.start(b.number, 2, { rnrRetry: 1 });
  b.start(a.number, 1);
  a.post({ opcode: SEND, pieces: [fixture.memory(10)] });
  const found: number[] = [];
  fixture.driver.machine.runUntil(() => {
    found.push(...a.take().map(({ syndrome }) => syndrome));
    return found.length > 0;
  }, 'the end of RNR retries');
  t.same(found, [RNR_RETRIES_EXCEEDED]);
  t.end();
});

t.test('software fails a QP, and posts more afterwards', (t) => {
  const fixture = new ErrorFixture();
  const { a } = fixture;
  a.postReceive(fixture.far);
  a.fail();
  t.match(a.take(), [{ syndrome: FLUSHED, opcode: RECEIVE_ERROR, request: a.receiveOffset(0) }]);
  a.post({ opcode: SEND, pieces: [fixture.local], signaled: 0 }, { opcode: RDMA_READ, pieces: [fixture.local] });
  fixture.run();
  t.match(a.take(), [
    { syndrome: FLUSHED, request: a.sendOffset(0) },
    { syndrome: FLUSHED, request: a.sendOffset(1) },
  ]);
  // Without a doorbell the device finds the receive by itself.
  for (let index = 1; index < 4; index++) {
    a.postReceive(fixture.far);
    t.match(fixture.await(a), [{ syndrome: FLUSHED, opcode: RECEIVE_ERROR, request: a.receiveOffset(index) }]);
  }
  a.destroy();
  fixture.checkBeside(t);
  t.end();
});

t.test('a QP of UD stops sending, and goes on after SQE', (t) => {
  const fixture = new ErrorFixture(QpService.UD);
  const { a, b } = fixture;
  const to = { lid: 2, qpn: b.number, qkey: 0x1234 };
  const piece = { ...fixture.local, byteCount: 20 };
  a.post({ opcode: SEND, pieces: [{ ...piece, key: NO_KEY }], to }, { opcode: SEND, pieces: [piece], to });
  fixture.run();
  t.match(a.take(), [{ syndrome: LOCAL_PROTECTION }, { syndrome: FLUSHED }]);
  t.equal(fixture.stateOf(a), QpContextState.SQE);
  fixture.driver.expect(CommandOpcode.SQERR2RTS_QP, { input: new Uint8Array(0x200), modifier: a.number });
  b.postReceive(fixture.far);
  a.post({ opcode: SEND, pieces: [piece], to });
  fixture.run();
  t.match(a.take(), [{ syndrome: 0 }]);
  t.match(b.take(), [{ byteCount: 60 }]);
  for (const wrong of [{ port: 2 }, { pd: 9 }, { lid: 0xc001 }, { hasRoute: 1, gidIndex: 100 }]) {
    a.post({ opcode: SEND, pieces: [piece], to: { ...to, ...wrong } });
    fixture.run();
    t.match(a.take(), [{ syndrome: LOCAL_QP_OPERATION }], JSON.stringify(wrong));
    fixture.driver.expect(CommandOpcode.SQERR2RTS_QP, { input: new Uint8Array(0x200), modifier: a.number });
  }
  a.post({ opcode: SEND, pieces: [{ ...fixture.local, byteCount: 2049 }], to });
  fixture.run();
  t.match(a.take(), [{ syndrome: LOCAL_LENGTH }], 'longer than the MTU');
  t.end();
});

t.test('a full completion queue fails its QPs', (t) => {
  const fixture = new ErrorFixture();
  const cq = fixture.completionQueue(1, 2);
  const [a, b] = fixture.connect(QpService.RC, { cq });
  for (let index = 0; index < 8; index++) b.postReceive(fixture.far);
  a.post(...Array.from({ length: 6 }, () => ({ opcode: SEND, pieces: [{ ...fixture.local, byteCount: 1 }] })));
  fixture.run();
  const failures = fixture.takeEvents().filter(({ kind }) => kind === EventKind.CQ_ERROR || kind === QP_FATAL);
  t.match(failures, [
    { kind: EventKind.CQ_ERROR, number: cq.number },
    { kind: QP_FATAL, number: a.number },
  ]);
  t.equal(CqErrorSyndrome.OVERRUN, 1);
  t.equal(cq.take().length, 4, 'nothing was overwritten');
  t.equal(fixture.stateOf(a), QpContextState.ERR);
  fixture.checkBeside(t);
  t.end();
});

t.test('memory that goes away in the middle', (t) => {
  const fixture = new ErrorFixture();
  const { a, b, far } = fixture;
  const number = (far.key >>> 8) | 0;
  fixture.driver.expect(CommandOpcode.HW2SW_MPT, { modifier: number, opcodeModifier: 1 });
  a.post({ opcode: RDMA_WRITE, pieces: [fixture.local], remote: far });
  fixture.run();
  t.match(a.take(), [{ syndrome: REMOTE_ACCESS }]);
  t.equal(fixture.stateOf(b), QpContextState.ERR);
  const queue = fixture.connect();
  const [first] = queue;
  const { output } = fixture.driver.expect(CommandOpcode.QUERY_QP, { modifier: first.number, out: 0x108 });
  const queueKey = output.getUint32(8 + 0x6c);
  fixture.driver.expect(CommandOpcode.HW2SW_MPT, { modifier: queueKey >>> 8, opcodeModifier: 1 });
  first.post({ opcode: SEND, pieces: [fixture.local] });
  fixture.run();
  t.match(first.take(), [{ syndrome: LOCAL_PROTECTION, opcode: SEND_ERROR }], 'the memory of the work queue itself');
  t.end();
});

t.test('a fatal error in the middle of traffic, from which the driver recovers', (t) => {
  const fixture = new ErrorFixture();
  const { a, b, driver } = fixture;
  for (let index = 0; index < 8; index++) {
    b.postReceive(fixture.far);
    a.post(
      { opcode: SEND, pieces: [fixture.local] },
      { opcode: RDMA_READ, pieces: [fixture.local], remote: fixture.far },
    );
  }
  driver.machine.step();
  driver.device.hca.fail(FatalKind.PARITY, Firmware.REFUSES);
  fixture.run();
  t.equal(driver.readRegister(ERROR_BUFFER_OFFSET) >>> 24, FatalKind.PARITY, 'the driver polls this');
  const { status } = driver.command(CommandOpcode.QUERY_QP, { modifier: a.number, out: 0x108 });
  t.equal(status, CommandStatus.INTERNAL_ERROR);
  a.post({ opcode: SEND, pieces: [fixture.local] });
  fixture.run();
  a.take();
  fixture.run();
  t.same(a.take(), [], 'no doorbell acts');
  driver.reset();
  const next = new ErrorFixture(QpService.RC, new MthcaDriver(driver.machine));
  t.equal(driver.readRegister(ERROR_BUFFER_OFFSET), 0);
  next.checkBeside(t);
  t.end();
});

t.test('a reset in the middle of traffic leaves nothing behind', (t) => {
  const fixture = new ErrorFixture();
  const { a, b } = fixture;
  for (let index = 0; index < 8; index++) {
    b.postReceive(fixture.far);
    a.post({ opcode: RDMA_READ, pieces: [fixture.local], remote: fixture.far });
  }
  fixture.driver.machine.step();
  fixture.driver.reset();
  fixture.run();
  const { device } = fixture.driver;
  t.equal(device.sends.busyBuffers, 0, 'collect buffers');
  t.equal(device.lanes.execution.functions[0].used, 0, 'execution credits');
  t.equal(device.lanes.completion.functions[0].used, 0, 'completion credits');
  t.end();
});
