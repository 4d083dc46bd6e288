// SPDX-License-Identifier: Apache-2.0
/**
 * Requests on keys as the drivers of Linux and of its RDMA library write them: keys that are kept
 * for later, fast registrations, local and remote invalidation, windows of both types.
 */
import t from 'tap';
import { withKeyByte } from '../../../../protocol/infiniband/memory-keys.ts';
import { AccessFlag, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { KeyAccessMode, KeyAttribute } from '../../../../protocol/mlx5/gen/values.gen.ts';
import {
  type KeyChange,
  type KeyElements,
  KeyFixture,
  PAGE_BYTES,
  pattern,
} from '../../../rig/mlx5/driver/key-fixture.ts';
import { ANY_QP, type KeyAttributes } from './key-attributes.ts';

const { LENGTH, PAGE_SIZE, START_ADDRESS, PD, REMOTE_INVALIDATION, LOW_BYTE, QPN, SMALL_FENCE, FREE } = KeyAttribute;
const { LOCAL_READ, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, ATOMIC } = KeyAttribute;
const rightBits = [LOCAL_READ, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, ATOMIC];

t.test('a key that the driver keeps: filled in parts, enabled, moved, revoked, and used again', async (t) => {
  const fixture = new KeyFixture();
  const user = fixture.stranger;
  // The driver's own domain has the key while nobody does.
  const key = fixture.key({ free: 1, lr: 0, lw: 0, rr: 0, rw: 0, a: 0, translationsOctwordSize: 2 });
  const revoke: KeyChange = { key, set: { free: 1, pd: fixture.pd, mkey70: 0x11 }, mask: [PD, FREE], changesAll: true };
  for (const round of [1, 2]) {
    const pages = fixture.pages(6, (index) => pattern(index + round));
    const start = round * 0x100000 + 24;
    const list = fixture.listInMemory(pages);
    const fill: KeyChange = {
      key,
      list: pages,
      behind: list,
      offset: 0,
      octowords: 2,
      checks: 'free',
      changesAll: true,
    };
    const set = { startAddr: start, len: 4 * PAGE_BYTES - 24, pd: user.pd.number, logPageSize: 12, mkey70: 0x11 };
    const mask = [LENGTH, PAGE_SIZE, START_ADDRESS, PD, LOW_BYTE, FREE, ...rightBits];
    t.equal(fixture.change(fill), FaultKind.NONE);
    t.equal(fixture.localFault(key, start, 1, 0, user), FaultKind.KEY_INVALID, 'not before it is enabled');
    // The last part fills a whole unit of 64 bytes.
    t.equal(fixture.change({ ...fill, octowords: 4, set, mask }), FaultKind.NONE);
    t.equal(fixture.change({ ...fill, set, mask }), FaultKind.KEY_STATE, 'once');
    t.equal(fixture.localFault(key, start, 4 * PAGE_BYTES - 24, AccessFlag.LOCAL_WRITE, user), FaultKind.NONE);
    t.same(
      [...(fixture.read(key, start, 3) ?? [])],
      [24, 25, 26].map((index) => pattern(index + round)),
    );
    const restrict = { lr: 1, lw: 0, rr: 1, rw: 0, a: 0, pd: user.pd.number };
    t.equal(fixture.change({ key, set: restrict, mask: [PD, ...rightBits], changesAll: true }), FaultKind.NONE);
    t.equal(fixture.localFault(key, start, 1, AccessFlag.LOCAL_WRITE, user), FaultKind.KEY_ACCESS);
    t.equal(fixture.change(revoke), FaultKind.NONE);
    t.equal(fixture.localFault(key, start, 1, 0, user), FaultKind.KEY_INVALID);
    t.equal(fixture.driver.device.hca.domains.usersOf(user.pd.number), 0, 'the domain of the user can go');
  }
});

/** A key for fast registrations, and one of them. */
function makeFast(fixture: KeyFixture, mode: number = KeyAccessMode.PAGES) {
  const key = fixture.key({
    accessMode10: mode,
    free: 1,
    lr: 0,
    lw: 0,
    rr: 0,
    rw: 0,
    a: 0,
    translationsOctwordSize: 8,
  });
  const register = (byte: number, list: KeyElements, set: Partial<KeyAttributes>, rest: Partial<KeyChange> = {}) =>
    fixture.change({
      ...{ key: withKeyByte(key, byte), list, checks: 'free' },
      set: { mkey70: byte, enRinval: 1, ...set },
      mask: [LENGTH, PAGE_SIZE, START_ADDRESS, REMOTE_INVALIDATION, LOW_BYTE, SMALL_FENCE, FREE, ...rightBits],
      ...rest,
    });
  const invalidate = (byte: number) =>
    fixture.change({ key: withKeyByte(key, byte), set: { free: 1, mkey70: 0, pd: 0, qpn: 0 }, mask: [FREE] });
  return { key, register, invalidate };
}

t.test('fast registration: each time another low byte, freed by either end', async (t) => {
  const fixture = new KeyFixture();
  const { key, register, invalidate } = makeFast(fixture);
  const pages = fixture.pages(3, pattern);
  const set = { startAddr: 0x5000, startHigh: 0x12345678, len: 2 * PAGE_BYTES };
  const address = ((0x12345678 & 0xfffff) | 0x100000) * 2 ** 32 + 0x5000;
  for (const byte of [0x12, 0x13, 0x14]) {
    const rkey = withKeyByte(key, byte);
    t.equal(register(byte, pages, set), FaultKind.NONE);
    t.equal(register(byte + 1, pages, set), FaultKind.KEY_STATE, 'it is in use');
    t.equal(fixture.remoteFault(rkey, address, 2 * PAGE_BYTES, AccessFlag.REMOTE_WRITE), FaultKind.NONE);
    t.equal(
      fixture.remoteFault(withKeyByte(key, byte - 1), address, 1, AccessFlag.REMOTE_WRITE),
      FaultKind.KEY_INVALID,
    );
    t.same([...(fixture.read(rkey, address + PAGE_BYTES, 2) ?? [])], [pattern(PAGE_BYTES), pattern(PAGE_BYTES + 1)]);
    t.equal(invalidate(byte - 1), FaultKind.KEY_INVALID, 'by the low byte of before');
    if (byte === 0x13) t.ok(fixture.keys.invalidate(fixture.qp, rkey));
    else t.equal(invalidate(byte), FaultKind.NONE);
    t.equal(fixture.remoteFault(rkey, address, 1, AccessFlag.REMOTE_WRITE), FaultKind.KEY_INVALID);
  }
});

t.test('what fills a list up may be anything', async (t) => {
  const fixture = new KeyFixture();
  const { key, register } = makeFast(fixture);
  const list = [...fixture.pages(1, pattern), 2 ** 60, 7, 3, 1, 2 ** 63, 5, 9];
  t.equal(register(0x20, list, { len: 10 }), FaultKind.NONE);
  t.same([...(fixture.read(withKeyByte(key, 0x20), 0, 2) ?? [])], [pattern(0), pattern(1)]);
  const gaps = makeFast(fixture, KeyAccessMode.KEYS);
  const piece = { key: withKeyByte(key, 0x20), address: 4, bytes: 6 };
  const garbage = { key: 0xdeadbeef, address: 5, bytes: 2 ** 31 };
  t.equal(gaps.register(0x21, [piece, garbage, garbage, garbage], { len: 6 }), FaultKind.NONE);
  t.same([...(fixture.read(withKeyByte(gaps.key, 0x21), 1, 1) ?? [])], [pattern(5)]);
});

t.test('of a list only what the key covers must be allowed', async (t) => {
  const fixture = new KeyFixture();
  const region = fixture.region(fixture.pages(1, pattern));
  const { key, register } = makeFast(fixture, KeyAccessMode.KEYS);
  const end = 0x10000 + PAGE_BYTES;
  const list = [
    { key: 0, address: 0, bytes: 0 },
    { key: region, address: 0x10000, bytes: 5 },
    { key: region, address: end - 3, bytes: 100 },
  ];
  t.equal(register(0x70, list, { len: 9 }), FaultKind.KEY_BOUNDS);
  t.equal(register(0x70, list, { len: 8 }), FaultKind.NONE);
  t.equal(fixture.localFault(withKeyByte(key, 0x70), 0, 8), FaultKind.NONE);
  const short = makeFast(fixture, KeyAccessMode.KEYS);
  t.equal(short.register(0x71, list.slice(0, 2), { len: 9 }), FaultKind.NONE, 'the rest may follow');
  t.equal(fixture.localFault(withKeyByte(short.key, 0x71), 0, 9), FaultKind.KEY_BOUNDS);
});

/** A window, and how processes bind it and free it. */
function makeWindow(fixture: KeyFixture, type: 1 | 2) {
  const rights = { lr: 1, lw: 0, rr: 0, rw: 0, a: 0 };
  const list = { accessMode10: KeyAccessMode.KEYS, translationsOctwordSize: 4, logPageSize: 0 };
  const key = fixture.key({ ...list, ...rights, free: 1, enRinval: Number(type === 2) });
  const qpnBit = type === 2 ? [QPN] : [];
  const bind = (
    byte: number,
    region: number,
    range: Partial<KeyAttributes>,
    qp = fixture.qp,
    rest: Partial<KeyChange> = {},
  ) => {
    const set = { mkey70: byte, qpn: type === 2 ? qp.number : ANY_QP, ...rights, rr: 1, rw: 1, ...range };
    const piece = { key: region, address: set.startAddr ?? 0, bytes: set.len ?? 0 };
    const mask = [FREE, LOW_BYTE, ...qpnBit, LENGTH, START_ADDRESS, LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, ATOMIC];
    const checks = type === 2 ? 'free' : undefined;
    return fixture.change(
      { ...{ key: withKeyByte(key, byte), set, mask, checks, offset: 0 }, list: [piece], registers: false, ...rest },
      qp,
    );
  };
  /** A bind of no bytes of type 1, a local invalidation of type 2. */
  const unbind = (byte: number, qp = fixture.qp) => {
    const set = { mkey70: byte, qpn: ANY_QP, free: 1 };
    const checks = type === 2 ? 'qpn' : undefined;
    return fixture.change(
      { key: withKeyByte(key, byte), set, mask: [FREE, LOW_BYTE, ...qpnBit], checks, registers: false },
      qp,
    );
  };
  return { key, bind, unbind };
}

t.test('a window of type 1: any QP of the domain, bound anew at will, freed by no bytes', async (t) => {
  const fixture = new KeyFixture();
  const region = fixture.region(fixture.pages(2, pattern), { rr: 0, rw: 0, a: 0 });
  const { key, bind, unbind } = makeWindow(fixture, 1);
  const other = fixture.makeQueuePair(0x55, fixture.pd);
  const read = (byte: number, address: number, qp = other) =>
    fixture.remoteFault(withKeyByte(key, byte), address, 16, AccessFlag.REMOTE_READ, qp);
  t.equal(bind(0x30, region, { startAddr: 0x10100, len: 0x100 }), FaultKind.NONE);
  t.equal(read(0x30, 0x10100), FaultKind.NONE);
  t.equal(read(0x30, 0x101f1), FaultKind.KEY_BOUNDS);
  t.equal(read(0x30, 0x10100, fixture.stranger), FaultKind.KEY_PD);
  t.equal(fixture.remoteFault(withKeyByte(key, 0x30), 0x10100, 8, AccessFlag.REMOTE_ATOMIC), FaultKind.KEY_ACCESS);
  t.same([...(fixture.read(withKeyByte(key, 0x30), 0x10100, 2) ?? [])], [pattern(0x100), pattern(0x101)]);
  t.equal(bind(0x31, region, { startAddr: 0x11000, len: 0x20 }), FaultKind.NONE, 'another place, another low byte');
  t.same([read(0x31, 0x11000), read(0x30, 0x10100)], [FaultKind.NONE, FaultKind.KEY_INVALID]);
  t.notOk(fixture.keys.invalidate(fixture.qp, withKeyByte(key, 0x31)), 'the other end cannot free it');
  t.equal(unbind(0x32), FaultKind.NONE);
  t.equal(read(0x32, 0x11000), FaultKind.KEY_INVALID);
});

t.test('a window of type 2: the QP that bound it, once, freed by that QP or its peer', async (t) => {
  const fixture = new KeyFixture();
  const region = fixture.region(fixture.pages(2, pattern));
  const { key, bind, unbind } = makeWindow(fixture, 2);
  const other = fixture.makeQueuePair(0x55, fixture.pd);
  const range = { startAddr: 0x10100, len: 0x100 };
  const read = (byte: number, qp = fixture.qp) =>
    fixture.remoteFault(withKeyByte(key, byte), 0x10100, 16, AccessFlag.REMOTE_READ, qp);
  t.equal(bind(0x40, region, range), FaultKind.NONE);
  t.same([read(0x40), read(0x40, other)], [FaultKind.NONE, FaultKind.KEY_PD]);
  t.equal(bind(0x41, region, range), FaultKind.KEY_STATE, 'it is bound');
  t.equal(unbind(0x40, other), FaultKind.KEY_PD);
  t.equal(unbind(0x3f), FaultKind.KEY_INVALID, 'by the low byte of before');
  t.equal(unbind(0x40), FaultKind.NONE);
  t.equal(unbind(0x40), FaultKind.KEY_PD, 'it belongs to no QP any more');
  t.equal(read(0x40), FaultKind.KEY_INVALID);
  t.equal(bind(0x41, region, range, other), FaultKind.NONE, 'another QP');
  t.notOk(fixture.keys.invalidate(fixture.qp, withKeyByte(key, 0x41)), 'not the peer of another QP');
  t.ok(fixture.keys.invalidate(other, withKeyByte(key, 0x41)));
  t.same([read(0x41, other), bind(0x42, region, range)], [FaultKind.KEY_INVALID, FaultKind.NONE]);
});

t.test('a window grants no more than its region can, and nothing beyond it', async (t) => {
  const fixture = new KeyFixture();
  const pages = fixture.pages(2);
  const readOnly = { lw: 0, rr: 0, rw: 0, a: 0 };
  const range = { startAddr: 0x10100, len: 0x100 };
  for (const type of [1, 2] as const) {
    const { key, bind } = makeWindow(fixture, type);
    const before = { ...fixture.get(key).attributes };
    const refused: readonly [string, number, Partial<KeyAttributes>, FaultKind][] = [
      ['remote writes over memory that is only read', fixture.region(pages, readOnly), range, FaultKind.KEY_ACCESS],
      ['atomics there', fixture.region(pages, readOnly), { ...range, rw: 0, a: 1 }, FaultKind.KEY_ACCESS],
      [
        'the region of another domain',
        fixture.region(pages, { pd: fixture.stranger.pd.number }),
        range,
        FaultKind.KEY_PD,
      ],
      ['a region that is free', fixture.region(pages, { free: 1 }), range, FaultKind.KEY_INVALID],
      ['no region', 0x77700, range, FaultKind.KEY_INVALID],
      ['more than the region', fixture.region(pages), { ...range, len: 2 * PAGE_BYTES }, FaultKind.KEY_BOUNDS],
    ];
    for (const [name, region, given, fault] of refused) {
      t.equal(bind(0x50, region, given), fault, `type ${type}: ${name}`);
      t.same(fixture.get(key).attributes, before, `type ${type}: ${name}`);
    }
    t.equal(bind(0x50, fixture.region(pages, readOnly), { ...range, rw: 0 }), FaultKind.NONE, 'reads are allowed');
    t.equal(fixture.remoteFault(withKeyByte(key, 0x50), 0x10100, 1, AccessFlag.REMOTE_READ), FaultKind.NONE);
  }
});

t.test('a window over a region that goes gives no access', async (t) => {
  const fixture = new KeyFixture();
  const region = fixture.region(fixture.pages(1), {});
  const { key, bind } = makeWindow(fixture, 1);
  const read = () => fixture.remoteFault(withKeyByte(key, 0x60), 0x10000, 1, AccessFlag.REMOTE_READ);
  t.equal(bind(0x60, region, { startAddr: 0x10000, len: 8 }), FaultKind.NONE);
  t.equal(read(), FaultKind.NONE);
  fixture.keys.remove(fixture.get(region));
  t.equal(read(), FaultKind.KEY_INVALID);
  const successor = fixture.region(fixture.pages(1), { mkey70: 0x12 });
  t.equal(successor >>> 8, region >>> 8, 'the number is used again');
  t.equal(read(), FaultKind.KEY_INVALID, 'another key has its number');
});
