// SPDX-License-Identifier: Apache-2.0
/**
 * The data path in process: RC, UC, UD and XRC between two queue pairs of software, whose packets
 * come back to the port from which they left; shared receive queues in their three forms.
 */
import t, { type Test } from 'tap';
import { GID_SIZE, MULTICAST_QPN } from '../../../protocol/infiniband/addresses.ts';
import type { Ads } from '../../../protocol/mlx5/gen/ads.gen.ts';
import type { Qpc } from '../../../protocol/mlx5/gen/qpc.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  CompletionMode,
  CompletionOpcode,
  CompletionSyndrome,
  QpService,
  QpState,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import { LIST_ELEMENTS_MAX } from '../../hca/collect/physical-collect-buffer.ts';
import type { Piece } from '../../rig/machine/personality-driver.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import { PORT_GIDS } from './hca/capabilities.ts';

const { SEND, SEND_IMMEDIATE, WRITE, WRITE_IMMEDIATE, READ, COMPARE_SWAP, FETCH_ADD, NOP } = SendOpcode;
const GRH_BYTES = 40;
const MTU = 4096;
const ENTRIES = 16;

/** Bytes are equal; a difference is told in few words. */
function equal(t: Test, found: Uint8Array, wanted: Uint8Array): void {
  t.equal(Buffer.compare(found, wanted), 0, `${wanted.length} bytes`);
}

function pattern(bytes: Uint8Array, seed = 0): Uint8Array {
  for (let index = 0; index < bytes.length; index++) bytes[index] = index * 7 + (index >> 8) + seed;
  return bytes.slice();
}

t.test('SENDs over a reliable connection', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [source, target] = [fixture.memory(100), fixture.memory(200)];
  const sent = pattern(fixture.bytes(source));
  b.postReceive(target);
  const [first] = a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  t.match(a.setup.cq.take(), [
    { qpn: a.number, opcode: CompletionOpcode.REQUEST, sendOpcode: SEND, wqeCounter: first },
  ]);
  t.match(b.setup.cq.take(), [{ qpn: b.number, opcode: CompletionOpcode.SEND, wqeCounter: 0, byteCount: 100 }]);
  equal(t, fixture.bytes(target).slice(0, 100), sent);
  const long = fixture.memory(3 * MTU + 5);
  const taken = fixture.memory(4 * MTU);
  const whole = pattern(fixture.bytes(long));
  const half = (at: number, byteCount: number): Piece => ({ ...taken, address: taken.address + at, byteCount });
  b.postReceive(half(0, 3000), half(3000, 13000));
  const part = { ...long, byteCount: 1000 };
  const rest = { ...long, address: long.address + 1000, byteCount: long.byteCount - 1000 };
  a.post({
    opcode: SEND_IMMEDIATE,
    pieces: [part, rest],
    immediate: 0xcafe0001,
    completion: CompletionMode.ON_ERROR,
  });
  fixture.run();
  t.same(a.setup.cq.take(), [], 'not signaled');
  t.match(b.setup.cq.take(), [
    { opcode: CompletionOpcode.SEND_IMMEDIATE, immediate: 0xcafe0001, byteCount: long.byteCount, wqeCounter: 1 },
  ]);
  equal(t, fixture.bytes(taken).slice(0, long.byteCount), whole);
});

t.test('inline data: in the command, longer than it holds, and around the end of the ring', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const target = fixture.memory(0x1000);
  const remote = { address: target.address, key: target.key };
  for (const length of [1, 28, 256, 257, 500, 700, 512, 600]) {
    const data = pattern(new Uint8Array(length), length);
    const [first] = a.post({ opcode: WRITE, inline: data, remote });
    fixture.run();
    t.match(a.setup.cq.take(), [{ sendOpcode: WRITE, wqeCounter: first }], `${length} bytes`);
    equal(t, fixture.bytes(target).slice(0, length), data);
  }
  t.same(b.setup.cq.take(), [], 'a WRITE takes no receive');
});

t.test('WRITE, READ and atomics', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [local, far] = [fixture.memory(5000), fixture.memory(5000)];
  const remote = { address: far.address, key: far.key };
  const data = pattern(fixture.bytes(local));
  a.post({ opcode: WRITE, pieces: [local], remote });
  fixture.run();
  t.match(a.setup.cq.take(), [{ sendOpcode: WRITE, opcode: CompletionOpcode.REQUEST }]);
  equal(t, fixture.bytes(far), data);
  pattern(fixture.bytes(far), 99);
  a.post({ opcode: READ, pieces: [local], remote });
  fixture.run();
  t.match(a.setup.cq.take(), [{ sendOpcode: READ, byteCount: 5000 }]);
  equal(t, fixture.bytes(local), fixture.bytes(far));
  b.postReceive();
  a.post({ opcode: WRITE_IMMEDIATE, pieces: [local], remote, immediate: 7 });
  fixture.run();
  t.match(b.setup.cq.take(), [{ opcode: CompletionOpcode.WRITE_IMMEDIATE, immediate: 7, byteCount: 5000 }]);
  a.setup.cq.take();
  const word = { ...local, byteCount: 8 };
  const view = fixture.driver.memory.view(far.address, 8);
  view.setBigUint64(0, 40n, true);
  a.post(
    { opcode: FETCH_ADD, pieces: [word], remote, atomic: [2, 0] },
    { opcode: COMPARE_SWAP, pieces: [{ ...word, address: word.address + 8 }], remote, atomic: [1000, 42] },
  );
  fixture.run();
  t.match(a.setup.cq.take(), [
    { sendOpcode: FETCH_ADD, byteCount: 8 },
    { sendOpcode: COMPARE_SWAP, byteCount: 8 },
  ]);
  const found = fixture.driver.memory.view(local.address, 16);
  t.same([found.getBigUint64(0, true), found.getBigUint64(8, true)], [40n, 42n], 'what was there before');
  t.equal(view.getBigUint64(0, true), 1000n);
});

t.test('lists of up to 31 pieces, and of one more', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [local, far] = [fixture.memory(0x4000), fixture.memory(0x4000)];
  const remote = { address: far.address, key: far.key };
  for (const [count, pieceBytes] of [
    [16, 300],
    [17, 1],
    [30, 500],
    [LIST_ELEMENTS_MAX, 257],
  ]) {
    // The pieces lie in reverse order and one byte apart.
    const pieces = Array.from({ length: count }, (_, index) => ({
      ...local,
      address: local.address + (count - 1 - index) * (pieceBytes + 1),
      byteCount: pieceBytes,
    }));
    const content = () => Buffer.concat(pieces.map((piece) => fixture.bytes(piece)));
    for (const opcode of [SEND, WRITE, READ]) {
      const what = `opcode ${opcode}, ${count} pieces of ${pieceBytes} bytes`;
      pattern(fixture.bytes(local), count + opcode);
      pattern(fixture.bytes(far), count);
      if (opcode === SEND) b.postReceive(far);
      a.post({ opcode, pieces, ...(opcode === SEND ? {} : { remote }) });
      fixture.run();
      t.match(a.setup.cq.take(), [{ sendOpcode: opcode, opcode: CompletionOpcode.REQUEST }], what);
      if (opcode === SEND) t.match(b.setup.cq.take(), [{ byteCount: count * pieceBytes }], what);
      equal(t, content(), fixture.bytes({ ...far, byteCount: count * pieceBytes }));
    }
  }
  a.post({ opcode: WRITE, pieces: Array.from({ length: LIST_ELEMENTS_MAX + 1 }, () => local), remote });
  fixture.run();
  t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST_ERROR }]);
});

t.test('requests of 1 to 5 blocks by few doorbells, around the queue many times', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const target = fixture.memory(64);
  let received = 0;
  for (let round = 0; round < 40; round++) {
    const shapes = [[1, 2, 5, 3], [4], [1, 1, 1, 1, 1, 1, 1]][round % 3];
    for (const _ of shapes) b.postReceive(target);
    // The control piece has 16 bytes, and inline data have a length of 4 bytes before them.
    const first = a.post(
      ...shapes.map((blocks) => ({
        opcode: SEND,
        inline: new Uint8Array(Math.max(blocks * 64 - 20 - 16, 8)),
      })),
    );
    fixture.run();
    t.same(
      a.setup.cq.take().map(({ wqeCounter }) => wqeCounter),
      first,
    );
    const completions = b.setup.cq.take();
    t.equal(completions.length, shapes.length);
    for (const { wqeCounter } of completions) t.equal(wqeCounter % ENTRIES, received++ % ENTRIES);
    if (a.query().state !== QpState.RTS) break;
  }
});

t.test('an unreliable connection', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect(QpService.UC);
  const [source, target] = [fixture.memory(3000), fixture.memory(4000)];
  const data = pattern(fixture.bytes(source));
  b.postReceive(target);
  a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  t.match(a.setup.cq.take(), [{ sendOpcode: SEND }]);
  t.match(b.setup.cq.take(), [{ byteCount: 3000 }]);
  equal(t, fixture.bytes(target).slice(0, 3000), data);
  a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST }], 'the sender learns nothing of a loss');
  t.same(b.setup.cq.take(), [], 'there was no receive');
});

t.test('datagrams, with and without a route', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect(QpService.UD);
  const [source, target] = [fixture.memory(500), fixture.memory(600)];
  const data = pattern(fixture.bytes(source));
  const gid = fixture.driver.device.ports[0].gids.slice(0, 16);
  for (const hasRoute of [0, 1]) {
    b.postReceive(target);
    const to = { remoteLid: fixture.lid, remoteQpn: b.number, qkey: 0x1234, hasRoute, serviceLevel: 3 };
    a.post({ opcode: SEND_IMMEDIATE, pieces: [source], to, gid, immediate: 9 });
    fixture.run();
    t.match(a.setup.cq.take(), [{ sendOpcode: SEND, opcode: CompletionOpcode.REQUEST }]);
    t.match(b.setup.cq.take(), [
      {
        byteCount: 540,
        remoteQpn: a.number,
        remoteLid: fixture.lid,
        serviceLevel: 3,
        immediate: 9,
        hasRoute,
      },
    ]);
    equal(t, fixture.bytes(target).slice(GRH_BYTES, 540), data);
  }
  b.postReceive(target);
  a.post({ opcode: SEND, pieces: [source], to: { remoteLid: fixture.lid, remoteQpn: b.number, qkey: 1 } });
  fixture.run();
  t.same(b.setup.cq.take(), [], 'another Q_Key');
});

t.test('a QP may refuse its own datagrams to a group', async (t) => {
  const fixture = new DataFixture();
  const [open, closed] = fixture.connect(QpService.UD, {}, { context: { blockLbMc: 1 } });
  const qps = [open, closed];
  const gid = new Uint8Array(GID_SIZE);
  gid.set([0xff, 0x12, 0xa0, 0x1b]);
  for (const { number } of qps)
    fixture.driver.expect(CommandOpcode.ATTACH_TO_MCG, {
      inputBytes: 0x20,
      fill: (view) => {
        view.setUint32(8, number);
        new Uint8Array(view.buffer, 0x10).set(gid);
      },
    });
  const [source, target] = [fixture.memory(100), fixture.memory(200)];
  const to = { remoteLid: 0xc001, remoteQpn: MULTICAST_QPN, qkey: 0x1234, hasRoute: 1 };
  for (const sender of qps) {
    for (const qp of qps) qp.postReceive(target);
    sender.post({ opcode: SEND, pieces: [source], to, gid, completion: CompletionMode.ON_ERROR });
    fixture.run();
    const arrivals = qps.map((qp) => qp.setup.cq.take().map(({ remoteQpn }) => remoteQpn));
    t.same(arrivals, [[sender.number], sender === open ? [open.number] : []]);
  }
});

t.test('completions carry the user index of a QP, if it has one', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect(
    QpService.RC,
    { context: { userIndex: 0x123456 } },
    { context: { userIndex: 0xffffff } },
  );
  const [source, target] = [fixture.memory(64), fixture.memory(64)];
  b.postReceive(target);
  a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  t.match(a.setup.cq.take(), [{ qpn: a.number, srqnOrUserIndex: 0x123456 }]);
  t.match(b.setup.cq.take(), [{ qpn: b.number, srqnOrUserIndex: 0 }], 'the form of version 0, without an SRQ');
});

t.test('a QP in ERR flushes what is posted, then and later', async (t) => {
  const fixture = new DataFixture();
  const [a] = fixture.connect();
  const [source, target] = [fixture.memory(64), fixture.memory(64)];
  a.postReceive(target);
  t.equal(a.command(CommandOpcode.QP_2ERR).status, CommandStatus.OK);
  t.equal(a.query().state, QpState.ERROR);
  fixture.run();
  t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.RESPONSE_ERROR }]);
  const [first] = a.post({ opcode: SEND, pieces: [source], completion: CompletionMode.ON_ERROR });
  fixture.run();
  const view = a.setup.cq.slot(1);
  t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST_ERROR, wqeCounter: first }], 'unsignaled, too');
  t.equal(view.getUint8(55), CompletionSyndrome.FLUSHED);
  a.postReceive(target);
  fixture.driver.machine.runUntil(() => a.setup.cq.peek() !== undefined, 'a flush: receives have no doorbell');
  t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.RESPONSE_ERROR }]);
  a.reset();
  t.equal(a.query().state, QpState.RESET);
  t.equal(a.command(CommandOpcode.DESTROY_QP).status, CommandStatus.OK);
  t.equal(a.command(CommandOpcode.DESTROY_QP).status, CommandStatus.BAD_RESOURCE);
});

t.test('a QP that was reset works again, from its first block on', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [source, target] = [fixture.memory(64), fixture.memory(64)];
  for (let round = 0; round < 3; round++) {
    b.postReceive(target);
    t.same(a.post({ opcode: NOP }, { opcode: SEND, pieces: [source] }), [0, 1]);
    fixture.run();
    t.match(a.setup.cq.take(), [
      { sendOpcode: NOP, wqeCounter: 0 },
      { sendOpcode: SEND, wqeCounter: 1 },
    ]);
    t.match(b.setup.cq.take(), [{ wqeCounter: 0 }]);
    for (const qp of [a, b]) qp.reset();
    a.start(b.number, fixture.lid);
    b.start(a.number, fixture.lid);
  }
});

t.test('requests that are no requests end in completions, and QPs of others go on', async (t) => {
  const source = new DataFixture().memory(64);
  const wrong = [
    { what: 'an opcode', work: { opcode: 0x30 } },
    {
      what: 'inline data that go on behind the request',
      work: { opcode: SEND, raw: Uint8Array.of(0x80, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0) },
    },
    { what: 'the key of queues', work: { opcode: SEND, pieces: [{ ...source, key: 0xffffffff }] } },
    { what: 'an atomic without memory', work: { opcode: FETCH_ADD, remote: source, atomic: [1, 2] as const } },
  ];
  for (const { what, work } of wrong) {
    const fixture = new DataFixture();
    const [a] = fixture.connect();
    const [c, d] = fixture.connect();
    const [from, to] = [fixture.memory(64), fixture.memory(64)];
    a.post(work, { opcode: NOP });
    d.postReceive(to);
    c.post({ opcode: SEND, pieces: [from] });
    fixture.run();
    t.match(
      a.setup.cq.take().map(({ opcode }) => opcode),
      [CompletionOpcode.REQUEST_ERROR, CompletionOpcode.REQUEST_ERROR],
      what,
    );
    t.equal(a.query().state, QpState.ERROR, what);
    t.match(d.setup.cq.take(), [{ opcode: CompletionOpcode.SEND }], what);
  }
});

t.test('a route from a GID that the port does not have', async (t) => {
  for (const gidIndex of [1, PORT_GIDS, 255]) {
    const fixture = new DataFixture();
    const [a, b] = fixture.connect(QpService.UD);
    const [source, target] = [fixture.memory(100), fixture.memory(200)];
    const gid = fixture.driver.device.ports[0].gids.slice(0, GID_SIZE);
    b.postReceive(target);
    const to = { remoteLid: fixture.lid, remoteQpn: b.number, qkey: 0x1234, hasRoute: 1, gidIndex };
    a.post({ opcode: SEND, pieces: [source], to, gid });
    fixture.run();
    t.same(b.setup.cq.take(), [], `nothing leaves from GID ${gidIndex}`);
    t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.REQUEST_ERROR }]);
  }
});

t.test('doorbells: another page, a record that cannot be, nothing new', async (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [source, target] = [fixture.memory(64), fixture.memory(64)];
  b.postReceive(target);
  a.write({ opcode: SEND, pieces: [source] });
  a.ring(1, fixture.driver.allocateUar());
  fixture.run();
  t.same(a.setup.cq.take(), [], 'another page');
  a.ring(ENTRIES + 1);
  fixture.run();
  t.same(a.setup.cq.take(), [], 'further than the ring');
  for (let again = 0; again < 3; again++) a.ring(1);
  fixture.run();
  t.equal(a.setup.cq.take().length, 1);
  t.equal(b.setup.cq.take().length, 1);
});

t.test('transitions: states, fields, options', async (t) => {
  const fixture = new DataFixture();
  const qp = fixture.queuePair();
  t.equal(qp.move(CommandOpcode.INIT2RTR_QP).status, CommandStatus.BAD_QP_STATE);
  t.equal(qp.command(CommandOpcode.QP_2ERR).status, CommandStatus.BAD_QP_STATE, 'a QP in RESET');
  t.equal(qp.move(CommandOpcode.RST2INIT_QP, {}, { vhcaPortNum: 2 }).status, CommandStatus.BAD_PARAMETER);
  t.equal(qp.move(CommandOpcode.RST2INIT_QP, {}, { pkeyIndex: 9999 }).status, CommandStatus.BAD_PARAMETER);
  t.equal(qp.move(CommandOpcode.RST2INIT_QP, {}, {}, 1 << 31).status, CommandStatus.BAD_PARAMETER);
  t.equal(qp.query().state, QpState.RESET, 'a refused transition changes nothing');
  t.equal(qp.move(CommandOpcode.RST2INIT_QP, { rre: 0 }).status, CommandStatus.OK);
  t.equal(qp.move(CommandOpcode.INIT2INIT_QP, { rre: 1, rwe: 0 }, {}, 0b10).status, CommandStatus.OK);
  t.match(qp.query(), { state: QpState.INIT, rre: 1, rwe: 1 }, 'what the mask means');
  const refused: readonly [Partial<Qpc>, Partial<Ads>][] = [
    [{ mtu: 0 }, {}],
    [{ mtu: 6 }, {}],
    [{}, { grh: 1, srcAddrIndex: 200 }],
  ];
  for (const [fields, path] of refused)
    t.equal(qp.move(CommandOpcode.INIT2RTR_QP, fields, path).status, CommandStatus.BAD_PARAMETER);
  t.equal(qp.move(CommandOpcode.INIT2RTR_QP, { logRraMax: 5 }).status, CommandStatus.LIMIT_EXCEEDED);
  const path = { rlid: 7, sl: 2 };
  t.equal(qp.move(CommandOpcode.INIT2RTR_QP, { remoteQpn: 77, nextRcvPsn: 5 }, path).status, CommandStatus.OK);
  t.match(qp.query(), { state: QpState.RTR, remoteQpn: 77, nextRcvPsn: 5 });
  t.equal(qp.move(CommandOpcode.RTR2RTS_QP, { nextSendPsn: 6 }).status, CommandStatus.OK);
  t.match(qp.query(), { state: QpState.RTS, nextSendPsn: 6, mtu: 5 });
});

t.test('a QP uses what it names, and the port has one QP0 and one QP1', async (t) => {
  const fixture = new DataFixture();
  const { driver } = fixture;
  const qp = fixture.queuePair();
  const destroyPd = { fill: (view: DataView) => view.setUint32(8, fixture.pd) };
  t.equal(driver.command(CommandOpcode.DEALLOC_PD, destroyPd).status, CommandStatus.RESOURCE_BUSY);
  const destroyCq = { fill: (view: DataView) => view.setUint32(8, qp.setup.cq.number) };
  t.equal(driver.command(CommandOpcode.DESTROY_CQ, destroyCq).status, CommandStatus.RESOURCE_BUSY);
  t.throws(() => fixture.queuePair({ pd: fixture.pd + 1 }), /status/);
  t.throws(() => fixture.queuePair({ context: { cqnRcv: 0xfffff } }), /status/);
  t.throws(() => fixture.queuePair({ context: { logSqSize: 15 } }), /status/, 'fewer pages than it needs');
  const smi = fixture.queuePair({ service: QpService.QP0 });
  t.throws(() => fixture.queuePair({ service: QpService.QP0 }), /status/);
  for (const one of [smi, qp]) t.equal(one.command(CommandOpcode.DESTROY_QP).status, CommandStatus.OK);
  t.equal(driver.command(CommandOpcode.DEALLOC_PD, destroyPd).status, CommandStatus.OK);
});
