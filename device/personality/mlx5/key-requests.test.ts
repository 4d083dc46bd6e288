// SPDX-License-Identifier: Apache-2.0
/**
 * Requests that change keys, from a QP to the memory that packets reach: registration of memory by
 * the kernel, invalidation by both ends, and windows of both types (IBTA 10.6.3.2, 10.6.5, 10.6.7).
 */
import t, { type Test } from 'tap';
import {
  CompletionOpcode,
  CompletionSyndrome,
  FenceMode,
  KeyAccessMode,
  KeyAttribute,
  QpService,
  SendOpcode,
} from '../../../protocol/mlx5/gen/values.gen.ts';
import type { Piece } from '../../rig/machine/personality-driver.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import { keyRequest } from '../../rig/mlx5/driver/key-fixture.ts';
import type { Mlx5DriverQueuePair, SendWork } from '../../rig/mlx5/driver/queue-pair.ts';
import { ANY_QP } from './memory/key-attributes.ts';

const { UMR, WRITE, READ, SEND_INVALIDATE, NOP } = SendOpcode;
const { REMOTE_ACCESS, WINDOW_BIND, FLUSHED, LOCAL_PROTECTION } = CompletionSyndrome;
const { FREE, LENGTH, START_ADDRESS, QPN, LOCAL_READ, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE } = KeyAttribute;
const PAGE_BYTES = 4096;
const OCTOWORDS = 4;
const RIGHTS = { lr: 1, lw: 1, rr: 1, rw: 1 };
const GRANTS = [LENGTH, START_ADDRESS, FREE, QPN, LOCAL_READ, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE];
const GOOD = 0;

/** A pair of a process or of the kernel: the first one changes keys that the second one uses. */
class KeyRequestFixture extends DataFixture {
  readonly a: Mlx5DriverQueuePair;
  readonly b: Mlx5DriverQueuePair;
  readonly local: Piece = this.memory(PAGE_BYTES);

  constructor(fre: 0 | 1 = 1, service: number = QpService.RC) {
    super();
    [this.a, this.b] = this.connect(service, { context: { fre } });
  }

  /** A key that software keeps for registrations or windows. */
  spare(accessMode10: number): number {
    return this.createKey([], {
      ...{ accessMode10, free: 1, umrEn: 1, enRinval: 1, lr: 0, lw: 0, rr: 0, rw: 0, a: 0, startAddr: 0, len: 0 },
      translationsOctwordSize: OCTOWORDS,
    });
  }

  /** The request that registers a page with a key. */
  registration(key: number, page: number): SendWork {
    const set = { ...RIGHTS, free: 0, qpn: ANY_QP, startAddr: page, len: PAGE_BYTES };
    return keyRequest({ key, set, mask: GRANTS, list: [page], checks: 'free' });
  }

  /** The request that binds a window to a piece of memory. `qpn`: of type 2. */
  binding(key: number, piece: Piece, qpn = ANY_QP): SendWork {
    const set = { ...RIGHTS, free: 0, qpn, startAddr: piece.address, len: piece.byteCount };
    const list = [{ key: piece.key, address: piece.address, bytes: piece.byteCount }];
    return keyRequest({ key, set, mask: GRANTS, list });
  }

  /** Ends of the requests of a QP since the last call: syndromes, or 0. */
  ends({ setup: { cq } }: Mlx5DriverQueuePair): number[] {
    this.run();
    return cq.take().map((_, index, all) => cq.syndromeAt(cq.consumed - all.length + index));
  }

  /** A QP of the other side writes to a key; the pair is one of its own. */
  checkWrite(t: Test, remote: Piece, syndrome: number, what: string, sender = this.connect()[0]): void {
    const mark = (this.bytes(this.local)[0] + 1) & 0xff;
    this.bytes(this.local).fill(mark);
    sender.post({ opcode: WRITE, pieces: [{ ...this.local, byteCount: 8 }], remote });
    t.same(this.ends(sender), [syndrome], what);
    if (syndrome === GOOD) t.equal(this.bytes({ ...remote, byteCount: 8 })[7], mark, `${what}: the data`);
  }
}

function invalidation(key: number): SendWork {
  return keyRequest({ key, set: { free: 1 }, mask: [FREE], checks: 'in use' });
}

t.test('the kernel registers memory, uses it and invalidates it, in the order of its requests', (t) => {
  const fixture = new KeyRequestFixture();
  const { a, b, local } = fixture;
  const key = fixture.spare(KeyAccessMode.PAGES);
  const page = fixture.driver.allocate(PAGE_BYTES);
  const piece = { key, address: page, byteCount: PAGE_BYTES };
  fixture.checkWrite(t, piece, REMOTE_ACCESS, 'a free key');
  for (let round = 0; round < 3; round++) {
    const pieces = [{ ...piece, byteCount: 100 }];
    fixture.bytes(local).fill(round + 1);
    const registration = fixture.registration(key, page);
    const fence = FenceMode.FENCE;
    const [read, write] = [READ, WRITE].map((opcode) => ({ opcode, pieces, remote: local, fence }));
    const works = [registration, read, write];
    const first = a.post(...works);
    fixture.run();
    const taken = a.setup.cq.take();
    t.same(
      taken.map(({ sendOpcode, wqeCounter }) => [sendOpcode, wqeCounter]),
      [UMR, READ, WRITE].map((opcode, index) => [opcode, first[index]]),
    );
    t.equal(fixture.bytes(piece)[99], round + 1, 'the READ found the key');
    fixture.checkWrite(t, piece, GOOD, 'a registered key');
    b.post({ opcode: NOP });
    a.post(invalidation(key));
    t.same(fixture.ends(a), [GOOD]);
    fixture.checkWrite(t, piece, REMOTE_ACCESS, 'an invalidated key');
    fixture.ends(b);
  }
  a.post(invalidation(key), { opcode: NOP });
  t.same(fixture.ends(a), [WINDOW_BIND, FLUSHED], 'twice');
  t.end();
});

t.test('a key that is invalidated is of no use to requests behind it', (t) => {
  const fixture = new KeyRequestFixture();
  const { a, local } = fixture;
  const key = fixture.spare(KeyAccessMode.PAGES);
  const page = fixture.driver.allocate(PAGE_BYTES);
  const pieces = [{ key, address: page, byteCount: 8 }];
  a.post(fixture.registration(key, page), invalidation(key), { opcode: WRITE, pieces, remote: local });
  t.same(fixture.ends(a), [GOOD, GOOD, LOCAL_PROTECTION]);
  t.end();
});

t.test('the other end invalidates a key by a SEND', (t) => {
  const fixture = new KeyRequestFixture();
  const { a, b, local } = fixture;
  const key = fixture.spare(KeyAccessMode.PAGES);
  const page = fixture.driver.allocate(PAGE_BYTES);
  const piece = { key, address: page, byteCount: PAGE_BYTES };
  a.post(fixture.registration(key, page));
  t.same(fixture.ends(a), [GOOD]);
  a.postReceive(local);
  b.post({ opcode: SEND_INVALIDATE, pieces: [{ ...local, byteCount: 4 }], immediate: key });
  fixture.run();
  t.match(a.setup.cq.take(), [{ opcode: CompletionOpcode.SEND_INVALIDATE, immediate: key, byteCount: 4 }]);
  t.same(fixture.ends(b), [GOOD]);
  fixture.checkWrite(t, piece, REMOTE_ACCESS, 'an invalidated key');
  a.post(fixture.registration(key, page));
  t.same(fixture.ends(a), [GOOD], 'it can be used again');
  fixture.checkWrite(t, piece, GOOD, 'a registered key');
  a.postReceive(local);
  b.post({ opcode: SEND_INVALIDATE, pieces: [{ ...local, byteCount: 4 }], immediate: local.key });
  t.not(fixture.ends(b)[0], GOOD, 'a key that the other end may not invalidate');
  fixture.checkWrite(t, local, GOOD, 'that key');
  t.end();
});

t.test('windows of a process: of all QPs, and of one', (t) => {
  const fixture = new KeyRequestFixture(0);
  const { a, b } = fixture;
  const memory = fixture.memory(2 * PAGE_BYTES);
  const piece = { ...memory, address: memory.address + 1000, byteCount: 500 };
  const open = fixture.spare(KeyAccessMode.KEYS);
  const closed = fixture.spare(KeyAccessMode.KEYS);
  // The window of one QP is that of the end at which it was bound.
  a.post(fixture.binding(open, piece), fixture.binding(closed, piece, a.number));
  t.same(fixture.ends(a), [GOOD, GOOD]);
  fixture.checkWrite(t, { ...piece, key: open }, GOOD, 'of all');
  fixture.checkWrite(t, { ...piece, key: closed }, REMOTE_ACCESS, 'of one, by another');
  fixture.checkWrite(t, { ...piece, key: closed }, GOOD, 'of one', b);
  const outside = { ...piece, key: open, address: piece.address + 496 };
  fixture.checkWrite(t, outside, REMOTE_ACCESS, 'behind the window');
  const other = { ...memory, byteCount: 100 };
  a.post(fixture.binding(open, other));
  t.same(fixture.ends(a), [GOOD], 'bound anew');
  fixture.checkWrite(t, { ...other, key: open }, GOOD, 'the new place');
  fixture.checkWrite(t, { ...piece, key: open }, REMOTE_ACCESS, 'the old one');
  a.post(invalidation(closed));
  t.same(fixture.ends(a), [GOOD]);
  fixture.checkWrite(t, { ...piece, key: closed }, REMOTE_ACCESS, 'invalidated', b);
  t.end();
});

t.test('a window over memory without the rights', (t) => {
  for (const [what, attributes] of [
    ['it may not be written', { lw: 0 }],
    ['it is free', { free: 1 }],
  ] as const) {
    const fixture = new KeyRequestFixture(0);
    const memory = fixture.memory(PAGE_BYTES, { ...attributes, umrEn: 1 });
    fixture.a.post(fixture.binding(fixture.spare(KeyAccessMode.KEYS), memory), { opcode: NOP });
    t.same(fixture.ends(fixture.a), [WINDOW_BIND, FLUSHED], what);
  }
  t.end();
});

t.test('a process changes no pages', (t) => {
  const fixture = new KeyRequestFixture(0);
  const key = fixture.spare(KeyAccessMode.PAGES);
  const page = fixture.driver.allocate(PAGE_BYTES);
  fixture.a.post(fixture.registration(key, page), { opcode: NOP });
  t.same(fixture.ends(fixture.a), [WINDOW_BIND, FLUSHED]);
  fixture.checkWrite(t, { key, address: page, byteCount: 8 }, REMOTE_ACCESS, 'the key');
  t.end();
});

t.test('the QP of keys alone changes those of all domains, and has no other end', (t) => {
  const fixture = new KeyRequestFixture();
  const qp = fixture.queuePair({ service: QpService.UMR, pd: 0, context: { rqType: 3 } });
  qp.start(0, 0);
  const key = fixture.spare(KeyAccessMode.PAGES);
  const page = fixture.driver.allocate(PAGE_BYTES);
  qp.post(fixture.registration(key, page));
  t.same(fixture.ends(qp), [GOOD]);
  fixture.checkWrite(t, { key, address: page, byteCount: PAGE_BYTES }, GOOD, 'the key');
  t.end();
});

t.test('unreliable QPs change keys as well, or refuse', (t) => {
  for (const service of [QpService.UC, QpService.UD]) {
    const fixture = new KeyRequestFixture(1, service);
    const key = fixture.spare(KeyAccessMode.PAGES);
    const page = fixture.driver.allocate(PAGE_BYTES);
    fixture.a.post(fixture.registration(key, page));
    const [end] = fixture.ends(fixture.a);
    t.ok(end !== undefined, 'it ends');
    const syndrome = end === GOOD ? GOOD : REMOTE_ACCESS;
    fixture.checkWrite(t, { key, address: page, byteCount: PAGE_BYTES }, syndrome, `service ${service}, end ${end}`);
  }
  t.end();
});
