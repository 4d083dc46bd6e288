// SPDX-License-Identifier: Apache-2.0
/**
 * Work requests on keys that must be refused: registrations with each field out of range, and local
 * and remote invalidations of keys that cannot be invalidated (IBTA 10.6.5, 10.6.7).
 */
import t from 'tap';
import { withKeyByte } from '../../../protocol/infiniband/memory-keys.ts';
import { encodeRegisterTarget, type RegisterTarget } from '../../../protocol/layout/gen/register-target.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET, type SendCommand } from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  EventType,
  FaultKind,
  MrKind,
  MwKind,
  QpState,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { connect, FULL_ACCESS } from '../../rig/fixtures/connected-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { bindWindow } from '../../rig/fixtures/window-fixture.ts';

const PAGE = 4096;
const IOVA = 0x7000_0100;
const { SUCCESS, FLUSHED, WINDOW_BIND_ERROR, REMOTE_ACCESS_ERROR } = CompletionStatus;

interface Wrong {
  readonly target?: Partial<RegisterTarget>;
  readonly header?: Partial<SendCommand>;
}

/** A FAST region of two pages, and the request that registers it. */
class Fast {
  readonly key: number;
  readonly #fixture: AdapterFixture;
  readonly #list: number;
  readonly #page: number;

  constructor(fixture: AdapterFixture, pd = fixture.pd) {
    this.#fixture = fixture;
    this.key = fixture.driver.createMemoryRegion({ pd, kind: MrKind.FAST, pageCount: 2 }).rkey;
    this.#page = fixture.driver.allocator.allocate(2 * PAGE, PAGE);
    this.#list = this.listOf(this.#page, this.#page + PAGE);
  }

  listOf(...pages: number[]): number {
    const { driver, access } = this.#fixture;
    const list = driver.allocator.allocate(pages.length * 8);
    pages.forEach((page, index) => {
      access.view(list, pages.length * 8).setBigUint64(index * 8, BigInt(page), true);
    });
    return list;
  }

  register(qp: DriverQueuePair, { target, header }: Wrong = {}): number {
    const fields = { pageListAddress: this.#list, pageCount: 2, pageShift: 12, access: FULL_ACCESS, ...target };
    qp.post({
      opcode: SendOpcode.FAST_REGISTER,
      header: { sgeAddress: IOVA, sgeLength: PAGE, sgeLkey: this.key, sgeCount: 0, messageLength: 0, ...header },
      alter: (view) => encodeRegisterTarget(view, SEND_COMMAND_TARGET_OFFSET, fields),
    });
    return qp.parts.sendCq.take().status;
  }

  /** Status of an RDMA WRITE to the start of the region. */
  write(qp: DriverQueuePair): number {
    qp.post({
      opcode: SendOpcode.RDMA_WRITE,
      inline: Uint8Array.of(1),
      remote: { address: IOVA, rkey: this.key },
    });
    return qp.parts.sendCq.take().status;
  }
}

const wrongRegistrations: [string, (fixture: AdapterFixture, fast: Fast) => Wrong, number, FaultKind][] = [
  ['no page', () => ({ target: { pageCount: 0 } }), WINDOW_BIND_ERROR, FaultKind.KEY_BOUNDS],
  ['more pages than the region has', () => ({ target: { pageCount: 3 } }), WINDOW_BIND_ERROR, FaultKind.KEY_BOUNDS],
  ['pages too small', () => ({ target: { pageShift: 11 } }), WINDOW_BIND_ERROR, FaultKind.KEY_BOUNDS],
  ['pages too large', () => ({ target: { pageShift: 32 } }), WINDOW_BIND_ERROR, FaultKind.KEY_BOUNDS],
  ['no byte', () => ({ header: { sgeLength: 0 } }), WINDOW_BIND_ERROR, FaultKind.KEY_BOUNDS],
  [
    'a byte more than the pages',
    () => ({ header: { sgeLength: 2 * PAGE - 0xff } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  [
    'addresses beyond 2^64',
    () => ({ header: { sgeAddress: 2 ** 64 - PAGE / 2 } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  [
    'unknown rights',
    () => ({ target: { access: 0x80 | AccessFlag.LOCAL_WRITE } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_ACCESS,
  ],
  [
    'remote write without local write',
    () => ({ target: { access: AccessFlag.REMOTE_WRITE } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_ACCESS,
  ],
  [
    'a list that is not aligned',
    (_, fast) => ({ target: { pageListAddress: fast.listOf(0, 0) + 4 } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  ['a list that is not there', () => ({ target: { pageListAddress: 0x10 } }), WINDOW_BIND_ERROR, FaultKind.DMA_READ],
  [
    'pages that are not aligned',
    (_, fast) => ({ target: { pageListAddress: fast.listOf(0x1000, 0x2800) } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  ['a key of no region', () => ({ header: { sgeLkey: 0x123400 } }), WINDOW_BIND_ERROR, FaultKind.KEY_INVALID],
  [
    'the key of a plain region',
    (fixture) => ({ header: { sgeLkey: fixture.region.lkey } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_INVALID,
  ],
  [
    'a key of another PD',
    (fixture) => ({ header: { sgeLkey: new Fast(fixture, fixture.driver.createProtectionDomain()).key } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_PD,
  ],
  [
    'a window',
    (fixture) => ({ header: { sgeLkey: fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_2).rkey } }),
    WINDOW_BIND_ERROR,
    FaultKind.KEY_INVALID,
  ],
];

for (const [name, wrong, status, cause] of wrongRegistrations) {
  t.test(`a fast registration is refused: ${name}`, async (t) => {
    ledger(t, '10.6.5', `A fast registration is refused and the region stays invalid: ${name}`);
    const fixture = new AdapterFixture();
    const fast = new Fast(fixture);
    const refused = connect(fixture);
    t.equal(fast.register(refused.b, wrong(fixture, fast)), status);
    t.equal(refused.b.query().state, QpState.ERR);
    t.equal(fixture.faults(cause), 1, 'counted once');
    t.equal(fast.write(connect(fixture).a), REMOTE_ACCESS_ERROR, 'it gives no access');
    const { a, b } = connect(fixture);
    t.equal(fast.register(b), SUCCESS, 'and can be registered as it should');
    t.equal(fast.write(a), SUCCESS);
    fixture.finish();
  });
}

t.test('a region that is registered is not registered again', async (t) => {
  ledger(t, '10.6.5', 'A fast registration of a region that is valid is refused, and the region stays as it is');
  const fixture = new AdapterFixture();
  const fast = new Fast(fixture);
  t.equal(fast.register(connect(fixture).b), SUCCESS);
  t.equal(fast.register(connect(fixture).b, { target: { access: 0 } }), WINDOW_BIND_ERROR);
  t.equal(fixture.faults(FaultKind.KEY_STATE), 1);
  t.equal(fast.write(connect(fixture).a), SUCCESS);
  fixture.finish();
});

/**
 * Keys that cannot be invalidated, each with a check that it is unchanged (undefined if nothing can
 * be checked).
 */
const firm: [string, (fixture: AdapterFixture) => { key: number; stays?: () => boolean }][] = [
  ['a region that does not exist', () => ({ key: 0x123400 })],
  ['a window that does not exist', () => ({ key: 0x80123400 })],
  [
    'a plain region',
    (fixture) => {
      const memory = fixture.createBuffer(8);
      const { rkey } = fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS);
      return { key: rkey, stays: () => writes(fixture, rkey, memory.address) };
    },
  ],
  [
    'a wrong key byte',
    (fixture) => {
      const fast = new Fast(fixture);
      fast.register(connect(fixture).b);
      return { key: fast.key ^ 1, stays: () => fast.write(connect(fixture).a) === SUCCESS };
    },
  ],
  ['a FAST region that is not registered', (fixture) => ({ key: new Fast(fixture).key })],
  [
    'a FAST region with a window bound to it',
    (fixture) => {
      const fast = new Fast(fixture);
      const { b } = connect(fixture);
      fast.register(b, { target: { access: FULL_ACCESS | AccessFlag.WINDOW_BIND } });
      const window = fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_1).rkey;
      const buffer = { address: IOVA, lengthBytes: 8, bytes: new Uint8Array(0) };
      bindWindow(b, { window, region: { number: 0, lkey: fast.key, rkey: fast.key }, buffer });
      return { key: fast.key, stays: () => fast.write(connect(fixture).a) === SUCCESS };
    },
  ],
  [
    'a window of type 1',
    (fixture) => {
      const memory = fixture.createBuffer(8);
      const region = fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS | AccessFlag.WINDOW_BIND);
      const window = fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_1).rkey;
      bindWindow(connect(fixture).b, { window, region, buffer: memory, keyByte: 9 });
      const key = withKeyByte(window, 9);
      return { key, stays: () => writes(fixture, key, memory.address) };
    },
  ],
  [
    'a window of type 2 that is not bound',
    (fixture) => ({ key: fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_2).rkey }),
  ],
];

function writes(fixture: AdapterFixture, rkey: number, address: number): boolean {
  const { a } = connect(fixture);
  a.post({ opcode: SendOpcode.RDMA_WRITE, inline: Uint8Array.of(1), remote: { address, rkey } });
  return a.parts.sendCq.take().status === SUCCESS;
}

for (const [name, create] of firm) {
  t.test(`a key that cannot be invalidated: ${name}`, async (t) => {
    ledger(t, '10.6.5', `A local invalidation is refused and changes nothing: ${name}`);
    ledger(t, '9.4.1', `A SEND with Invalidate is a remote access error and changes nothing: ${name}`);
    const fixture = new AdapterFixture();
    const { key, stays = () => true } = create(fixture);
    const near = connect(fixture);
    near.b.post({ opcode: SendOpcode.LOCAL_INVALIDATE, immediate: key >>> 0 });
    near.b.post({ inline: Uint8Array.of(1) });
    t.match(near.b.parts.sendCq.take(), { status: WINDOW_BIND_ERROR, vendorError: FaultKind.KEY_STATE });
    t.equal(near.b.parts.sendCq.take().status, FLUSHED);
    t.equal(fixture.faults(FaultKind.KEY_STATE), 1);
    t.ok(stays(), 'after the local one');
    const far = connect(fixture);
    fixture.asynchronous.walk();
    fixture.postReceive(far.b, 8);
    far.a.post({ opcode: SendOpcode.SEND_INVALIDATE, inline: Uint8Array.of(1), immediate: key >>> 0 });
    t.equal(far.a.parts.sendCq.take().status, REMOTE_ACCESS_ERROR);
    t.equal(far.b.parts.receiveCq.take().status, CompletionStatus.REMOTE_INVALID_REQUEST_ERROR);
    t.equal(fixture.asynchronous.take()[0]?.eventType, EventType.QP_ACCESS_ERROR);
    t.ok(stays(), 'after the one from afar');
    fixture.finish();
  });
}
