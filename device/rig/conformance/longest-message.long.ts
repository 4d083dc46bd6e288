// SPDX-License-Identifier: Apache-2.0
/**
 * Messages of 2^31 bytes, the maximum (IBTA 9.7.7): over half a million packets each, so their PSNs
 * wrap. One byte more is refused.
 */
import t from 'tap';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import {
  CompletionOpcode,
  CompletionStatus,
  FaultKind,
  MrKind,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import { AdapterFixture, type Buffer as GuestBuffer } from '../fixtures/adapter-fixture.ts';
import { connect, FULL_ACCESS } from '../fixtures/connected-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';

const LONGEST = 2 ** 31;
const PAGE_SHIFT = 21;
const PAGE_BYTES = 2 ** PAGE_SHIFT;
const PAGES = LONGEST / PAGE_BYTES;
const MTU_CODE = 5;
const PACKETS = LONGEST / 4096;
/** First PSN: it wraps in the middle of the message. */
const FIRST_PSN = 2 ** 24 - PACKETS / 2;

interface LongRegion {
  readonly lkey: number;
  readonly rkey: number;
  /** The page that all entries but the last name, and the last page. */
  readonly body: GuestBuffer;
  readonly tail: GuestBuffer;
}

/** A region of 2^31 bytes and one page in little memory: all its pages are one, except the last. */
function createLongRegion(fixture: AdapterFixture): LongRegion {
  const [body, tail] = [0, 0].map(() => {
    const address = fixture.driver.allocator.allocate(PAGE_BYTES, PAGE_BYTES);
    const view = fixture.access.view(address, PAGE_BYTES);
    return { address, lengthBytes: PAGE_BYTES, bytes: new Uint8Array(view.buffer, view.byteOffset, PAGE_BYTES) };
  }) as [GuestBuffer, GuestBuffer];
  const pageCount = PAGES + 1;
  const pageListAddress = fixture.driver.allocator.allocate(pageCount * 8);
  const list = fixture.access.view(pageListAddress, pageCount * 8);
  for (let page = 0; page < pageCount; page++)
    list.setBigUint64(page * 8, BigInt(page === PAGES - 1 ? tail.address : body.address), true);
  const { lkey, rkey } = fixture.driver.createMemoryRegion({
    pd: fixture.pd,
    kind: MrKind.PAGED,
    access: FULL_ACCESS,
    startAddress: 0,
    length: pageCount * PAGE_BYTES,
    pageListAddress,
    pageCount,
    pageShift: PAGE_SHIFT,
  });
  return { lkey, rkey, body, tail };
}

function prepare() {
  const fixture = new AdapterFixture({ memoryBytes: 32 * 1024 * 1024, budget: 4096 });
  // Checks after every step would cost more than the packets.
  fixture.machine.onStep = () => {};
  const [near, far] = [createLongRegion(fixture), createLongRegion(fixture)];
  const pair = connect(fixture, { pathMtu: MTU_CODE, sendPsn: FIRST_PSN });
  return { fixture, near, far, ...pair };
}

/** Fills the source with other bytes than those of the target. */
function fill(fixture: AdapterFixture, from: LongRegion): void {
  for (const { bytes } of [from.body, from.tail]) bytes.set(fixture.random.bytes(PAGE_BYTES));
}

function isCopied(from: LongRegion, to: LongRegion): boolean {
  return Buffer.from(from.body.bytes).equals(to.body.bytes) && Buffer.from(from.tail.bytes).equals(to.tail.bytes);
}

/** Sends one more message: both ends agree on the PSN after the long one. */
function checkNextMessage(fixture: AdapterFixture, a: DriverQueuePair, b: DriverQueuePair): void {
  const target = fixture.postReceive(b, 8);
  const content = fixture.createBuffer(fixture.random.bytes(8));
  a.post({ sges: [fixture.sge(content)] });
  const { status } = a.parts.sendCq.take();
  if (status !== CompletionStatus.SUCCESS || !Buffer.from(target.bytes).equals(content.bytes))
    throw new Error(`the next message failed with status ${status}`);
  fixture.finish();
}

t.test('a WRITE with immediate of 2^31 bytes', async (t) => {
  ledger(t, '9.7.7', 'A message may have 2^31 bytes; its PSNs wrap');
  const { fixture, near, far, a, b } = prepare();
  fill(fixture, near);
  b.postReceive([]);
  const before = fixture.read(CSR.PORT_TRANSMIT_PACKETS);
  a.post({
    opcode: SendOpcode.RDMA_WRITE_IMMEDIATE,
    sges: [{ address: 0, length: LONGEST, lkey: near.lkey }],
    remote: { address: 0, rkey: far.rkey },
    immediate: 31,
  });
  t.match(a.parts.sendCq.take(), { status: CompletionStatus.SUCCESS, opcode: CompletionOpcode.RDMA_WRITE });
  t.match(b.parts.receiveCq.take(), { status: CompletionStatus.SUCCESS, byteLength: LONGEST, immediate: 31 });
  t.equal(fixture.read(CSR.PORT_TRANSMIT_PACKETS) - before, PACKETS);
  t.ok(isCopied(near, far));
  checkNextMessage(fixture, a, b);
});

t.test('a READ of 2^31 bytes', async (t) => {
  ledger(t, '9.7.7', 'A READ may have 2^31 bytes; its PSNs wrap');
  const { fixture, near, far, a, b } = prepare();
  fill(fixture, far);
  a.post({
    opcode: SendOpcode.RDMA_READ,
    sges: [{ address: 0, length: LONGEST, lkey: near.lkey }],
    remote: { address: 0, rkey: far.rkey },
  });
  t.match(a.parts.sendCq.take(), { status: CompletionStatus.SUCCESS, byteLength: LONGEST });
  t.ok(isCopied(far, near));
  checkNextMessage(fixture, a, b);
});

t.test('a message of 2^31 + 1 bytes is refused', async (t) => {
  ledger(t, '9.7.7', 'A message of more than 2^31 bytes is refused without sending a packet');
  for (const opcode of [SendOpcode.SEND, SendOpcode.RDMA_WRITE, SendOpcode.RDMA_READ] as const) {
    const { fixture, near, far, a } = prepare();
    const before = fixture.read(CSR.PORT_TRANSMIT_PACKETS);
    a.post({
      opcode,
      sges: [{ address: 0, length: LONGEST + 1, lkey: near.lkey }],
      remote: { address: 0, rkey: far.rkey },
    });
    t.equal(a.parts.sendCq.take().status, CompletionStatus.LOCAL_LENGTH_ERROR);
    t.equal(fixture.faults(FaultKind.COMMAND_LENGTH), 1);
    t.equal(fixture.read(CSR.PORT_TRANSMIT_PACKETS), before);
    fixture.finish();
  }
});
