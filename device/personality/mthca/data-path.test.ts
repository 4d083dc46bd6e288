// SPDX-License-Identifier: Apache-2.0
/**
 * The data path in process: RC, UC and UD between two queue pairs of software, whose packets cross
 * the cable between the two ports of the device; SRQs, multicast groups and CQs that are resized.
 */
import t from 'tap';
import { CommandOpcode, EventKind, QpService, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import type { Piece } from '../../rig/machine/personality-driver.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';
import { LOG_ENTRIES } from '../../rig/mthca/driver/data-queue-pair.ts';
import { DriverSharedQueue } from '../../rig/mthca/driver/shared-queue.ts';

const { SEND, SEND_IMMEDIATE, RDMA_WRITE, RDMA_WRITE_IMMEDIATE, RDMA_READ } = WorkOpcode;
const { COMPARE_AND_SWAP, FETCH_AND_ADD } = WorkOpcode;
const GRH_BYTES = 40;
const MTU = 2048;
const ENTRIES = 2 ** LOG_ENTRIES;

function pattern(bytes: Uint8Array, seed = 0): Uint8Array {
  for (let index = 0; index < bytes.length; index++) bytes[index] = index * 7 + (index >> 8) + seed;
  return bytes.slice();
}

t.test('SENDs over a reliable connection', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [source, target] = [fixture.memory(100), fixture.memory(200)];
  const sent = pattern(fixture.bytes(source));
  b.postReceive(target);
  a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  t.match(a.take(), [{ qpn: a.number, isSend: 1, opcode: SEND, syndrome: 0, request: a.sendOffset(0) }]);
  t.match(b.take(), [{ qpn: b.number, isSend: 0, opcode: 4, syndrome: 0, request: 0, byteCount: 100 }]);
  t.same(fixture.bytes(target).slice(0, 100), sent);
  const long = fixture.memory(3 * MTU + 5);
  const taken = fixture.memory(4 * MTU);
  const whole = pattern(fixture.bytes(long));
  const half = (at: number, byteCount: number): Piece => ({ ...taken, address: taken.address + at, byteCount });
  b.postReceive(half(0, 3000), half(3000, 5000));
  const part = { ...long, byteCount: 1000 };
  const rest = { ...long, address: long.address + 1000, byteCount: long.byteCount - 1000 };
  a.post({ opcode: SEND_IMMEDIATE, pieces: [part, rest], immediate: 0xcafe0001, signaled: 0 });
  fixture.run();
  t.same(a.take(), [], 'not signaled');
  const request = b.receiveOffset(1);
  t.match(b.take(), [{ opcode: 5, immediate: 0xcafe0001, byteCount: long.byteCount, request }]);
  t.same(fixture.bytes(taken).slice(0, long.byteCount), whole);
  t.end();
});

t.test('inline data, short and longer than a command holds', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const target = fixture.memory(0x1000);
  const remote = { address: target.address, key: target.key };
  for (const length of [1, 100, 200]) {
    const data = pattern(new Uint8Array(length), length);
    a.post({ opcode: RDMA_WRITE, inline: data, remote });
    fixture.run();
    t.match(a.take(), [{ opcode: RDMA_WRITE, syndrome: 0 }]);
    t.same(fixture.bytes(target).slice(0, length), data);
  }
  t.same(b.take(), [], 'a WRITE takes no receive');
  t.end();
});

t.test('WRITE, READ and atomics', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [local, far] = [fixture.memory(5000), fixture.memory(5000)];
  const remote = { address: far.address, key: far.key };
  const data = pattern(fixture.bytes(local));
  a.post({ opcode: RDMA_WRITE, pieces: [local], remote });
  fixture.run();
  t.match(a.take(), [{ opcode: RDMA_WRITE, syndrome: 0 }]);
  t.same(fixture.bytes(far), data);
  pattern(fixture.bytes(far), 99);
  a.post({ opcode: RDMA_READ, pieces: [local], remote });
  fixture.run();
  t.match(a.take(), [{ opcode: RDMA_READ, syndrome: 0, byteCount: 5000 }]);
  t.same(fixture.bytes(local), fixture.bytes(far));
  b.postReceive();
  a.post({ opcode: RDMA_WRITE_IMMEDIATE, pieces: [local], remote, immediate: 7 });
  fixture.run();
  t.match(b.take(), [{ opcode: 0x0b, immediate: 7, byteCount: 5000 }]);
  a.take();
  const word = { ...local, byteCount: 8 };
  const view = fixture.driver.memory.view(far.address, 8);
  view.setBigUint64(0, 40n, true);
  a.post(
    { opcode: FETCH_AND_ADD, pieces: [word], remote, atomic: [2, 0] },
    { opcode: COMPARE_AND_SWAP, pieces: [{ ...word, address: word.address + 8 }], remote, atomic: [1000, 42] },
  );
  fixture.run();
  t.match(a.take(), [
    { opcode: FETCH_AND_ADD, byteCount: 8 },
    { opcode: COMPARE_AND_SWAP, byteCount: 8 },
  ]);
  const found = fixture.driver.memory.view(local.address, 16);
  t.same([found.getBigUint64(0, true), found.getBigUint64(8, true)], [40n, 42n], 'what was there before');
  t.equal(view.getBigUint64(0, true), 1000n);
  t.end();
});

t.test('many requests by few doorbells, around the queues', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [source, target] = [fixture.memory(64), fixture.memory(64)];
  let received = 0;
  for (let round = 0; round < 20; round++) {
    const count = 1 + (round % ENTRIES);
    for (let index = 0; index < count; index++) b.postReceive(target);
    a.post(...Array.from({ length: count }, (_, index) => ({ opcode: SEND, pieces: [source], immediate: index })));
    fixture.run();
    t.equal(a.take().length, count);
    const requests = b.take().map(({ request }) => request);
    t.same(
      requests,
      Array.from({ length: count }, (_, index) => b.receiveOffset(received + index)),
    );
    received += count;
  }
  t.end();
});

t.test('an unreliable connection', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect(QpService.UC);
  const [source, target] = [fixture.memory(3000), fixture.memory(4000)];
  const data = pattern(fixture.bytes(source));
  b.postReceive(target);
  a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  t.match(a.take(), [{ opcode: SEND, syndrome: 0 }]);
  t.match(b.take(), [{ byteCount: 3000 }]);
  t.same(fixture.bytes(target).slice(0, 3000), data);
  a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  t.match(a.take(), [{ syndrome: 0 }], 'the sender learns nothing of a lost message');
  t.same(b.take(), [], 'there was no receive');
  t.end();
});

t.test('datagrams', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect(QpService.UD);
  const [source, target] = [fixture.memory(500), fixture.memory(600)];
  const data = pattern(fixture.bytes(source));
  const to = { lid: 2, qpn: b.number, qkey: 0x1234 };
  for (const route of [0, 1]) {
    b.postReceive(target);
    const [, port] = fixture.driver.device.ports;
    const gid = port.gids.slice(0, 16);
    a.post({
      opcode: SEND_IMMEDIATE,
      pieces: [source],
      to: { ...to, hasRoute: route, hopLimit: 3 },
      gid,
      immediate: 5,
    });
    fixture.run();
    t.match(a.take(), [{ opcode: SEND, syndrome: 0 }]);
    const sender = { remoteQpn: a.number, remoteLid: 1, hasRoute: route, immediate: 5 };
    t.match(b.take(), [{ ...sender, byteCount: GRH_BYTES + 500, opcode: 5 }]);
    t.same(fixture.bytes(target).slice(GRH_BYTES, GRH_BYTES + 500), data);
  }
  const { ports } = fixture.driver.device;
  b.postReceive(target);
  a.post({ opcode: SEND, pieces: [source], to: { ...to, qkey: 0x9999 } });
  fixture.run();
  t.same(b.take(), [], 'a wrong Q_Key');
  t.equal(ports[1].badQkeys, 1);
  a.post({ opcode: SEND, pieces: [source], to: { ...to, qpn: 0xabcd } });
  fixture.run();
  t.same(b.take(), [], 'no such QP');
  t.equal(a.take().length, 2, 'the sender learns nothing of either');
  t.end();
});

t.test('a multicast group', (t) => {
  const fixture = new DataFixture();
  const { driver } = fixture;
  const [a, b] = fixture.connect(QpService.UD);
  const c = fixture.queuePair({ service: QpService.UD, port: 2 });
  c.start();
  const gid = Uint8Array.from({ length: 16 }, (_, index) => (index === 0 ? 0xff : index));
  const entry = new Uint8Array(0x100);
  entry.set(gid, 16);
  const view = new DataView(entry.buffer);
  for (const [index, qp] of [b, c, a].entries()) view.setUint32(32 + 4 * index, 2 ** 31 + qp.number);
  const { value: index } = driver.expect(CommandOpcode.MGID_HASH, { input: gid });
  driver.expect(CommandOpcode.WRITE_MGM, { input: entry, modifier: index });
  const source = fixture.memory(100);
  const targets = [a, b, c].map((qp) => {
    const target = fixture.memory(200);
    qp.postReceive(target);
    return target;
  });
  const to = { lid: 0xc001, qpn: 0xffffff, qkey: 0x1234, hasRoute: 1 };
  const data = pattern(fixture.bytes(source));
  a.post({ opcode: SEND, pieces: [source], to, gid });
  fixture.run();
  t.match(a.take(), [{ isSend: 1 }, { isSend: 0, byteCount: 140 }], 'the sender is a member, too');
  t.match(b.take(), [{ remoteQpn: a.number, hasRoute: 1, byteCount: 140 }]);
  t.match(c.take(), [{ byteCount: 140 }]);
  for (const target of targets) t.same(fixture.bytes(target).slice(GRH_BYTES, GRH_BYTES + 100), data);
  // A chain of another entry with the same hash, and then a circle.
  const other = entry.slice();
  other.fill(1, 17, 32);
  new DataView(other.buffer).setUint32(0, 12 << 6);
  driver.expect(CommandOpcode.WRITE_MGM, { input: other, modifier: index });
  driver.expect(CommandOpcode.WRITE_MGM, { input: entry, modifier: 12 });
  for (const [qp, target] of [a, b, c].map((qp, place) => [qp, targets[place]] as const)) qp.postReceive(target);
  a.post({ opcode: SEND, pieces: [source], to, gid });
  fixture.run();
  t.equal(b.take().length, 1, 'in a chain');
  new DataView(other.buffer).setUint32(0, index << 6);
  driver.expect(CommandOpcode.WRITE_MGM, { input: other, modifier: 12 });
  driver.expect(CommandOpcode.WRITE_MGM, { input: other, modifier: index });
  a.post({ opcode: SEND, pieces: [source], to, gid });
  fixture.run();
  t.same(b.take(), [], 'nothing is found in a circle');
  t.end();
});

t.test('a shared receive queue with a limit', (t) => {
  const fixture = new DataFixture();
  const srq = new DriverSharedQueue(fixture.driver, fixture.takeRecords(1));
  const context = { hasSrq: 1, srqn: srq.number };
  const pairs = [0, 1].map(() => fixture.connect(QpService.RC, {}, { context }));
  const source = fixture.memory(64);
  const data = pattern(fixture.bytes(source));
  const targets = [0, 1, 2, 3, 4].map(() => fixture.memory(64));
  for (const target of targets) srq.post(target);
  fixture.driver.expect(CommandOpcode.ARM_SRQ, { input: 3, modifier: srq.number });
  fixture.takeEvents();
  const taken: number[] = [];
  for (const [round, [a, b]] of [...pairs, ...pairs].entries()) {
    a.post({ opcode: SEND, pieces: [source] });
    fixture.run();
    a.take();
    const [completion] = b.take();
    t.match(completion, { qpn: b.number, byteCount: 64, syndrome: 0 });
    taken.push(completion.request);
    const limits = fixture.takeEvents().filter(({ kind }) => kind === EventKind.SRQ_LIMIT);
    t.same(limits, round === 2 ? [{ kind: EventKind.SRQ_LIMIT, number: srq.number }] : [], `limit after ${round}`);
  }
  t.same(
    taken,
    [0, 1, 2, 3].map((index) => srq.offsetOf(index)),
  );
  for (const target of targets.slice(0, 4)) t.same(fixture.bytes(target), data);
  // Entries become free in another order, and are posted in that.
  for (const request of [taken[2], taken[0], taken[3], taken[1]]) srq.free(request);
  for (const target of targets.slice(0, 4)) srq.post(target);
  const [[a, b]] = pairs;
  for (let round = 0; round < 5; round++) a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  const order = b.take().map(({ request }) => request);
  t.same(order, [srq.offsetOf(4), ...srq.reposted.slice(0, 4)]);
  t.end();
});

t.test('a sender waits for a receive that is posted later', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [source, target] = [fixture.memory(64), fixture.memory(64)];
  a.post({ opcode: SEND, pieces: [source] });
  fixture.run();
  t.same(a.take(), []);
  b.postReceive(target);
  let done = 0;
  fixture.driver.machine.runUntil(() => {
    done += a.take().length;
    return done > 0;
  }, 'the completion of the SEND');
  t.equal(b.take().length, 1);
  t.end();
});

t.test('completion queues are resized with entries in them', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [source, target] = [fixture.memory(64), fixture.memory(64)];
  for (const logEntries of [8, 4]) {
    for (let index = 0; index < 3; index++) b.postReceive(target);
    a.post(...[1, 2, 3].map(() => ({ opcode: SEND, pieces: [source] })));
    fixture.run();
    b.cq.resize(logEntries);
    t.equal(b.take().length, 3);
    b.postReceive(target);
    a.post({ opcode: SEND, pieces: [source] });
    fixture.run();
    t.equal(b.take().length, 1, 'and go on in the other buffer');
    a.take();
  }
  t.end();
});

t.test('a queue pair is drained', (t) => {
  const fixture = new DataFixture();
  const [a, b] = fixture.connect();
  const [source, target] = [fixture.memory(64), fixture.memory(64)];
  fixture.driver.expect(CommandOpcode.RTS2SQD_QP, { input: new Uint8Array(0x200), modifier: 2 ** 31 + a.number });
  t.match(
    fixture.takeEvents().filter(({ kind }) => kind === EventKind.SEND_QUEUE_DRAINED),
    [{ number: a.number }],
  );
  a.post({ opcode: SEND, pieces: [source] });
  b.postReceive(target);
  fixture.run();
  t.same(b.take(), [], 'nothing is sent in SQD');
  fixture.driver.expect(CommandOpcode.SQD2RTS_QP, { input: new Uint8Array(0x200), modifier: a.number });
  fixture.run();
  t.equal(b.take().length, 1);
  t.end();
});
