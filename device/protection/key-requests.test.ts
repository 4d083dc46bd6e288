// SPDX-License-Identifier: Apache-2.0
/**
 * Work requests on keys that must be refused: registrations with each field out of range, and local
 * and remote invalidations of keys that cannot be invalidated (IBTA 10.6.5, 10.6.7).
 */
import t from 'tap';
import { withKeyByte } from '../../protocol/infiniband/memory-keys.ts';
import { encodeRegisterTarget, type RegisterTarget } from '../../protocol/layout/gen/register-target.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET, type SendCommand } from '../../protocol/layout/gen/send-command.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  EventType,
  FaultKind,
  MrKind,
  MwKind,
  QpState,
  SendOpcode,
} from '../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import { Bench } from '../test-support/adapter-fixture.ts';
import { connect, FULL_ACCESS } from '../test-support/connected-fixture.ts';
import { ledger } from '../test-support/ledger.ts';
import { bindWindow } from '../test-support/window-fixture.ts';

const PAGE = 4096;
const IOVA = 0x7000_0100;
const { SUCCESS, FLUSHED, LOCAL_QP_OPERATION_ERROR, LOCAL_PROTECTION_ERROR, REMOTE_ACCESS_ERROR } = CompletionStatus;

interface Wrong {
  readonly target?: Partial<RegisterTarget>;
  readonly header?: Partial<SendCommand>;
}

/** A FAST region of two pages, and the request that registers it. */
class Fast {
  readonly key: number;
  readonly #bench: Bench;
  readonly #list: number;
  readonly #page: number;

  constructor(bench: Bench, pd = bench.pd) {
    this.#bench = bench;
    this.key = bench.driver.createMemoryRegion({ pd, kind: MrKind.FAST, pageCount: 2 }).rkey;
    this.#page = bench.driver.allocator.allocate(2 * PAGE, PAGE);
    this.#list = this.listOf(this.#page, this.#page + PAGE);
  }

  listOf(...pages: number[]): number {
    const { driver, access } = this.#bench;
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

const wrongRegistrations: [string, (bench: Bench, fast: Fast) => Wrong, number, FaultKind][] = [
  ['no page', () => ({ target: { pageCount: 0 } }), LOCAL_PROTECTION_ERROR, FaultKind.KEY_BOUNDS],
  [
    'more pages than the region has',
    () => ({ target: { pageCount: 3 } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  ['pages too small', () => ({ target: { pageShift: 11 } }), LOCAL_PROTECTION_ERROR, FaultKind.KEY_BOUNDS],
  ['pages too large', () => ({ target: { pageShift: 32 } }), LOCAL_PROTECTION_ERROR, FaultKind.KEY_BOUNDS],
  ['no byte', () => ({ header: { sgeLength: 0 } }), LOCAL_PROTECTION_ERROR, FaultKind.KEY_BOUNDS],
  [
    'a byte more than the pages',
    () => ({ header: { sgeLength: 2 * PAGE - 0xff } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  ['addresses beyond 2^53', () => ({ header: { sgeAddress: 2 ** 62 } }), LOCAL_PROTECTION_ERROR, FaultKind.KEY_BOUNDS],
  [
    'unknown rights',
    () => ({ target: { access: 0x80 | AccessFlag.LOCAL_WRITE } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_ACCESS,
  ],
  [
    'remote write without local write',
    () => ({ target: { access: AccessFlag.REMOTE_WRITE } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_ACCESS,
  ],
  [
    'a list that is not aligned',
    (_, fast) => ({ target: { pageListAddress: fast.listOf(0, 0) + 4 } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  [
    'a list that is not there',
    () => ({ target: { pageListAddress: 0x10 } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.DMA_READ,
  ],
  [
    'pages that are not aligned',
    (_, fast) => ({ target: { pageListAddress: fast.listOf(0x1000, 0x2800) } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.DMA_READ,
  ],
  ['a key of no region', () => ({ header: { sgeLkey: 0x123400 } }), LOCAL_PROTECTION_ERROR, FaultKind.KEY_INVALID],
  [
    'the key of a plain region',
    (bench) => ({ header: { sgeLkey: bench.region.lkey } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ],
  [
    'a key of another PD',
    (bench) => ({ header: { sgeLkey: new Fast(bench, bench.driver.createProtectionDomain()).key } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_PD,
  ],
  [
    'a window',
    (bench) => ({ header: { sgeLkey: bench.driver.createMemoryWindow(bench.pd, MwKind.TYPE_2).rkey } }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ],
];

for (const [name, wrong, status, cause] of wrongRegistrations) {
  t.test(`a fast registration is refused: ${name}`, async (t) => {
    ledger(t, '10.6.5', `A fast registration is refused and the region stays invalid: ${name}`);
    const bench = new Bench();
    const fast = new Fast(bench);
    const refused = connect(bench);
    t.equal(fast.register(refused.b, wrong(bench, fast)), status);
    t.equal(refused.b.query().state, QpState.ERR);
    t.equal(bench.faults(cause), Number(!name.startsWith('pages that')), 'counted once');
    t.equal(fast.write(connect(bench).a), REMOTE_ACCESS_ERROR, 'it gives no access');
    const { a, b } = connect(bench);
    t.equal(fast.register(b), SUCCESS, 'and can be registered as it should');
    t.equal(fast.write(a), SUCCESS);
    bench.finish();
  });
}

t.test('a region that is registered is not registered again', async (t) => {
  ledger(t, '10.6.5', 'A fast registration of a region that is valid is refused, and the region stays as it is');
  const bench = new Bench();
  const fast = new Fast(bench);
  t.equal(fast.register(connect(bench).b), SUCCESS);
  t.equal(fast.register(connect(bench).b, { target: { access: 0 } }), LOCAL_QP_OPERATION_ERROR);
  t.equal(bench.faults(FaultKind.KEY_STATE), 1);
  t.equal(fast.write(connect(bench).a), SUCCESS);
  bench.finish();
});

/**
 * Keys that cannot be invalidated, each with a check that it is unchanged (undefined if nothing can
 * be checked).
 */
const firm: [string, (bench: Bench) => { key: number; stays?: () => boolean }][] = [
  ['a region that does not exist', () => ({ key: 0x123400 })],
  ['a window that does not exist', () => ({ key: 0x80123400 })],
  [
    'a plain region',
    (bench) => {
      const memory = bench.createBuffer(8);
      const { rkey } = bench.driver.createDmaRegion(bench.pd, FULL_ACCESS);
      return { key: rkey, stays: () => writes(bench, rkey, memory.address) };
    },
  ],
  [
    'a wrong key byte',
    (bench) => {
      const fast = new Fast(bench);
      fast.register(connect(bench).b);
      return { key: fast.key ^ 1, stays: () => fast.write(connect(bench).a) === SUCCESS };
    },
  ],
  ['a FAST region that is not registered', (bench) => ({ key: new Fast(bench).key })],
  [
    'a FAST region with a window bound to it',
    (bench) => {
      const fast = new Fast(bench);
      const { b } = connect(bench);
      fast.register(b, { target: { access: FULL_ACCESS | AccessFlag.WINDOW_BIND } });
      const window = bench.driver.createMemoryWindow(bench.pd, MwKind.TYPE_1).rkey;
      const buffer = { address: IOVA, lengthBytes: 8, bytes: new Uint8Array(0) };
      bindWindow(b, { window, region: { number: 0, lkey: fast.key, rkey: fast.key }, buffer });
      return { key: fast.key, stays: () => fast.write(connect(bench).a) === SUCCESS };
    },
  ],
  [
    'a window of type 1',
    (bench) => {
      const memory = bench.createBuffer(8);
      const region = bench.driver.createDmaRegion(bench.pd, FULL_ACCESS | AccessFlag.WINDOW_BIND);
      const window = bench.driver.createMemoryWindow(bench.pd, MwKind.TYPE_1).rkey;
      bindWindow(connect(bench).b, { window, region, buffer: memory, keyByte: 9 });
      const key = withKeyByte(window, 9);
      return { key, stays: () => writes(bench, key, memory.address) };
    },
  ],
  [
    'a window of type 2 that is not bound',
    (bench) => ({ key: bench.driver.createMemoryWindow(bench.pd, MwKind.TYPE_2).rkey }),
  ],
];

function writes(bench: Bench, rkey: number, address: number): boolean {
  const { a } = connect(bench);
  a.post({ opcode: SendOpcode.RDMA_WRITE, inline: Uint8Array.of(1), remote: { address, rkey } });
  return a.parts.sendCq.take().status === SUCCESS;
}

for (const [name, create] of firm) {
  t.test(`a key that cannot be invalidated: ${name}`, async (t) => {
    ledger(t, '10.6.5', `A local invalidation is refused and changes nothing: ${name}`);
    ledger(t, '9.4.1', `A SEND with Invalidate is a remote access error and changes nothing: ${name}`);
    const bench = new Bench();
    const { key, stays = () => true } = create(bench);
    const near = connect(bench);
    near.b.post({ opcode: SendOpcode.LOCAL_INVALIDATE, immediate: key >>> 0 });
    near.b.post({ inline: Uint8Array.of(1) });
    t.match(near.b.parts.sendCq.take(), { status: LOCAL_QP_OPERATION_ERROR, vendorError: FaultKind.KEY_STATE });
    t.equal(near.b.parts.sendCq.take().status, FLUSHED);
    t.equal(bench.faults(FaultKind.KEY_STATE), 1);
    t.ok(stays(), 'after the local one');
    const far = connect(bench);
    bench.asynchronous.walk();
    bench.postReceive(far.b, 8);
    far.a.post({ opcode: SendOpcode.SEND_INVALIDATE, inline: Uint8Array.of(1), immediate: key >>> 0 });
    t.equal(far.a.parts.sendCq.take().status, REMOTE_ACCESS_ERROR);
    t.equal(far.b.parts.receiveCq.take().status, CompletionStatus.REMOTE_INVALID_REQUEST_ERROR);
    t.equal(bench.asynchronous.take()[0]?.eventType, EventType.QP_ACCESS_ERROR);
    t.ok(stays(), 'after the one from afar');
    bench.finish();
  });
}
