// SPDX-License-Identifier: Apache-2.0
/**
 * Keys: remote rights and bounds, memory windows of both types, registration and invalidation by
 * work request (IBTA 10.6).
 */
import t from 'tap';
import { withKeyByte } from '../../../protocol/infiniband/memory-keys.ts';
import {
  AccessFlag,
  CompletionStatus,
  MrKind,
  MwKind,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../../rig/driver/requests.ts';
import { AdapterFixture, type Buffer } from '../../rig/fixtures/adapter-fixture.ts';
import { type Connected, connect, FULL_ACCESS } from '../../rig/fixtures/connected-fixture.ts';
import { fastRegion } from '../../rig/fixtures/fast-region-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { bindWindow as bind } from '../../rig/fixtures/window-fixture.ts';

const PAGE = 4096;

/** Writes `content` from `a` to `address` with `rkey`. Returns the completion status. */
function write(
  fixture: AdapterFixture,
  a: DriverQueuePair,
  content: Buffer,
  address: number,
  rkey: number,
): CompletionStatus {
  a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(content)], remote: { address, rkey } });
  return a.parts.sendCq.take().status as CompletionStatus;
}

function bindable(fixture: AdapterFixture): DriverMemoryRegion {
  return fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS | AccessFlag.WINDOW_BIND);
}

for (const [name, attempt] of [
  ['a key that does not exist', ({ region }: Connected) => ({ rkey: region.rkey ^ 0x00010000, offset: 0 })],
  ['a wrong key byte', ({ region }: Connected) => ({ rkey: region.rkey ^ 1, offset: 0 })],
] as const) {
  t.test(`RDMA WRITE with ${name} is refused and changes nothing`, async (t) => {
    const fixture = new AdapterFixture();
    const connected = connect(fixture);
    const remote = fixture.createBuffer(64);
    const { rkey } = attempt(connected);
    t.equal(
      write(fixture, connected.a, fixture.createBuffer(fixture.random.bytes(64)), remote.address, rkey),
      CompletionStatus.REMOTE_ACCESS_ERROR,
    );
    t.ok(remote.bytes.every((byte) => byte === 0));
    fixture.finish();
  });
}

t.test('bounds, rights and PD of a region are checked at every edge', async (t) => {
  for (const [what, change] of [
    ['one byte beyond', { length: 63 }],
    ['before its start', { start: 1 }],
    ['no right to write', { access: AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_READ }],
    ['another PD', { foreign: true }],
  ] as const) {
    const fixture = new AdapterFixture();
    const { a } = connect(fixture);
    const remote = fixture.createBuffer(64);
    const options = change as { length?: number; start?: number; access?: number; foreign?: boolean };
    const region = fixture.driver.createMemoryRegion({
      pd: options.foreign ? fixture.driver.createProtectionDomain() : fixture.pd,
      kind: MrKind.PHYSICAL,
      access: options.access ?? FULL_ACCESS,
      startAddress: remote.address + (options.start ?? 0),
      length: options.length ?? 64,
    });
    const status = write(fixture, a, fixture.createBuffer(fixture.random.bytes(64)), remote.address, region.rkey);
    t.equal(status, CompletionStatus.REMOTE_ACCESS_ERROR, what);
    t.ok(
      remote.bytes.every((byte) => byte === 0),
      `${what}: nothing written`,
    );
    fixture.finish();
  }
});

t.test('a type 1 window gives access to its part of the region until it is rebound or unbound', async (t) => {
  ledger(t, '10.6.7', 'A type 1 window gives access until it is bound anew or to nothing; the old key is dead');
  const fixture = new AdapterFixture();
  const { a, b } = connect(fixture);
  const region = bindable(fixture);
  const remote = fixture.createBuffer(64);
  const window = fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_1);
  t.equal(bind(b, { window: window.rkey, region, buffer: remote, keyByte: 7 }), CompletionStatus.SUCCESS);
  const rkey = withKeyByte(window.rkey, 7);
  const content = fixture.createBuffer(fixture.random.bytes(64));
  t.equal(write(fixture, a, content, remote.address, rkey >>> 0), CompletionStatus.SUCCESS);
  t.same(remote.bytes, content.bytes);
  t.equal(bind(b, { window: rkey >>> 0, region, buffer: remote, length: 0, keyByte: 8 }), CompletionStatus.SUCCESS);
  t.equal(write(fixture, a, content, remote.address, rkey >>> 0), CompletionStatus.REMOTE_ACCESS_ERROR);
  fixture.finish();
});

t.test('a type 2 window belongs to the QP that bound it, and is unbound with it', async (t) => {
  ledger(t, '10.6.7', 'A type 2 window is good for the QP that bound it alone, and goes with it');
  const fixture = new AdapterFixture();
  const { a, b } = connect(fixture);
  const other = connect(fixture);
  const region = bindable(fixture);
  const remote = fixture.createBuffer(64);
  const content = fixture.createBuffer(fixture.random.bytes(64));
  const window = fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_2);
  t.equal(bind(b, { window: window.rkey, region, buffer: remote }), CompletionStatus.SUCCESS);
  const rkey = withKeyByte(window.rkey, 1);
  t.equal(write(fixture, a, content, remote.address, rkey), CompletionStatus.SUCCESS, 'through its QP');
  t.equal(
    write(fixture, other.a, content, remote.address, rkey),
    CompletionStatus.REMOTE_ACCESS_ERROR,
    'through another',
  );
  b.destroy();
  fixture.machine.runUntilIdle();
  fixture.driver.management.perform({ opcode: 0x23, objectNumber: region.number });
  t.pass('the region is free of the window again');
  fixture.finish();
});

t.test('only the QP that bound a type 2 window can invalidate it', async (t) => {
  ledger(t, '10.6.7', 'A SEND with Invalidate takes a type 2 window back and is reported to its receiver');
  ledger(t, '10.6.7', 'An invalidation by another QP than the one that bound the window is refused, from either side');
  ledger(t, '10.6.7', 'A bound type 2 window cannot be bound again, nor to nothing');
  const fixture = new AdapterFixture();
  const region = bindable(fixture);
  const remote = fixture.createBuffer(64);
  const content = fixture.createBuffer(fixture.random.bytes(64));
  const window = fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_2);
  const { a, b } = connect(fixture);
  t.equal(bind(b, { window: window.rkey, region, buffer: remote }), CompletionStatus.SUCCESS);
  const rkey = withKeyByte(window.rkey, 1);
  for (const by of ['a', 'b'] as const) {
    const other = connect(fixture);
    other.b.postReceive([]);
    const opcode = by === 'a' ? SendOpcode.SEND_INVALIDATE : SendOpcode.LOCAL_INVALIDATE;
    other[by].post({ opcode, immediate: rkey });
    const refusal = by === 'a' ? CompletionStatus.REMOTE_ACCESS_ERROR : CompletionStatus.WINDOW_BIND_ERROR;
    t.equal(other[by].parts.sendCq.take().status, refusal, `by ${by} of another connection`);
  }
  t.equal(write(fixture, a, content, remote.address, rkey), CompletionStatus.SUCCESS, 'still bound');
  b.postReceive([]);
  a.post({ opcode: SendOpcode.SEND_INVALIDATE, immediate: rkey });
  t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.match(b.parts.receiveCq.take(), { hasInvalidate: 1, immediate: rkey });
  t.equal(bind(b, { window: rkey, region, buffer: remote, keyByte: 2 }), CompletionStatus.SUCCESS, 'bound again');
  t.equal(bind(b, { window: rkey + 1, region, buffer: remote, keyByte: 3 }), CompletionStatus.WINDOW_BIND_ERROR);
  fixture.finish();
});

t.test('a bind needs the bind right of the region, an address in its bounds and the current key', async (t) => {
  ledger(t, '10.6.7', "A bind needs the bind right of the region, its bounds and the window's present key");
  const fixture = new AdapterFixture();
  const remote = fixture.createBuffer(64);
  const window = fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_1);
  const unbindable = fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS);
  const small = fixture.driver.createMemoryRegion({
    pd: fixture.pd,
    kind: MrKind.PHYSICAL,
    access: FULL_ACCESS | AccessFlag.WINDOW_BIND,
    startAddress: remote.address,
    length: 63,
  });
  for (const request of [
    { window: window.rkey, region: unbindable, buffer: remote },
    { window: window.rkey, region: small, buffer: remote },
    { window: window.rkey ^ 1, region: bindable(fixture), buffer: remote },
    { window: window.rkey, region: bindable(fixture), buffer: remote, access: AccessFlag.LOCAL_WRITE },
  ]) {
    const { b } = connect(fixture);
    t.equal(bind(b, request), CompletionStatus.WINDOW_BIND_ERROR);
  }
  fixture.finish();
});

t.test('a FAST region gives access once registered, and none after a local or remote invalidation', async (t) => {
  ledger(
    t,
    '10.6.5',
    'A fast registered region gives access until it is invalidated, locally or from afar, and can be registered again',
  );
  const fixture = new AdapterFixture();
  const { a, b } = connect(fixture, { serviceType: ServiceType.RC });
  const { key, post, bytes } = fastRegion(fixture, b, 3, 0x5a);
  const iova = 0x7000_0000 + 100;
  t.equal(post(iova, 2 * PAGE), CompletionStatus.SUCCESS);
  const content = fixture.createBuffer(fixture.random.bytes(2 * PAGE));
  t.equal(write(fixture, a, content, iova, key), CompletionStatus.SUCCESS);
  t.same(
    bytes.subarray(2 * PAGE + 100, 3 * PAGE),
    content.bytes.subarray(0, PAGE - 100),
    'the first page is the last one',
  );
  t.same(bytes.subarray(PAGE, 2 * PAGE), content.bytes.subarray(PAGE - 100, 2 * PAGE - 100));
  t.same(bytes.subarray(0, 100), content.bytes.subarray(2 * PAGE - 100));
  b.postReceive([]);
  a.post({ opcode: SendOpcode.SEND_INVALIDATE, immediate: key });
  t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.match(b.parts.receiveCq.take(), { hasInvalidate: 1, immediate: key });
  t.equal(post(iova, PAGE), CompletionStatus.SUCCESS, 'it can be registered again');
  b.post({ opcode: SendOpcode.LOCAL_INVALIDATE, immediate: key });
  t.equal(b.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  t.equal(write(fixture, a, content, iova, key), CompletionStatus.REMOTE_ACCESS_ERROR);
  fixture.finish();
});
