// SPDX-License-Identifier: Apache-2.0
/**
 * Errors of the data path, in process: requests, keys and receives that are not valid, peers that
 * do not answer, CQs that are full, and the flush of what is left. Each failure has the syndrome
 * and the event that a driver expects (IBTA 11.6.2, 11.6.3), and no other queue pair notices.
 */
import t, { type Test } from 'tap';
import {
  CommandOpcode,
  CommandStatus,
  CompletionMode,
  CompletionSyndrome,
  EventType,
  QpService,
  QpState,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { PageAccess } from '../../rig/machine/guest-memory-model.ts';
import type { Piece } from '../../rig/machine/personality-driver.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import type { Mlx5DriverQueuePair, SendWork } from '../../rig/mlx5/driver/queue-pair.ts';

const { SEND, WRITE, READ, FETCH_ADD, NOP } = SendOpcode;
const { LOCAL_LENGTH, LOCAL_QP, LOCAL_PROTECTION, FLUSHED } = CompletionSyndrome;
const { REMOTE_INVALID_REQUEST, REMOTE_ACCESS, REMOTE_OPERATION } = CompletionSyndrome;
const { RETRIES_EXCEEDED, RNR_RETRIES_EXCEEDED } = CompletionSyndrome;
const { ACCESS_ERROR, INVALID_REQUEST, QUEUE_CATASTROPHIC, COMMUNICATION_ESTABLISHED, CQ_ERROR } = EventType;
const NO_KEY = 0x7f00;
const PAGE_BYTES = 4096;
const GOOD = 0;

/** A completion in few words: its request, and its syndrome or 0. */
type Ended = readonly [counter: number, syndrome: number];

/** A pair under test, a pair beside it, and memory. */
class ErrorFixture extends DataFixture {
  readonly a: Mlx5DriverQueuePair;
  readonly b: Mlx5DriverQueuePair;
  readonly local: Piece = this.memory(PAGE_BYTES);
  readonly far: Piece = this.memory(PAGE_BYTES);
  readonly #beside: [Mlx5DriverQueuePair, Mlx5DriverQueuePair];

  constructor(service: number = QpService.RC) {
    super();
    [this.a, this.b] = this.connect(service);
    this.#beside = this.connect();
    this.takeEvents();
  }

  /** Completions of a QP since the last call. */
  ended({ setup: { cq } }: Mlx5DriverQueuePair): Ended[] {
    return cq.take().map(({ wqeCounter }, index, all) => [wqeCounter, cq.syndromeAt(cq.consumed - all.length + index)]);
  }

  /** Events of failures, by type and number. */
  failures(): (readonly [type: number, number: number])[] {
    return this.takeEvents()
      .filter(({ type }) => type !== COMMUNICATION_ESTABLISHED)
      .map(({ type, number }) => [type, number]);
  }

  /** The pair beside still works. */
  checkBeside(t: Test, what: string): void {
    const [first, second] = this.#beside;
    second.postReceive(this.far);
    first.post({ opcode: SEND, pieces: [{ ...this.local, byteCount: 10 }] });
    this.run();
    t.match(this.ended(first), [[Number, GOOD]], `${what}: the pair beside`);
    t.match(this.ended(second), [[Number, GOOD]], `${what}: the pair beside`);
  }

  /** Runs, with time, until the QP has a completion. */
  await(qp: Mlx5DriverQueuePair): Ended[] {
    this.driver.machine.runUntil(() => qp.setup.cq.peek() !== undefined, 'a completion');
    return this.ended(qp);
  }
}

t.test('a request that is refused on the sending side fails its QP', (t) => {
  const cases: [string, number, (fixture: ErrorFixture) => SendWork][] = [
    ['no such key', LOCAL_PROTECTION, ({ local }) => ({ opcode: SEND, pieces: [{ ...local, key: NO_KEY }] })],
    ['behind the key', LOCAL_PROTECTION, ({ local }) => ({ opcode: SEND, pieces: [{ ...local, byteCount: 4097 }] })],
    ['no such opcode', LOCAL_QP, ({ local }) => ({ opcode: 0x30, pieces: [local] })],
    ['a target is missing', LOCAL_QP, () => ({ opcode: WRITE })],
    [
      'an atomic of 16 bytes',
      LOCAL_QP,
      ({ local, far }) => ({ opcode: FETCH_ADD, remote: far, atomic: [1, 0], pieces: [{ ...local, byteCount: 16 }] }),
    ],
    ['a READ into the request', LOCAL_QP, ({ far }) => ({ opcode: READ, remote: far, inline: new Uint8Array(300) })],
  ];
  for (const [what, syndrome, make] of cases) {
    const fixture = new ErrorFixture();
    const { a, b, local } = fixture;
    b.postReceive(fixture.far);
    const next = { opcode: SEND, pieces: [{ ...local, byteCount: 1 }], completion: CompletionMode.ON_ERROR };
    const [first, second] = a.post(make(fixture), next);
    fixture.run();
    t.same(
      fixture.ended(a),
      [
        [first, syndrome],
        [second, FLUSHED],
      ],
      what,
    );
    t.equal(a.query().state, QpState.ERROR, what);
    t.same(fixture.ended(b), [], `${what}: the peer got nothing`);
    fixture.checkBeside(t, what);
  }
  t.end();
});

t.test('a request that the peer refuses', (t) => {
  const cases: [string, number, number, (fixture: ErrorFixture) => SendWork][] = [
    [
      'no such key',
      REMOTE_ACCESS,
      ACCESS_ERROR,
      ({ local, far }) => ({ opcode: WRITE, pieces: [local], remote: { ...far, key: NO_KEY } }),
    ],
    [
      'a READ behind the key',
      REMOTE_ACCESS,
      ACCESS_ERROR,
      ({ local, far }) => ({ opcode: READ, pieces: [local], remote: { ...far, address: far.address + 1 } }),
    ],
    [
      'an atomic at an odd address',
      REMOTE_INVALID_REQUEST,
      INVALID_REQUEST,
      ({ local, far }) => ({
        opcode: FETCH_ADD,
        pieces: [{ ...local, byteCount: 8 }],
        atomic: [1, 0],
        remote: { ...far, address: far.address + 4 },
      }),
    ],
  ];
  for (const [what, syndrome, type, make] of cases) {
    const fixture = new ErrorFixture();
    const { a, b } = fixture;
    const [first] = a.post(make(fixture));
    fixture.run();
    t.same(fixture.ended(a), [[first, syndrome]], what);
    t.same(fixture.failures(), [[type, b.number]], what);
    t.equal(b.query().state, QpState.ERROR, what);
    fixture.checkBeside(t, what);
  }
  t.end();
});

t.test('rights of keys and of queue pairs count', (t) => {
  for (const [opcode, rights] of [
    [WRITE, { rw: 0 }],
    [READ, { rr: 0 }],
    [FETCH_ADD, { a: 0 }],
  ] as const) {
    const fixture = new ErrorFixture();
    const remote = fixture.memory(PAGE_BYTES, rights);
    const pieces = [{ ...fixture.local, byteCount: 8 }];
    fixture.a.post({ opcode, pieces, remote, ...(opcode === FETCH_ADD ? { atomic: [1, 0] as const } : {}) });
    fixture.run();
    t.match(fixture.ended(fixture.a), [[Number, REMOTE_ACCESS]], `opcode ${opcode} of the key`);
  }
  for (const [opcode, context] of [
    [WRITE, { rwe: 0 }],
    [READ, { rre: 0 }],
    [FETCH_ADD, { rae: 0 }],
  ] as const) {
    const fixture = new ErrorFixture();
    const [a] = fixture.connect(QpService.RC, {}, { context });
    const pieces = [{ ...fixture.local, byteCount: 8 }];
    a.post({ opcode, pieces, remote: fixture.far, ...(opcode === FETCH_ADD ? { atomic: [1, 0] as const } : {}) });
    fixture.run();
    const [[, syndrome]] = fixture.ended(a);
    t.ok(syndrome === REMOTE_ACCESS || syndrome === REMOTE_INVALID_REQUEST, `opcode ${opcode} of the QP`);
  }
  const fixture = new ErrorFixture();
  const readOnly = fixture.memory(PAGE_BYTES, { lw: 0 });
  fixture.a.post({ opcode: READ, pieces: [readOnly], remote: fixture.far });
  fixture.run();
  t.match(fixture.ended(fixture.a), [[Number, LOCAL_PROTECTION]], 'a READ into memory that may not be written');
  t.end();
});

t.test('a receive that cannot take its message', (t) => {
  for (const [what, local, remote, change] of [
    ['too short', LOCAL_LENGTH, REMOTE_INVALID_REQUEST, { byteCount: 99 }],
    ['no such key', LOCAL_PROTECTION, REMOTE_OPERATION, { key: NO_KEY }],
  ] as const) {
    const fixture = new ErrorFixture();
    const { a, b } = fixture;
    b.postReceive({ ...fixture.far, ...change });
    b.postReceive(fixture.far);
    a.post({ opcode: SEND, pieces: [{ ...fixture.local, byteCount: 100 }] });
    fixture.run();
    t.match(fixture.ended(a), [[Number, remote]], what);
    t.same(
      fixture.ended(b),
      [
        [0, local],
        [1, FLUSHED],
      ],
      what,
    );
    fixture.checkBeside(t, what);
  }
  t.end();
});

t.test('a peer that does not answer, and one without receives', (t) => {
  const silent = new ErrorFixture();
  const lost = silent.queuePair({ context: { retryCount: 2 } });
  lost.start(0xfff00, silent.lid);
  lost.post({ opcode: SEND, pieces: [{ ...silent.local, byteCount: 8 }] });
  t.same(silent.await(lost), [[0, RETRIES_EXCEEDED]]);
  silent.checkBeside(t, 'no answer');
  const fixture = new ErrorFixture();
  const [c] = fixture.connect(QpService.RC, { context: { rnrRetry: 2 } });
  c.post({ opcode: SEND, pieces: [{ ...fixture.local, byteCount: 8 }] });
  t.same(fixture.await(c), [[0, RNR_RETRIES_EXCEEDED]]);
  fixture.checkBeside(t, 'no receives');
  t.end();
});

t.test('opcodes that a service does not have', (t) => {
  for (const [service, opcode] of [
    [QpService.UC, READ],
    [QpService.UC, FETCH_ADD],
    [QpService.UD, WRITE],
    [QpService.UD, READ],
    [QpService.UD, SendOpcode.SEND_INVALIDATE],
  ]) {
    const fixture = new ErrorFixture(service);
    const { a, b, local, far } = fixture;
    const to = { remoteLid: fixture.lid, remoteQpn: b.number, qkey: 0x1234 };
    const target = service === QpService.UD ? { to } : { remote: far };
    const isAtomic = opcode === FETCH_ADD ? { atomic: [1, 0] as const } : {};
    const pieces = [{ ...local, byteCount: 8 }];
    a.post({ opcode, pieces, ...target, ...isAtomic }, { opcode: NOP });
    fixture.run();
    const what = `opcode ${opcode} of service ${service}`;
    t.match(
      fixture.ended(a),
      [
        [Number, LOCAL_QP],
        [Number, FLUSHED],
      ],
      what,
    );
    t.equal(a.query().state, QpState.SQE, what);
    // It stopped sending only, and goes on when software says so.
    t.equal(a.move(CommandOpcode.SQERR2RTS_QP).status, CommandStatus.OK, what);
    fixture.checkBeside(t, what);
  }
  t.end();
});

t.test('an unreliable QP goes on after SQE', (t) => {
  const fixture = new ErrorFixture(QpService.UD);
  const { a, b, local, far } = fixture;
  const to = { remoteLid: fixture.lid, remoteQpn: b.number, qkey: 0x1234 };
  const pieces = [{ ...local, byteCount: 8 }];
  a.post({ opcode: SEND, to, pieces: [{ ...local, key: NO_KEY }] });
  fixture.run();
  t.match(fixture.ended(a), [[Number, LOCAL_PROTECTION]]);
  t.equal(a.query().state, QpState.SQE);
  a.postReceive(far);
  b.post({ opcode: SEND, pieces, to: { ...to, remoteQpn: a.number } });
  fixture.run();
  t.match(fixture.ended(a), [[Number, GOOD]], 'it still receives');
  t.equal(a.move(CommandOpcode.SQERR2RTS_QP).status, CommandStatus.OK);
  b.postReceive(far);
  a.post({ opcode: SEND, pieces, to });
  fixture.run();
  t.match(fixture.ended(a), [[Number, GOOD]]);
  t.match(
    [fixture.ended(b)],
    [
      [
        [Number, GOOD],
        [Number, GOOD],
      ],
    ],
  );
  t.end();
});

t.test('a full completion queue fails its QPs', (t) => {
  const fixture = new ErrorFixture();
  const cq = fixture.completionQueue(1);
  const [c] = fixture.connect(QpService.RC, { cq });
  c.post(...[0, 1, 2].map(() => ({ opcode: NOP })));
  fixture.run();
  const types = fixture.failures();
  t.ok(
    types.some(([type]) => type === CQ_ERROR),
    'the CQ',
  );
  t.ok(
    types.some(([type, number]) => type === QUEUE_CATASTROPHIC && number === c.number),
    'the QP',
  );
  t.equal(c.query().state, QpState.ERROR);
  fixture.checkBeside(t, 'overrun');
  t.equal(c.command(CommandOpcode.DESTROY_QP).status, CommandStatus.OK);
  t.end();
});

t.test('queues whose pages go away in the middle', (t) => {
  const fixture = new ErrorFixture();
  const { a, b, local, far } = fixture;
  b.postReceive(far);
  fixture.driver.memory.protect(b.queue, PAGE_BYTES, PageAccess.UNMAPPED);
  a.post({ opcode: SEND, pieces: [{ ...local, byteCount: 8 }] });
  fixture.run();
  t.match(fixture.ended(b), [[0, LOCAL_QP]], 'the receive cannot be read');
  t.match(fixture.ended(a), [[Number, REMOTE_OPERATION]]);
  const [c] = fixture.connect();
  fixture.driver.memory.protect(c.queue, PAGE_BYTES, PageAccess.UNMAPPED);
  c.ring(3);
  fixture.run();
  t.match(fixture.ended(c), [[0, LOCAL_PROTECTION]], 'the requests cannot be read: they end as one');
  fixture.checkBeside(t, 'pages');
  t.end();
});

t.test('a QP that is destroyed or reset while requests wait', (t) => {
  for (const end of [CommandOpcode.DESTROY_QP, CommandOpcode.QP_2RST]) {
    const fixture = new ErrorFixture();
    const { a, b, local } = fixture;
    // There is no receive, so requests wait.
    a.post(...[0, 1, 2].map(() => ({ opcode: SEND, pieces: [{ ...local, byteCount: 5000 % PAGE_BYTES }] })));
    fixture.driver.machine.step();
    t.equal(a.command(end).status, CommandStatus.OK);
    a.ring(4);
    fixture.run();
    fixture.driver.machine.clock.jumpToAlarm();
    fixture.run();
    t.same(fixture.ended(a), [], 'nothing completes');
    t.equal(b.query().state, QpState.RTS);
    const { sends, lanes } = fixture.driver.device;
    t.equal(sends.busyBuffers, 0, 'collect buffers');
    t.same([lanes.execution.functions[0].used, lanes.completion.functions[0].used], [0, 0], 'credits');
    fixture.checkBeside(t, 'an end');
  }
  t.end();
});

t.test('doorbells before RTS: what is posted then is sent in RTS', (t) => {
  const fixture = new ErrorFixture();
  const { b, far } = fixture;
  const qp = fixture.queuePair();
  qp.post({ opcode: NOP });
  fixture.run();
  qp.start(b.number, fixture.lid);
  fixture.run();
  t.same(fixture.ended(qp), [[0, GOOD]]);
  qp.reset();
  qp.ring(2);
  fixture.run();
  t.same(fixture.ended(qp), []);
  b.postReceive(far);
  t.end();
});
