// SPDX-License-Identifier: Apache-2.0
/**
 * Requests that change keys: each attribute alone, lists in the request and behind a key, and that
 * a request which is refused changes nothing (IBTA 10.6.3.2, 10.6.5, 10.6.7).
 */
import t from 'tap';
import { withKeyByte } from '../../../../protocol/infiniband/memory-keys.ts';
import { AccessFlag, FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import { CTRL_SEG_SIZE } from '../../../../protocol/mlx5/gen/ctrl-seg.gen.ts';
import {
  setUmrCtrlSegInline,
  setUmrCtrlSegTranslationOffsetLow,
} from '../../../../protocol/mlx5/gen/umr-ctrl-seg.gen.ts';
import { CommandOpcode, KeyAccessMode, KeyAttribute } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Step } from '../../../hca/function/timeline.ts';
import { KEY_LENGTH_MAX } from '../../../hca/function/timeline-values.ts';
import {
  type KeyChange,
  KeyFixture,
  type KeyPiece,
  PAGE_BYTES,
  pattern,
} from '../../../rig/mlx5/driver/key-fixture.ts';
import type { KeyAttributes } from './key-attributes.ts';
import { UmrUnit } from './umr.ts';

const START = 0x10000;
const CHANGES_AT = CTRL_SEG_SIZE;
const ALL_BITS = Object.values(KeyAttribute);

/** A key in use, whose attributes are all unlike those of a request. */
function makeKey(given: Partial<KeyAttributes> = {}) {
  const fixture = new KeyFixture();
  const pages = fixture.pages(4, pattern);
  const rights = { lr: 0, lw: 0, rr: 0, rw: 0, a: 0 };
  return { fixture, pages, key: fixture.region(pages, { ...rights, len: PAGE_BYTES, ...given }) };
}

/** What the device has of a key: attributes and bytes that it leads to, as text. */
function contentsOf(fixture: KeyFixture, key: number): string {
  const { attributes } = fixture.get(key);
  const query = fixture.driver.expect(CommandOpcode.QUERY_MKEY, {
    outputBytes: 0x130,
    fill: (view) => view.setUint32(8, key >>> 8),
  });
  const bytes = attributes.free === 0 ? fixture.read(key, attributes.startAddr, attributes.len) : undefined;
  return JSON.stringify([
    attributes,
    Buffer.from(query.buffer).toString('hex'),
    Buffer.from(bytes ?? []).toString('hex'),
  ]);
}

t.test('each bit of the mask changes its attribute, and no other one', async (t) => {
  const cases: readonly [KeyAttribute, Partial<KeyAttributes>][] = [
    [KeyAttribute.LENGTH, { len: 2 * PAGE_BYTES }],
    [KeyAttribute.PAGE_SIZE, { logPageSize: 13 }],
    [KeyAttribute.START_ADDRESS, { startAddr: 0x30000 }],
    [KeyAttribute.PD, { pd: makeKey().fixture.stranger.pd.number }],
    [KeyAttribute.REMOTE_INVALIDATION, { enRinval: 1 }],
    [KeyAttribute.LOW_BYTE, { mkey70: 0x77 }],
    [KeyAttribute.QPN, { qpn: 0x40 }],
    [KeyAttribute.LOCAL_READ, { lr: 1 }],
    [KeyAttribute.LOCAL_WRITE, { lw: 1 }],
    [KeyAttribute.REMOTE_READ, { rr: 1 }],
    [KeyAttribute.REMOTE_WRITE, { rw: 1 }],
    [KeyAttribute.ATOMIC, { a: 1 }],
    [KeyAttribute.SMALL_FENCE, {}],
    [KeyAttribute.RELAXED_WRITE, { relaxedOrderingWrite: 1 }],
    [KeyAttribute.RELAXED_READ, { relaxedOrderingRead: 1 }],
    [KeyAttribute.FREE, { free: 1 }],
  ];
  const set = Object.assign({}, ...cases.map(([, change]) => change)) as Partial<KeyAttributes>;
  t.same(cases.map(([bit]) => bit).sort(), [...ALL_BITS].sort(), 'all that are known');
  for (const [bit, change] of cases) {
    const { fixture, key } = makeKey();
    const before = { ...fixture.get(key).attributes };
    t.equal(fixture.change({ key, set, mask: [bit], changesAll: true }), FaultKind.NONE, `bit ${bit}`);
    t.same(fixture.get(key).attributes, { ...before, ...change }, `bit ${bit}`);
  }
});

t.test('a change counts at once: rights, range, domain, low byte, and whether it is free', async (t) => {
  const { fixture, key } = makeKey();
  const { stranger } = fixture;
  const other = withKeyByte(key, 0x55);
  t.equal(fixture.localFault(key, START, 1), FaultKind.KEY_ACCESS);
  t.equal(fixture.change({ key, set: { lr: 1 }, mask: [KeyAttribute.LOCAL_READ] }), FaultKind.NONE);
  t.equal(fixture.localFault(key, START, PAGE_BYTES + 1), FaultKind.KEY_BOUNDS);
  t.equal(fixture.change({ key, set: { len: 3 * PAGE_BYTES }, mask: [KeyAttribute.LENGTH] }), FaultKind.NONE);
  t.equal(fixture.localFault(key, START, PAGE_BYTES + 1), FaultKind.NONE);
  t.equal(fixture.change({ key: other, set: { mkey70: 0x55 }, mask: [KeyAttribute.LOW_BYTE] }), FaultKind.NONE);
  t.equal(fixture.localFault(key, START, 1), FaultKind.KEY_INVALID);
  t.equal(fixture.localFault(other, START, 1), FaultKind.NONE);
  const move: KeyChange = { key: other, set: { pd: stranger.pd.number }, mask: [KeyAttribute.PD], changesAll: true };
  t.equal(fixture.change(move), FaultKind.NONE);
  t.equal(fixture.localFault(other, START, 1), FaultKind.KEY_PD);
  t.equal(fixture.localFault(other, START, 1, 0, stranger), FaultKind.NONE);
  const free: KeyChange = { key: other, set: { free: 1 }, mask: [KeyAttribute.FREE] };
  t.equal(fixture.change(free, stranger), FaultKind.NONE);
  t.equal(fixture.localFault(other, START, 1, 0, stranger), FaultKind.KEY_INVALID);
  t.equal(fixture.change({ ...free, set: { free: 0 } }, stranger), FaultKind.NONE);
  t.equal(fixture.localFault(other, START, 1, 0, stranger), FaultKind.NONE);
});

t.test('a domain has the keys that are in it', async (t) => {
  const { fixture, key } = makeKey();
  const { hca } = fixture.driver.device;
  const pd = fixture.stranger.pd.number;
  const users = () => [hca.domains.usersOf(fixture.pd), hca.domains.usersOf(pd)];
  t.same(users(), [1, 0]);
  fixture.change({ key, set: { pd }, mask: [KeyAttribute.PD], changesAll: true });
  t.same(users(), [0, 1]);
  t.notOk(hca.domains.free(pd), 'it is in use');
  fixture.driver.expect(CommandOpcode.DESTROY_MKEY, { fill: (view) => view.setUint32(8, key >>> 8) });
  t.same(users(), [0, 0]);
});

for (const isBehind of [false, true]) {
  const where = isBehind ? 'behind a key' : 'in the request';
  t.test(`a list ${where} replaces what it covers, from its offset on`, async (t) => {
    const { fixture, pages, key } = makeKey({ lr: 1, len: 4 * PAGE_BYTES, translationsOctwordSize: 70_004 });
    const others = fixture.pages(4, (index) => pattern(index) ^ 0xff);
    const ofPage = (page: number): number => fixture.read(key, START + page * PAGE_BYTES, 2)?.[1] as number;
    const [old, young] = [pages, others].map((list) => list.map((page) => fixture.bytes(page, 2)[1]));
    const put = (list: number[], rest: Partial<KeyChange> = {}) =>
      fixture.change({ key, list, behind: isBehind ? fixture.listInMemory(list) : undefined, ...rest });
    t.equal(put(others.slice(0, 2), { octowords: 1 }), FaultKind.NONE);
    t.same([0, 1, 2, 3].map(ofPage), [young[0], young[1], old[2], old[3]]);
    t.equal(put(others.slice(2, 4), { octowords: 1, offset: 1 }), FaultKind.NONE);
    t.same([0, 1, 2, 3].map(ofPage), young);
    t.equal(put(pages, { octowords: 2, offset: 0 }), FaultKind.NONE);
    t.same([0, 1, 2, 3].map(ofPage), old);
    // The offset has a part above 16 bits.
    const far = 2 * 70_000 * PAGE_BYTES;
    const mask = [KeyAttribute.LENGTH];
    t.equal(put(others, { octowords: 4, offset: 70_000, set: { len: far + 2 * PAGE_BYTES }, mask }), FaultKind.NONE);
    t.same([fixture.read(key, START + far, 2)?.[1], ofPage(0)], [young[0], old[0]]);
    t.equal(fixture.read(key, START + far - 1, 1), undefined, 'pages between were never given');
    t.equal(put(others, { octowords: 4, offset: 70_001 }), FaultKind.KEY_BOUNDS, 'beyond the list');
  });
}

t.test('a list behind a key must be readable by the domain of the QP, and long enough', async (t) => {
  const { fixture, pages, key } = makeKey();
  const behind = fixture.listInMemory(pages);
  const put = (piece: KeyPiece, rest: Partial<KeyChange> = {}) =>
    fixture.change({ key, list: pages, behind: piece, ...rest });
  const before = contentsOf(fixture, key);
  for (const changesAll of [false, true])
    t.equal(put({ ...behind, key: 0x4400 }, { changesAll }), FaultKind.KEY_INVALID);
  t.equal(put(fixture.listInMemory(pages, { lr: 0 })), FaultKind.KEY_ACCESS);
  t.equal(put(fixture.listInMemory(pages, { pd: fixture.stranger.pd.number })), FaultKind.KEY_PD);
  t.equal(put({ ...behind, address: behind.address + PAGE_BYTES }), FaultKind.KEY_BOUNDS);
  t.equal(put({ ...behind, bytes: behind.bytes - 1 }), FaultKind.COMMAND_LENGTH);
  t.equal(put(behind, { lengthBytes: 140 }), FaultKind.COMMAND_SGE);
  t.equal(put(behind, { spoil: (view) => view.setUint8(128, 0x80) }), FaultKind.COMMAND_SGE, 'inline data');
  fixture.driver.port.setBusMaster(false);
  t.equal(put(behind), FaultKind.DMA_READ);
  fixture.driver.port.setBusMaster(true);
  t.equal(contentsOf(fixture, key), before);
  t.equal(put({ ...behind, bytes: 0 }), FaultKind.NONE, '0 bytes are 2^31');
  t.equal(put(behind), FaultKind.NONE);
});

t.test('a request that is refused changes nothing', async (t) => {
  const { fixture, pages, key } = makeKey({ lr: 1, rr: 1 });
  const others = fixture.pages(4);
  const set = { ...fixture.get(key).attributes, len: 2 * PAGE_BYTES, lw: 1, pd: fixture.stranger.pd.number };
  // Everything that the next requests ask for beside what is wrong with them.
  const usual = { key, set, mask: [KeyAttribute.LENGTH, KeyAttribute.LOCAL_WRITE], list: others };
  const withBits = (...bits: number[]) => ({ mask: [...usual.mask, ...bits] });
  const unlisted = Array.from({ length: 64 }, (_, bit) => bit).filter((bit) => !ALL_BITS.includes(bit as never));
  const cases: readonly [string, Partial<KeyChange>, FaultKind][] = [
    ['no key', { key: 0x99900 }, FaultKind.KEY_INVALID],
    ['another low byte', { key: key ^ 1 }, FaultKind.KEY_INVALID],
    [
      'another low byte, and the QP is checked',
      { key: key ^ 1, checks: 'qpn', ...withBits(KeyAttribute.LOW_BYTE) },
      FaultKind.KEY_PD,
    ],
    ['it is not free', { checks: 'free' }, FaultKind.KEY_STATE],
    ['it is of no QP', { checks: 'qpn' }, FaultKind.KEY_PD],
    ['another domain for the key of a QP', withBits(KeyAttribute.PD), FaultKind.KEY_PD],
    ['pages by a QP of a process', { registers: false }, FaultKind.KEY_ACCESS],
    ['rights of pages by a QP of a process', { registers: false, list: [] }, FaultKind.KEY_ACCESS],
    [
      'a domain that is not there',
      { changesAll: true, set: { ...set, pd: 99 }, ...withBits(KeyAttribute.PD) },
      FaultKind.KEY_PD,
    ],
    ['more than the list can have', { set: { ...set, len: 9 * PAGE_BYTES } }, FaultKind.KEY_BOUNDS],
    ['addresses that are not exact', { set: { ...set, len: 2 ** 53 } }, FaultKind.KEY_BOUNDS],
    ['all addresses', { set: { ...set, length64: 1 } }, FaultKind.KEY_BOUNDS],
    ['small pages', { set: { ...set, logPageSize: 11 }, ...withBits(KeyAttribute.PAGE_SIZE) }, FaultKind.KEY_BOUNDS],
    ['huge pages', { set: { ...set, logPageSize: 32 }, ...withBits(KeyAttribute.PAGE_SIZE) }, FaultKind.KEY_BOUNDS],
    ['a list that ends beyond the key', { offset: 1 }, FaultKind.KEY_BOUNDS],
    ['a list longer than the request', { octowords: 8 }, FaultKind.KEY_BOUNDS],
    ['a list cut off', { lengthBytes: 128 + 63 }, FaultKind.COMMAND_LENGTH],
    ['attributes cut off', { lengthBytes: 127, list: [] }, FaultKind.COMMAND_LENGTH],
    ...unlisted.map((bit): [string, Partial<KeyChange>, FaultKind] => [
      `bit ${bit}`,
      withBits(bit),
      FaultKind.COMMAND_OPCODE,
    ]),
  ];
  const before = contentsOf(fixture, key);
  for (const [name, change, fault] of cases) {
    t.equal(fixture.change({ ...usual, ...change }), fault, name);
    t.equal(contentsOf(fixture, key), before, name);
  }
  t.equal(fixture.change(usual, fixture.stranger), FaultKind.KEY_PD, 'a QP of another domain');
  t.equal(contentsOf(fixture, key), before);
  t.equal(fixture.change(usual), FaultKind.NONE);
  t.equal(fixture.localFault(key, START, 2 * PAGE_BYTES, AccessFlag.LOCAL_WRITE), FaultKind.NONE);
  t.ok(pages);
});

t.test('a request without a list has none, wherever it would lie', async (t) => {
  const { fixture, key } = makeKey({ lr: 1 });
  const bytes = fixture.read(key, START, 4);
  for (const inline of [1, 0]) {
    const spoil = (view: DataView): void => setUmrCtrlSegInline(view, CHANGES_AT, inline);
    t.equal(fixture.change({ key, set: { lw: 1 }, mask: [KeyAttribute.LOCAL_WRITE], spoil }), FaultKind.NONE);
  }
  t.same(fixture.read(key, START, 4), bytes, 'the list stays');
});

t.test('what a key is to become counts when it is enabled, and its pieces at the start of their list', async (t) => {
  const { fixture, pages, key } = makeKey({ free: 1 });
  const set = { len: 2 ** 40, free: 0 };
  t.equal(fixture.change({ key, set, mask: [KeyAttribute.LENGTH] }), FaultKind.NONE, 'it stays free');
  t.equal(fixture.change({ key, set, mask: [KeyAttribute.FREE] }), FaultKind.KEY_BOUNDS);
  const region = fixture.region(pages);
  const piece = { key: region, address: START, bytes: 8 };
  const compound = fixture.compound([piece], { translationsOctwordSize: 8, len: 8 });
  const wrong = { ...piece, key: 0x99900 };
  t.equal(fixture.change({ key: compound, list: [wrong], offset: 4 }), FaultKind.NONE, 'an access looks at these');
  t.equal(fixture.change({ key: compound, list: [wrong], offset: 0 }), FaultKind.KEY_INVALID);
});

t.test('the timeline tells what a key has become, and nothing of a refusal', async (t) => {
  const { fixture, key } = makeKey({ startHigh: 0x12345678, len: PAGE_BYTES });
  const steps: number[][] = [];
  fixture.keys.owner.timeline = { note: (...step) => void steps.push(step.map((value) => value ?? 0)) };
  const told = (change: Omit<KeyChange, 'key'>): number[] => {
    steps.length = 0;
    fixture.change({ key, ...change });
    return steps.flatMap(([step, , qpn, , ...rest]) => (step === Step.KEY_CHANGED ? [qpn, ...rest] : []));
  };
  const { LENGTH, FREE } = KeyAttribute;
  const whole = [fixture.qp.number, key, 2 * PAGE_BYTES, START, 0x12345678];
  t.same(told({ set: { len: 2 * PAGE_BYTES }, mask: [LENGTH] }), whole);
  t.same(told({ set: { len: 99 * PAGE_BYTES }, mask: [LENGTH] }), [], 'a refusal');
  t.same(told({ set: { len: 2 ** 40, free: 1 }, mask: [LENGTH, FREE] })[2], 0, 'a free key has no length');
  const physical = { accessMode10: KeyAccessMode.PHYSICAL, len: 8 };
  const bus = fixture.key(physical);
  steps.length = 0;
  fixture.change({ key: bus, set: { len: 2 ** 40 }, mask: [LENGTH] });
  t.equal(steps.find(([step]) => step === Step.KEY_CHANGED)?.[5], KEY_LENGTH_MAX, 'as long as a step can tell');
});

t.test('an offset counts when the request says that it has one', async (t) => {
  const { fixture, pages, key } = makeKey({ lr: 1, len: 4 * PAGE_BYTES });
  const others = fixture.pages(2, (index) => pattern(index) ^ 0xff);
  const spoil = (view: DataView): void => setUmrCtrlSegTranslationOffsetLow(view, CHANGES_AT, 1);
  t.equal(fixture.change({ key, list: others, octowords: 1, spoil }), FaultKind.NONE);
  t.same(
    [0, 2].map((page) => fixture.read(key, START + page * PAGE_BYTES, 1)?.[0]),
    [pattern(0) ^ 0xff, fixture.bytes(pages[2], 1)[0]],
  );
});

t.test('what a request asks of the state of the key is looked at', async (t) => {
  const { fixture, key } = makeKey({ qpn: 0x40 });
  const put = (checks: KeyChange['checks'], free: number, qp = fixture.qp) =>
    fixture.change({ key, checks, set: { free }, mask: [KeyAttribute.FREE] }, qp);
  t.equal(put('free', 1), FaultKind.KEY_STATE);
  t.equal(put('in use', 0), FaultKind.NONE);
  t.equal(put('qpn', 0, fixture.makeQueuePair(0x41, fixture.pd)), FaultKind.KEY_PD);
  t.equal(put('qpn', 1), FaultKind.NONE);
  t.equal(put('in use', 0), FaultKind.KEY_STATE);
  t.equal(put('free', 0), FaultKind.NONE);
  t.equal(put('free', 0), FaultKind.KEY_STATE);
});

t.test('keys made for no requests, and keys without a list', async (t) => {
  const { fixture, pages, key } = makeKey({ umrEn: 0 });
  t.equal(fixture.change({ key, changesAll: true }), FaultKind.KEY_ACCESS);
  const physical = fixture.key({ accessMode10: KeyAccessMode.PHYSICAL, length64: 1, translationsOctwordSize: 4 });
  t.equal(fixture.change({ key: physical, list: pages }), FaultKind.KEY_BOUNDS);
  t.equal(fixture.change({ key: physical, set: { lw: 0 }, mask: [KeyAttribute.LOCAL_WRITE] }), FaultKind.NONE);
});

t.test('without a source of requests, and when one cannot be read, nothing is executed', async (t) => {
  const { fixture } = makeKey();
  fixture.keys.changes = undefined;
  t.equal(fixture.keys.perform(fixture.qp, 1), FaultKind.COMMAND_OPCODE);
  const asked: unknown[] = [];
  fixture.keys.changes = new UmrUnit(fixture.keys, { fetch: (...args) => void asked.push(args) });
  t.equal(fixture.keys.perform(fixture.qp, 7), FaultKind.DMA_READ);
  t.same(asked, [[fixture.qp, 7]]);
});

t.test('all lists together have a limit', async (t) => {
  const fixture = new KeyFixture();
  const { keys } = fixture;
  const [page] = fixture.pages(1);
  keys.listBytesMax = 1000 * 16;
  const long = { free: 1, translationsOctwordSize: 2000 };
  const [first, second] = [fixture.key(long), fixture.key(long)];
  const put = (key: number, offset: number) => fixture.change({ key, list: [page], offset });
  t.equal(put(first, 596), FaultKind.NONE);
  t.equal(put(second, 400), FaultKind.KEY_BOUNDS);
  t.equal(put(second, 396), FaultKind.NONE);
  t.equal(keys.listBytes, keys.listBytesMax);
  t.equal(put(first, 600), FaultKind.KEY_BOUNDS);
  keys.remove(fixture.get(second));
  t.equal(put(first, 600), FaultKind.NONE, 'what a key had goes with it');
  t.equal(keys.listBytes, keys.listBytesMax, 'no more than there is');
  keys.remove(fixture.get(first));
  t.equal(keys.listBytes, 0);
});
