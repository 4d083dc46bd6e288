// SPDX-License-Identifier: Apache-2.0
/**
 * Accesses by memory keys: to whom a key grants them, where the bytes lie, and what keys that name
 * other keys add to that (IBTA 10.6).
 */
import t from 'tap';
import { AccessFlag, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { KeyAccessMode } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { KeyFixture, type KeyPiece, PAGE_BYTES, pattern } from '../../../rig/mlx5/driver/key-fixture.ts';
import type { KeyAttributes } from './key-attributes.ts';
import { MAX_INDIRECTION } from './memory-keys.ts';
import { QUEUE_KEY } from './queue-memory.ts';

const START = 0x10000;
const patternAt = (offset: number, length: number): number[] =>
  Array.from({ length }, (_, index) => pattern(offset + index));

/** A key of three pages that begins inside the first one. */
function makeRegion() {
  const fixture = new KeyFixture();
  const pages = fixture.pages(3, pattern);
  const start = START + 100;
  const len = 3 * PAGE_BYTES - 150;
  return { fixture, pages, start, len, key: fixture.region(pages, { startAddr: start, len }) };
}

t.test('bytes lie in the pages of the list, wherever an access begins and ends', async (t) => {
  const { fixture, key, start, len } = makeRegion();
  for (const [offset, length] of [
    [0, 8],
    [0, len],
    [PAGE_BYTES - 101, 2],
    [PAGE_BYTES - 100, 4],
    [len - 1, 1],
    [17, 2 * PAGE_BYTES + 1],
  ]) {
    t.equal(fixture.localFault(key, start + offset, length), FaultKind.NONE);
    t.same([...(fixture.read(key, start + offset, length) ?? [])], patternAt(100 + offset, length), `${offset}`);
  }
});

t.test('writes and stores cross from page to page', async (t) => {
  const { fixture, key, pages, start } = makeRegion();
  const ends = PAGE_BYTES - 100;
  t.ok(fixture.write(key, start + ends - 3, [1, 2, 3, 4, 5]));
  t.same([...fixture.bytes(pages[0] + PAGE_BYTES - 3, 3), ...fixture.bytes(pages[1], 2)], [1, 2, 3, 4, 5]);
  for (const back of [8, 4, 0]) {
    const value = [back, 1, 2, 3, 4, 5, 6, 7];
    t.ok(fixture.store(key, start + ends - back, value));
    t.same([...(fixture.read(key, start + ends - back, 8) ?? [])], value, `store ${back} bytes before a page`);
  }
});

t.test('an access beyond the key, with another low byte, by another domain or QP is refused', async (t) => {
  const { fixture, key, start, len } = makeRegion();
  t.equal(fixture.localFault(key, start - 1, 2), FaultKind.KEY_BOUNDS);
  t.equal(fixture.localFault(key, start + len - 1, 2), FaultKind.KEY_BOUNDS);
  t.equal(fixture.localFault(key, start, len + 1), FaultKind.KEY_BOUNDS);
  t.equal(fixture.localFault(key | 0, start, len), FaultKind.NONE, 'a signed dword');
  t.equal(fixture.localFault(key ^ 1, start, 1), FaultKind.KEY_INVALID);
  t.equal(fixture.localFault(key + 0x100, start, 1), FaultKind.KEY_INVALID);
  t.equal(fixture.localFault(0xffffff00, start, 1), FaultKind.KEY_INVALID);
  t.equal(fixture.localFault(key, start, 1, 0, fixture.stranger), FaultKind.KEY_PD);
  t.equal(fixture.remoteFault(key, start, 1, AccessFlag.REMOTE_READ, fixture.stranger), FaultKind.KEY_PD);
  const { stranger, keys, qp } = fixture;
  t.ok(keys.at(start).checkRemote(stranger, key, 1, AccessFlag.REMOTE_READ, qp.pd), 'a domain that is named counts');
  t.equal(keys.checkWhole(), undefined);
  t.equal(keys.fault, FaultKind.KEY_ACCESS, 'nothing is flushed');
});

t.test('a key that belongs to a QP serves only packets of that QP', async (t) => {
  const fixture = new KeyFixture();
  const key = fixture.region(fixture.pages(1), { qpn: fixture.qp.number });
  const other = fixture.makeQueuePair(fixture.qp.number + 1, fixture.pd);
  t.equal(fixture.remoteFault(key, START, 1, AccessFlag.REMOTE_READ), FaultKind.NONE);
  t.equal(fixture.remoteFault(key, START, 1, AccessFlag.REMOTE_READ, other), FaultKind.KEY_PD);
  t.equal(fixture.localFault(key, START, 1), FaultKind.KEY_PD, 'it is no key for local accesses');
});

t.test('each right is needed for its access, and for no other one', async (t) => {
  const fixture = new KeyFixture();
  const pages = fixture.pages(1);
  const rights: readonly [number, keyof KeyAttributes][] = [
    [AccessFlag.LOCAL_WRITE, 'lw'],
    [AccessFlag.REMOTE_WRITE, 'rw'],
    [AccessFlag.REMOTE_READ, 'rr'],
    [AccessFlag.REMOTE_ATOMIC, 'a'],
  ];
  for (let granted = 0; granted < 32; granted++) {
    const given = Object.fromEntries(rights.map(([flag, field]) => [field, Number((granted & flag) !== 0)]));
    const key = fixture.region(pages, { ...given, lr: granted >>> 4 });
    const accesses = Array.from({ length: 16 }, (_, access) => access);
    const wanted = accesses.map((access) => {
      const isGranted = access === 0 ? granted >= 16 : (access & ~granted) === 0;
      return isGranted ? FaultKind.NONE : FaultKind.KEY_ACCESS;
    });
    t.same(
      accesses.map((access) => fixture.localFault(key, START, 1, access)),
      wanted,
      `${granted}, local`,
    );
    t.same(
      accesses.map((access) => fixture.remoteFault(key, START, 1, access)),
      wanted,
      `${granted}, remote`,
    );
    const flags = [AccessFlag.WINDOW_BIND, AccessFlag.FLUSH_GLOBAL, AccessFlag.FLUSH_PERSISTENT];
    const refused = flags.every((flag) => fixture.remoteFault(key, START, 1, flag) === FaultKind.KEY_ACCESS);
    t.ok(refused, 'rights that no key has');
  }
});

t.test('the addresses of a physical key are those of the bus', async (t) => {
  const fixture = new KeyFixture();
  const [page] = fixture.pages(1, pattern);
  const key = fixture.key({ accessMode10: KeyAccessMode.PHYSICAL, length64: 1, logPageSize: 0 });
  t.equal(fixture.localFault(key, page + 5, 100), FaultKind.NONE);
  t.same([...(fixture.read(key, page + 5, 3) ?? [])], patternAt(5, 3));
  t.ok(fixture.write(key, page + 1, [9]));
  t.equal(fixture.bytes(page, 2)[1], 9);
  t.ok(fixture.store(key, page + 8, [1, 2, 3, 4, 5, 6, 7, 8]));
  t.equal(fixture.bytes(page + 8, 1)[0], 1);
  t.equal(fixture.read(key, 0, 4), undefined, 'no memory there');
});

t.test('addresses of 64 bits are those of packets, folded into exact Numbers', async (t) => {
  const fixture = new KeyFixture();
  const pages = fixture.pages(2, pattern);
  // NFS over RDMA puts a transaction identifier into the high dword.
  const key = fixture.region(pages, { startAddr: 0x1010, startHigh: 0xdeadbeef });
  const folded = ((0xdeadbeef & 0xfffff) | 0x100000) * 2 ** 32 + 0x1010;
  t.equal(fixture.localFault(key, folded, 2 * PAGE_BYTES - 0x10), FaultKind.NONE);
  t.equal(fixture.localFault(key, folded - 1, 1), FaultKind.KEY_BOUNDS);
  t.equal(fixture.localFault(key, 0x1010, 1), FaultKind.KEY_BOUNDS);
  t.same([...(fixture.read(key, folded + PAGE_BYTES - 0x11, 2) ?? [])], patternAt(PAGE_BYTES - 1, 2));
  t.ok(fixture.get(key));
});

t.test('a page that software has not given fails the access, and is reported', async (t) => {
  const fixture = new KeyFixture();
  const list = { translationsOctwordSize: 4, free: 1, umrEn: 1 };
  const key = fixture.key({ ...list, startAddr: START, len: 2 * PAGE_BYTES });
  t.equal(fixture.read(key, START, 1), undefined);
  t.notOk(fixture.write(key, START, [1]));
  t.notOk(fixture.store(key, START, [1, 2, 3, 4, 5, 6, 7, 8]));
  const { counts } = fixture.keys.owner.faults;
  t.same([counts[FaultKind.DMA_READ], counts[FaultKind.DMA_WRITE]], [1, 2]);
});

t.test('the place at which an access fails is told, and nothing behind it is reached', async (t) => {
  const fixture = new KeyFixture();
  const { faults } = fixture.keys.owner;
  const pages = fixture.pages(2, pattern);
  const partial = fixture.key({ translationsOctwordSize: 4, free: 1, startAddr: START, len: 3 * PAGE_BYTES });
  t.equal(fixture.change({ key: partial, list: pages, octowords: 1 }), FaultKind.NONE);
  const bus = fixture.key({ accessMode10: KeyAccessMode.PHYSICAL, length64: 1, logPageSize: 0 });
  const eight = [1, 2, 3, 4, 5, 6, 7, 8];
  const end = START + 2 * PAGE_BYTES;
  for (const [key, address, where] of [
    [partial, end - 4, end],
    [partial, end, end],
    [bus, 0x40, 0x40],
  ]) {
    for (const [kind, access] of [
      [FaultKind.DMA_READ, () => fixture.read(key, address, 8) !== undefined],
      [FaultKind.DMA_WRITE, () => fixture.write(key, address, eight)],
      [FaultKind.DMA_WRITE, () => fixture.store(key, address, eight)],
    ] as const) {
      faults.clearFirst();
      const before = faults.counts[kind];
      t.notOk(access(), `${kind} at ${address}`);
      t.same([faults.firstKind, faults.firstAddressLow, faults.counts[kind]], [kind, where, before + 1]);
    }
  }
  t.same([...fixture.bytes(pages[1] + PAGE_BYTES - 4, 4)], [1, 2, 3, 4], 'what lies before it is written');
});

t.test('the device itself reaches the memory of queues, and packets do not', async (t) => {
  const fixture = new KeyFixture();
  const [page] = fixture.pages(1, pattern);
  const { keys, qp } = fixture;
  for (const key of [QUEUE_KEY, QUEUE_KEY | 0]) {
    const found = keys.at(page).check(qp.owner, qp.pd, key, 8, 0);
    t.same([found?.enterMemory(keys.at(page), 8), keys.address], [8, page], 'by addresses of the bus');
    t.equal(fixture.localFault(key, page, 8, AccessFlag.LOCAL_WRITE), FaultKind.KEY_INVALID, 'to read');
    t.equal(fixture.remoteFault(key, page, 8, AccessFlag.REMOTE_READ), FaultKind.KEY_INVALID);
  }
});

t.test('8 bytes in a page are one store', async (t) => {
  const { fixture, key, start } = makeRegion();
  const { dma } = fixture.keys.owner;
  let stores = 0;
  const store = dma.store.bind(dma);
  dma.store = (...args) => {
    stores++;
    return store(...args);
  };
  for (const [offset, wanted] of [
    [0, 1],
    [PAGE_BYTES - 108, 2],
    [PAGE_BYTES - 107, 2],
    [PAGE_BYTES - 100, 3],
  ]) {
    t.ok(fixture.store(key, start + offset, [1, 2, 3, 4, 5, 6, 7, 8]));
    t.equal(stores, wanted, `${offset} bytes from the start`);
  }
});

t.test('numbers of keys that are gone are used again before new ones', async (t) => {
  const fixture = new KeyFixture();
  const numbers = Array.from({ length: 3 }, () => fixture.key({ free: 1 }) >>> 8);
  for (const number of numbers.slice(0, 2)) fixture.keys.remove(fixture.get(number << 8));
  const next = Array.from({ length: 4 }, () => fixture.key({ free: 1 }) >>> 8);
  t.same(next, [numbers[1], numbers[0], numbers[2] + 1, numbers[2] + 2]);
});

t.test('a list takes memory once, and keys without a list take none', async (t) => {
  const fixture = new KeyFixture();
  const { keys } = fixture;
  const pages = fixture.pages(8);
  const bus = fixture.key({ accessMode10: KeyAccessMode.PHYSICAL, length64: 1, logPageSize: 0 });
  t.equal(keys.listBytes, 0);
  const key = fixture.region(pages, { translationsOctwordSize: 16 });
  t.equal(keys.listBytes, 64);
  for (const octowords of [4, 1]) t.equal(fixture.change({ key, list: pages, octowords }), FaultKind.NONE);
  t.equal(keys.listBytes, 64, 'written again');
  const compound = fixture.compound([{ key, address: START, bytes: 8 }]);
  t.equal(keys.listBytes, 128);
  t.equal(fixture.change({ key: compound, list: [{ key, address: START, bytes: 8 }] }), FaultKind.NONE);
  t.equal(keys.listBytes, 128);
  for (const gone of [bus, key, compound]) keys.remove(fixture.get(gone));
  t.equal(keys.listBytes, 0);
});

t.test('neither a virtual address nor a place in a page that is missing is taken for memory', async (t) => {
  const fixture = new KeyFixture();
  const { base } = fixture.driver.memory;
  const list = { translationsOctwordSize: 8, free: 1, logPageSize: 31, len: PAGE_BYTES };
  for (const startAddr of [base, base + 1]) {
    const key = fixture.key({ ...list, startAddr });
    t.equal(fixture.change({ key, list: [base], offset: 4 }), FaultKind.NONE, 'other pages of the list');
    // As a guest address, the virtual one would be memory.
    t.equal(fixture.read(key, startAddr, 8), undefined);
    t.notOk(fixture.write(key, startAddr, [1]));
    t.equal(fixture.get(key).enterMemory(fixture.keys.at(startAddr), 8), 0);
    t.ok(fixture.get(key).isPresent());
  }
});

/** Two regions, and a key of pieces of them. */
function makeCompound(given: Partial<KeyAttributes> = {}) {
  const fixture = new KeyFixture();
  const first = fixture.region(fixture.pages(2, pattern));
  const second = fixture.region(
    fixture.pages(2, (index) => pattern(index) ^ 0xff),
    { startAddr: 0x90000 },
  );
  const pieces: KeyPiece[] = [
    { key: first, address: START + PAGE_BYTES - 3, bytes: 10 },
    { key: 0, address: 0, bytes: 0 },
    { key: second, address: 0x90000 + 1, bytes: 5 },
    { key: first, address: START, bytes: 2 * PAGE_BYTES },
  ];
  const key = fixture.compound(pieces, { startAddr: 0x500, ...given });
  const expected = [
    ...patternAt(PAGE_BYTES - 3, 10),
    ...patternAt(1, 5).map((value) => value ^ 0xff),
    ...patternAt(0, 2 * PAGE_BYTES),
  ];
  return { fixture, first, second, pieces, key, expected };
}

t.test('pieces of keys follow each other, of any length', async (t) => {
  const { fixture, key, expected } = makeCompound();
  for (const [offset, length] of [
    [0, expected.length],
    [0, 1],
    [9, 2],
    [10, 5],
    [12, 2000],
    [14, 2],
    [expected.length - 1, 1],
  ]) {
    t.equal(fixture.localFault(key, 0x500 + offset, length), FaultKind.NONE);
    t.same([...(fixture.read(key, 0x500 + offset, length) ?? [])], expected.slice(offset, offset + length));
  }
  t.equal(fixture.localFault(key, 0x500, expected.length + 1), FaultKind.KEY_BOUNDS);
  t.ok(fixture.write(key, 0x500 + 9, [1, 2, 3]));
  t.same([...(fixture.read(key, 0x500 + 8, 5) ?? [])], [expected[8], 1, 2, 3, expected[12]]);
  t.ok(fixture.store(key, 0x500 + 6, [1, 2, 3, 4, 5, 6, 7, 8]));
  t.same([...(fixture.read(key, 0x500 + 6, 8) ?? [])], [1, 2, 3, 4, 5, 6, 7, 8]);
});

t.test('only what an access needs of a piece must be allowed', async (t) => {
  const fixture = new KeyFixture();
  const region = fixture.region(fixture.pages(1, pattern));
  const key = fixture.compound([
    { key: region, address: START, bytes: 10 },
    { key: region, address: START + PAGE_BYTES - 4, bytes: 100 },
  ]);
  t.equal(fixture.localFault(key, 0, 14), FaultKind.NONE);
  t.equal(fixture.localFault(key, 0, 15), FaultKind.KEY_BOUNDS);
  t.equal(fixture.keys.address, 0, 'the range is still the one that was asked for');
});

t.test('pieces that get other lengths lie elsewhere from then on', async (t) => {
  const { fixture, pieces, key, expected } = makeCompound();
  t.same([...(fixture.read(key, 0x500 + 12, 1) ?? [])], [expected[12]]);
  const list = [
    { ...pieces[0], bytes: 2 },
    { ...pieces[2], bytes: 13 },
  ] as KeyPiece[];
  t.equal(fixture.change({ key, list, offset: 0 }), FaultKind.NONE);
  t.same([...(fixture.read(key, 0x500 + 12, 1) ?? [])], [pattern(11) ^ 0xff]);
});

t.test('a list of pieces that is shorter than its key ends the access', async (t) => {
  const { fixture, pieces } = makeCompound();
  const key = fixture.compound(pieces.slice(0, 1), { len: 11 });
  t.equal(fixture.localFault(key, 0, 10), FaultKind.NONE);
  t.equal(fixture.localFault(key, 0, 11), FaultKind.KEY_BOUNDS);
  t.equal(fixture.read(key, 0, 11), undefined);
});

t.test('a key beneath must be there, in the same domain, in reach, and allow local accesses', async (t) => {
  const fixture = new KeyFixture();
  const pages = fixture.pages(1);
  const [domain] = [fixture.stranger.pd.number];
  const remote = AccessFlag.REMOTE_READ;
  const all = AccessFlag.REMOTE_READ | AccessFlag.REMOTE_WRITE;
  const cases: readonly [string, Partial<KeyAttributes>, number, FaultKind][] = [
    ['everything allowed', {}, all, FaultKind.NONE],
    ['no remote rights', { rr: 0, rw: 0, a: 0 }, all, FaultKind.NONE],
    ['no local write', { lw: 0 }, remote, FaultKind.NONE],
    ['no local write, and a write', { lw: 0 }, AccessFlag.REMOTE_WRITE, FaultKind.KEY_ACCESS],
    ['no local write, and an atomic', { lw: 0 }, AccessFlag.REMOTE_ATOMIC, FaultKind.KEY_ACCESS],
    ['no local read', { lr: 0 }, remote, FaultKind.KEY_ACCESS],
    ['no local read, and a write', { lr: 0 }, AccessFlag.REMOTE_WRITE, FaultKind.NONE],
    ['no local read, and an atomic', { lr: 0 }, AccessFlag.REMOTE_ATOMIC, FaultKind.KEY_ACCESS],
    ['another domain', { pd: domain }, remote, FaultKind.KEY_PD],
    ['a QP of its own', { qpn: fixture.qp.number }, remote, FaultKind.KEY_PD],
    ['one byte short', { len: PAGE_BYTES - 1 }, remote, FaultKind.KEY_BOUNDS],
  ];
  for (const [name, given, access, fault] of cases) {
    const beneath = fixture.region(pages, given);
    const key = fixture.compound([{ key: beneath, address: START, bytes: PAGE_BYTES }]);
    t.equal(fixture.remoteFault(key, 0, PAGE_BYTES, access), fault, name);
    fixture.keys.remove(fixture.get(beneath));
    t.equal(fixture.remoteFault(key, 0, 1, access), FaultKind.KEY_INVALID, `${name}, destroyed`);
    t.equal(fixture.read(key, 0, 1), undefined);
    t.notOk(fixture.write(key, 0, [1]));
  }
  const free = fixture.region(pages);
  const key = fixture.compound([{ key: free, address: START, bytes: 8 }]);
  fixture.get(free).attributes.free = 1;
  t.equal(fixture.remoteFault(key, 0, 1, remote), FaultKind.KEY_INVALID, 'a free one');
});

t.test('pieces of one size lead to pages of other keys', async (t) => {
  const fixture = new KeyFixture();
  const beneath = fixture.region(fixture.pages(4, pattern));
  const place = (page: number): KeyPiece => ({ key: beneath, address: START + page * PAGE_BYTES, bytes: 0 });
  const mode = { accessMode10: KeyAccessMode.FIXED_KEYS, logPageSize: 12 };
  const key = fixture.key({ ...mode, startAddr: 0x20010, len: 3 * PAGE_BYTES - 0x10 }, [3, 0, 2].map(place));
  const expected = [...patternAt(3 * PAGE_BYTES + 0x10, PAGE_BYTES - 0x10), ...patternAt(0, 1)];
  t.equal(fixture.localFault(key, 0x20010, 3 * PAGE_BYTES - 0x10), FaultKind.NONE);
  t.same([...(fixture.read(key, 0x20010, expected.length) ?? [])], expected);
  t.same([...(fixture.read(key, 0x22000 - 1, 2) ?? [])], [pattern(PAGE_BYTES - 1), pattern(2 * PAGE_BYTES)]);
  const gaps = fixture.key({ ...mode, startAddr: 0, length64: 1 }, [place(1)]);
  t.equal(fixture.localFault(gaps, 5, 10), FaultKind.NONE);
  t.equal(fixture.localFault(gaps, 4 * PAGE_BYTES, 1), FaultKind.KEY_BOUNDS, 'beyond the list');
  t.equal(fixture.localFault(gaps, PAGE_BYTES, 1), FaultKind.KEY_INVALID, 'an empty piece');
});

t.test('a place beyond a list leads nowhere, not to the key that was found before', async (t) => {
  const fixture = new KeyFixture();
  const bus = fixture.key({ accessMode10: KeyAccessMode.PHYSICAL, length64: 1, logPageSize: 0 });
  const piece = { key: bus, address: 0, bytes: 16 };
  const fixed = { accessMode10: KeyAccessMode.FIXED_KEYS, length64: 1 };
  for (const key of [fixture.key(fixed, [piece]), fixture.compound([piece], { len: 8 * PAGE_BYTES })]) {
    t.equal(fixture.localFault(key, 0, 16), FaultKind.NONE);
    t.equal(fixture.localFault(key, 5 * PAGE_BYTES, 16), FaultKind.KEY_BOUNDS);
  }
});

t.test('keys name keys to a bounded depth, and may name themselves', async (t) => {
  const fixture = new KeyFixture();
  let key = fixture.region(fixture.pages(1, pattern));
  let address = START;
  for (let depth = 1; depth <= MAX_INDIRECTION; depth++) {
    key = fixture.compound([{ key, address, bytes: 100 }], { startAddr: depth * 1000 });
    address = depth * 1000;
    t.equal(fixture.localFault(key, address, 100), FaultKind.NONE, `depth ${depth}`);
    t.same([...(fixture.read(key, address + 3, 4) ?? [])], patternAt(3, 4));
  }
  const deep = fixture.compound([{ key, address, bytes: 100 }]);
  t.equal(fixture.localFault(deep, 0, 1), FaultKind.KEY_INVALID);
  t.equal(fixture.read(deep, 0, 1), undefined);
  const next = fixture.keys.size;
  const self = fixture.key({ accessMode10: KeyAccessMode.KEYS, len: 10, translationsOctwordSize: 4, free: 1 });
  t.equal(fixture.keys.size, next + 1);
  const list = [{ key: self, address: 0, bytes: 10 }];
  t.equal(fixture.change({ key: self, list }), FaultKind.NONE);
  fixture.get(self).attributes.free = 0;
  t.equal(fixture.localFault(self, 0, 1), FaultKind.KEY_INVALID, 'a ring of keys');
});

t.test('the other end frees a key that was made for it, once', async (t) => {
  const fixture = new KeyFixture();
  const pages = fixture.pages(1);
  const { qp, stranger, keys } = fixture;
  const key = fixture.region(pages, { enRinval: 1 });
  t.notOk(keys.invalidate(stranger, key), 'another domain');
  t.notOk(keys.invalidate(qp, key ^ 1), 'another low byte');
  t.notOk(keys.invalidate(qp, 0x123400), 'no key');
  t.equal(fixture.localFault(key, START, 1), FaultKind.NONE);
  t.ok(keys.invalidate(qp, key));
  t.equal(fixture.localFault(key, START, 1), FaultKind.KEY_INVALID);
  t.notOk(keys.invalidate(qp, key), 'it is free already');
  t.notOk(keys.invalidate(qp, fixture.region(pages)), 'not made for it');
  t.notOk(keys.invalidate(qp, fixture.region(pages, { enRinval: 1, umrEn: 0 })), 'no request could give it back');
  t.notOk(keys.invalidate(qp, fixture.region(pages, { enRinval: 1, qpn: stranger.number })), 'of another QP');
  t.ok(keys.invalidate(qp, fixture.region(pages, { enRinval: 1, qpn: qp.number })));
});

t.test('requests of the own front end are refused', async (t) => {
  const { keys } = new KeyFixture();
  t.equal(keys.bind(), FaultKind.KEY_INVALID);
  t.equal(keys.findRegistrable(), undefined);
  t.equal(keys.fault, FaultKind.KEY_INVALID);
});
