// SPDX-License-Identifier: Apache-2.0
/**
 * Zero-based memory regions, and regions that are registered again under the same key, also in the
 * middle of a message (IBTA 10.6, 11.2.8).
 */
import t, { type Test } from 'tap';
import { BthOpcode, NakCode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { encodeRegisterTarget } from '../../../protocol/layout/gen/register-target.gen.ts';
import { SEND_COMMAND_TARGET_OFFSET } from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  EventType,
  ManagementOpcode,
  ManagementStatus,
  MrKind,
  MrMask,
  MwKind,
  SendOpcode,
} from '../../../protocol/layout/gen/values.gen.ts';
import { mrPayload } from '../../rig/driver/payloads.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../../rig/driver/requests.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { connect, FULL_ACCESS } from '../../rig/fixtures/connected-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { PacketPeer } from '../../rig/fixtures/packet-peer.ts';
import { bindWindow } from '../../rig/fixtures/window-fixture.ts';

const PAGE = 4096;
const PAGES = 3;
/** Offset of the first byte of a region in its first page. */
const IN_PAGE = 0x345;
const LENGTH = PAGES * PAGE - IN_PAGE - 7;
const { SUCCESS, REMOTE_ACCESS_ERROR, LOCAL_PROTECTION_ERROR } = CompletionStatus;

/** Pages out of address order, and a list of them. */
class Pages {
  readonly addresses: number[];
  readonly list: number;
  readonly #fixture: AdapterFixture;

  constructor(fixture: AdapterFixture) {
    this.#fixture = fixture;
    const { allocator } = fixture.driver;
    const inOrder = Array.from({ length: PAGES }, () => allocator.allocate(PAGE, PAGE));
    this.addresses = [2, 0, 1].map((index) => inOrder[index] as number);
    this.list = allocator.allocate(PAGES * 8);
    this.addresses.forEach((address, index) => {
      fixture.access.view(this.list, PAGES * 8).setBigUint64(index * 8, BigInt(address), true);
    });
  }

  /** Content of the pages in the order of the list. */
  get content(): Uint8Array {
    const pages = this.addresses.map((address) => this.#fixture.access.view(address, PAGE));
    return Uint8Array.from(pages.flatMap((view) => [...new Uint8Array(view.buffer, view.byteOffset, PAGE)]));
  }
}

/** `lengthBytes` of random bytes as one side of an RDMA operation. */
function transfer(
  fixture: AdapterFixture,
  qp: DriverQueuePair,
  opcode: SendOpcode,
  address: number,
  rkey: number,
  bytes: number,
) {
  const local = fixture.createBuffer(opcode === SendOpcode.RDMA_READ ? bytes : fixture.random.bytes(bytes));
  qp.post({ opcode, sges: [fixture.sge(local)], remote: { address, rkey } });
  return { status: qp.parts.sendCq.take().status, bytes: local.bytes };
}

const write = (fixture: AdapterFixture, qp: DriverQueuePair, address: number, rkey: number, bytes: number) =>
  transfer(fixture, qp, SendOpcode.RDMA_WRITE, address, rkey, bytes);

const ZERO_BASED = FULL_ACCESS | AccessFlag.ZERO_BASED;

/**
 * Each kind of zero-based region over LENGTH bytes that begin IN_PAGE bytes into the first page,
 * with a function that returns the content of its memory.
 */
const zeroBased: Record<
  string,
  (fixture: AdapterFixture, qp: DriverQueuePair) => { rkey: number; content: () => Uint8Array }
> = {
  'in one piece': (fixture) => {
    const first = fixture.driver.allocator.allocate(PAGES * PAGE, PAGE);
    const startAddress = first + IN_PAGE;
    const { rkey } = fixture.driver.createMemoryRegion({
      pd: fixture.pd,
      kind: MrKind.PHYSICAL,
      access: ZERO_BASED,
      startAddress,
      length: LENGTH,
    });
    const view = fixture.access.view(first, PAGES * PAGE);
    return { rkey, content: () => new Uint8Array(view.buffer, view.byteOffset, PAGES * PAGE) };
  },
  'in pages': (fixture) => {
    const pages = new Pages(fixture);
    const { rkey } = fixture.driver.createMemoryRegion({
      pd: fixture.pd,
      kind: MrKind.PAGED,
      access: ZERO_BASED,
      startAddress: 0x7000_0000 + IN_PAGE,
      length: LENGTH,
      pageListAddress: pages.list,
      pageCount: PAGES,
      pageShift: 12,
    });
    return { rkey, content: () => pages.content };
  },
  'registered by work request': (fixture, qp) => {
    const pages = new Pages(fixture);
    const { lkey, rkey } = fixture.driver.createMemoryRegion({ pd: fixture.pd, kind: MrKind.FAST, pageCount: PAGES });
    const target = { pageListAddress: pages.list, pageCount: PAGES, pageShift: 12, access: ZERO_BASED };
    qp.post({
      opcode: SendOpcode.FAST_REGISTER,
      header: { sgeAddress: IN_PAGE, sgeLength: LENGTH, sgeLkey: lkey, sgeCount: 0, messageLength: 0 },
      alter: (view) => encodeRegisterTarget(view, SEND_COMMAND_TARGET_OFFSET, target),
    });
    qp.parts.sendCq.take();
    return { rkey, content: () => pages.content };
  },
};

for (const [name, register] of Object.entries(zeroBased)) {
  t.test(`a zero-based region ${name}`, async (t) => {
    ledger(t, '10.6.2', `Addresses of a zero-based region ${name} count from its first byte, wherever that lies`);
    const fixture = new AdapterFixture();
    const { a, b } = connect(fixture);
    const { rkey, content } = register(fixture, b);
    const written = write(fixture, a, 0, rkey, LENGTH);
    t.equal(written.status, SUCCESS);
    const expected = new Uint8Array(PAGES * PAGE);
    expected.set(written.bytes, IN_PAGE);
    t.ok(Buffer.from(expected).equals(content()), 'each byte is where it should be, and none beside');
    const read = transfer(fixture, a, SendOpcode.RDMA_READ, PAGE - IN_PAGE - 3, rkey, PAGE + 6);
    t.ok(Buffer.from(read.bytes).equals(written.bytes.subarray(PAGE - IN_PAGE - 3).subarray(0, PAGE + 6)));
    // The local side of the region counts from zero as well.
    const target = fixture.postReceive(b, 9);
    a.post({ sges: [{ address: 5, length: 9, lkey: rkey }] });
    t.equal(a.parts.sendCq.take().status, SUCCESS);
    t.same(target.bytes, written.bytes.slice(5, 14));
    t.equal(write(fixture, a, LENGTH - 1, rkey, 2).status, REMOTE_ACCESS_ERROR, 'one byte too far');
    fixture.finish();
  });
}

/** Re-registers a region under its key. Returns the management status. */
function reregister(
  fixture: AdapterFixture,
  { number }: DriverMemoryRegion,
  attributes: Parameters<typeof mrPayload>[0],
): number {
  const payload = mrPayload(attributes);
  return fixture.driver.management.execute({ opcode: ManagementOpcode.MODIFY_MR, objectNumber: number, payload })
    .status;
}

function physical(fixture: AdapterFixture, access = FULL_ACCESS) {
  const memory = fixture.createBuffer(64);
  const region = fixture.driver.createMemoryRegion({
    pd: fixture.pd,
    kind: MrKind.PHYSICAL,
    access,
    startAddress: memory.address,
    length: 64,
  });
  return { memory, region };
}

t.test('a re-registration with fewer rights takes effect at once', async (t) => {
  ledger(t, '11.2.8', 'Rights taken from a region by re-registration are gone at once, the rest of it stays');
  const fixture = new AdapterFixture();
  const { a, b } = connect(fixture);
  const { memory, region } = physical(fixture);
  t.equal(write(fixture, a, memory.address, region.rkey, 64).status, SUCCESS);
  const readable = { attributeMask: MrMask.ACCESS, access: AccessFlag.REMOTE_READ };
  t.equal(reregister(fixture, region, readable), ManagementStatus.OK);
  const before = memory.bytes.slice();
  const read = transfer(fixture, a, SendOpcode.RDMA_READ, memory.address, region.rkey, 64);
  t.same([read.status, read.bytes], [SUCCESS, before], 'READ was left');
  t.equal(write(fixture, a, memory.address, region.rkey, 64).status, REMOTE_ACCESS_ERROR);
  t.same(memory.bytes, before);
  const other = connect(fixture);
  other.b.postReceive([{ address: memory.address, length: 64, lkey: region.lkey }]);
  other.a.post({ inline: Uint8Array.of(1) });
  t.equal(other.b.parts.receiveCq.take().status, LOCAL_PROTECTION_ERROR, 'local write was taken, too');
  t.ok(b.qpn > 0);
  fixture.finish();
});

t.test('a re-registration with other memory moves the key to that memory', async (t) => {
  ledger(
    t,
    '11.2.8',
    'A region re-registered over other memory reaches that under its old key, and the old memory no more',
  );
  const fixture = new AdapterFixture();
  const { a } = connect(fixture);
  const { memory, region } = physical(fixture);
  const pages = new Pages(fixture);
  const translation = {
    attributeMask: MrMask.TRANSLATION,
    kind: MrKind.PAGED,
    startAddress: 0x9000_0000,
    length: PAGE,
    pageListAddress: pages.list,
    pageCount: 1,
    pageShift: 12,
  };
  t.equal(reregister(fixture, region, translation), ManagementStatus.OK);
  const { status, bytes } = write(fixture, a, 0x9000_0000, region.rkey, PAGE);
  t.equal(status, SUCCESS);
  t.ok(Buffer.from(pages.content.subarray(0, PAGE)).equals(bytes));
  t.equal(write(fixture, a, memory.address, region.rkey, 1).status, REMOTE_ACCESS_ERROR);
  t.ok(memory.bytes.every((byte) => byte === 0));
  fixture.finish();
});

t.test('a re-registration with another protection domain admits only the QPs of that domain', async (t) => {
  ledger(t, '11.2.8', 'A region moved to another protection domain is for QPs of that one');
  const fixture = new AdapterFixture();
  const { a } = connect(fixture);
  const { memory, region } = physical(fixture);
  const home = fixture.pd;
  const pd = fixture.driver.createProtectionDomain();
  t.equal(reregister(fixture, region, { attributeMask: MrMask.PD, pd }), ManagementStatus.OK);
  const destroyed = fixture.driver.management.execute({ opcode: ManagementOpcode.DESTROY_PD, objectNumber: pd });
  t.equal(destroyed.status, ManagementStatus.IN_USE, 'the region is in it');
  t.equal(write(fixture, a, memory.address, region.rkey, 8).status, REMOTE_ACCESS_ERROR);
  fixture.pd = pd;
  const other = connect(fixture);
  fixture.pd = home;
  other.a.post({
    opcode: SendOpcode.RDMA_WRITE,
    inline: Uint8Array.of(1, 2),
    remote: { address: memory.address, rkey: region.rkey },
  });
  t.equal(other.a.parts.sendCq.take().status, SUCCESS);
  t.same([...memory.bytes.slice(0, 3)], [1, 2, 0]);
  fixture.finish();
});

/** Checks that a region is unchanged: its memory can be written and read under its key. */
function isWhole(t: Test, fixture: AdapterFixture, { memory, region }: ReturnType<typeof physical>, why: string): void {
  const { a } = connect(fixture);
  const { status, bytes } = write(fixture, a, memory.address, region.rkey, 64);
  t.same([status, memory.bytes], [SUCCESS, bytes], why);
}

t.test('a re-registration that is refused changes nothing', async (t) => {
  ledger(t, '11.2.8', 'A re-registration that is refused leaves region, rights and memory as they were');
  ledger(t, '10.6.7', 'A region cannot be re-registered nor deregistered while a window is bound to it');
  const fixture = new AdapterFixture();
  const plain = physical(fixture, FULL_ACCESS | AccessFlag.WINDOW_BIND);
  const { region, memory } = plain;
  const all = MrMask.PD | MrMask.ACCESS | MrMask.TRANSLATION;
  const good = { attributeMask: all, pd: fixture.pd, access: 0, kind: MrKind.PHYSICAL, startAddress: 0, length: 1 };
  for (const [bad, status] of [
    [{ pd: 0xffffff }, ManagementStatus.BAD_OBJECT],
    [{ access: AccessFlag.REMOTE_WRITE }, ManagementStatus.BAD_FIELD],
    [{ access: 0x40 }, ManagementStatus.BAD_FIELD],
    [{ kind: 3 }, ManagementStatus.BAD_FIELD],
    [{ kind: MrKind.PAGED, pageCount: 1, pageShift: 40 }, ManagementStatus.BAD_FIELD],
    [{ attributeMask: all | 8 }, ManagementStatus.BAD_FIELD],
  ] as const) {
    t.equal(reregister(fixture, region, { ...good, ...bad }), status, JSON.stringify(bad));
    isWhole(t, fixture, plain, JSON.stringify(bad));
  }
  const { b } = connect(fixture);
  const window = fixture.driver.createMemoryWindow(fixture.pd, MwKind.TYPE_1).rkey;
  t.equal(bindWindow(b, { window, region, buffer: memory }), SUCCESS);
  t.equal(reregister(fixture, region, good), ManagementStatus.IN_USE);
  const gone = { opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number };
  t.equal(fixture.driver.management.execute(gone).status, ManagementStatus.IN_USE);
  isWhole(t, fixture, plain, 'a window is bound');
  fixture.finish();
});

t.test('a right is taken away in the middle of a message', async (t) => {
  ledger(t, '11.2.8', 'Rights taken in the middle of an RDMA WRITE end it with a remote access error');
  const peer = new PacketPeer();
  const { fixture } = peer;
  const MTU = 256;
  const memory = peer.remoteBuffer(2 * MTU);
  const region = fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS);
  const fields = { ...peer.target(memory), rKey: region.rkey };
  peer.request(BthOpcode.RC_RDMA_WRITE_FIRST, fields, new Uint8Array(MTU).fill(1)).take();
  t.equal(reregister(fixture, region, { attributeMask: MrMask.ACCESS, access: 1 }), ManagementStatus.OK);
  peer.request(BthOpcode.RC_RDMA_WRITE_LAST, {}, new Uint8Array(MTU).fill(2));
  t.same(peer.takeAnswers(), [`NAK ${NakCode.REMOTE_ACCESS_ERROR} 501`]);
  t.same(peer.events(), [EventType.QP_ACCESS_ERROR]);
  t.same([memory.bytes[0], memory.bytes[MTU]], [1, 0]);
});
